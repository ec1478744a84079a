<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** Kills, reloads and restarts at random times, and notes when which process was certainly dead. */
final class Chaos
{
    private const SECOND = 1_000_000_000;

    /** @var array<string, int> hrtime at which each is due */
    private array $due = [];

    private int $snapshot = 0;

    /** hrtime at which the disk has room again; 0: it has. */
    private int $full = 0;

    /** @var array<int, int> hrtime at which a stopped process goes on, by process id */
    private array $stopped = [];

    /** @var list<Server|Worker> killed at the pace of a storm: a server once for each of its workers */
    private readonly array $often;

    /** @var list<Server> killed at the usual pace: what hangs in APCu costs ten seconds */
    private readonly array $seldom;

    /**
     * @param list<Server> $servers
     * @param list<Worker> $workers
     * @param bool         $storm   a process is killed every 50 to 200 ms, others stop for moments in the middle of whatever they do, and the
     *                              engine's disk is full now and then
     */
    public function __construct(
        private readonly Engine $engine,
        private readonly array $servers,
        private readonly array $workers,
        private readonly Incidents $incidents,
        private readonly bool $storm = false,
    ) {
        $hardy = $storm ? \array_filter($servers, static fn(Server $server): bool => $server->settings->near !== 'apcu') : [];
        $this->often = $storm ? [...$workers, ...\array_merge(...\array_fill(0, Server::WORKERS, \array_values($hardy)))] : [];
        $this->seldom = \array_values(\array_udiff($servers, $hardy, static fn(Server $a, Server $b): int => \spl_object_id($a) <=> \spl_object_id($b)));
    }

    public function step(): void
    {
        if ($this->seldom !== [] && $this->due('worker of php-fpm killed', 0.25, 1.2)) {
            $this->kill($this->seldom[\array_rand($this->seldom)]);
        }
        if (!$this->storm && $this->due('process on the command line killed', 1.0, 4.0)) {
            $this->kill($this->workers[\array_rand($this->workers)]);
        }
        if ($this->storm && $this->due('process killed in a storm', 0.05, 0.2)) {
            $this->kill($this->often[\array_rand($this->often)]);
        }
        if ($this->storm && $this->due('process stopped for a moment', 0.02, 0.15)) {
            $all = [...$this->servers, ...$this->servers, ...$this->servers, ...$this->workers];
            $this->stop($all[\array_rand($all)]);
        }
        $this->goOn();
        if ($this->full !== 0 && $this->full < \hrtime(true)) {
            $this->free();
        }
        if ($this->full === 0 && $this->engine->canFill() && $this->due('disk full', 3.0, 8.0)) {
            $this->engine->fill();
            $this->full = \hrtime(true) + \mt_rand(20, 1500) * 1_000_000;
        }
        if ($this->due('php-fpm reloaded', 8.0, 16.0)) {
            $this->reload($this->servers[\array_rand($this->servers)]);
        }
        if ($this->engine->hasScripts() && $this->due('scripts forgotten', 0.1, 0.1)) {
            $this->engine->forgetScripts();
        }
        $restarts = $this->engine->restarts();
        if ($restarts !== []) {
            if ($this->snapshot < \hrtime(true)) {
                $this->engine->keep();
                $this->snapshot = \hrtime(true) + 3 * self::SECOND;
            }
            if ($this->due('restart', 5.0, 12.0)) {
                $how = $restarts[\array_rand($restarts)];
                // A fail-over may take ten seconds, in which no stopped process would go on: it would count as hanging.
                $this->goOn(true);
                $this->incidents->lose(fn() => $this->engine->restart($how));
                $this->incidents->count('engine restarted ' . $how);
            }
        }
    }

    public function reload(Server $server): void
    {
        $this->goOn(true);
        foreach ($server->reload() as $pid) {
            $this->died($server->settings, $pid);
        }
    }

    /** The end of what lasts. */
    public function end(): void
    {
        $this->goOn(true);
        $this->free();
    }

    private function stop(Server|Worker $of): void
    {
        $pid = $of->one();
        if ($pid !== null) {
            \posix_kill($pid, \SIGSTOP);
            $this->stopped[$pid] = \hrtime(true) + \mt_rand(1, 200) * 1_000_000;
        }
    }

    private function goOn(bool $all = false): void
    {
        foreach ($this->stopped as $pid => $until) {
            if ($all || \hrtime(true) >= $until) {
                \posix_kill($pid, \SIGCONT);
                unset($this->stopped[$pid]);
            }
        }
    }

    private function free(): void
    {
        if ($this->full !== 0) {
            $this->engine->free();
            $this->full = 0;
        }
    }

    private function kill(Server|Worker $of): void
    {
        $pid = $of->kill();
        if ($pid !== null) {
            unset($this->stopped[$pid]);
            $this->died($of->settings, $pid);
        }
        if ($of instanceof Worker) {
            $of->restart();
        }
    }

    private function died(Settings $settings, int $pid): void
    {
        $this->incidents->died($settings->diaryName($pid));
    }

    /** Whether it is time for this; if so, the next time is this many seconds away. */
    private function due(string $what, float $least, float $most): bool
    {
        $now = \hrtime(true);
        $first = !isset($this->due[$what]);
        if (!$first && $now < $this->due[$what]) {
            return false;
        }
        $this->due[$what] = $now + (int) (($least + ($most - $least) * \mt_rand() / \mt_getrandmax()) * self::SECOND);
        if (!$first && $what !== 'restart') {
            $this->incidents->count($what);
        }

        return !$first;
    }
}
