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

    /**
     * @param list<Server> $servers
     * @param list<Worker> $workers
     */
    public function __construct(
        private readonly Engine $engine,
        private readonly array $servers,
        private readonly array $workers,
        private readonly Incidents $incidents,
    ) {}

    public function step(): void
    {
        if ($this->due('worker of php-fpm killed', 0.25, 1.2)) {
            $this->kill($this->servers[\array_rand($this->servers)]);
        }
        if ($this->due('process on the command line killed', 1.0, 4.0)) {
            $worker = $this->workers[\array_rand($this->workers)];
            $pid = $worker->kill();
            $this->died($worker->settings, $pid);
            $worker->restart();
        }
        if ($this->due('php-fpm reloaded', 8.0, 16.0)) {
            $this->reload($this->servers[\array_rand($this->servers)]);
        }
        $restarts = $this->engine->restarts();
        if ($restarts !== []) {
            if ($this->snapshot < \hrtime(true)) {
                $this->engine->keep();
                $this->snapshot = \hrtime(true) + 3 * self::SECOND;
            }
            if ($this->due('restart', 5.0, 12.0)) {
                $how = $restarts[\array_rand($restarts)];
                $this->incidents->lose(fn() => $this->engine->restart($how));
                $this->incidents->count('engine restarted ' . $how);
            }
        }
    }

    public function reload(Server $server): void
    {
        foreach ($server->reload() as $pid) {
            $this->died($server->settings, $pid);
        }
    }

    private function kill(Server $server): void
    {
        $pid = $server->killWorker();
        if ($pid !== null) {
            $this->died($server->settings, $pid);
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
