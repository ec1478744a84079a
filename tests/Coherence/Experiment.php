<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Larder\Tests\Support\TemporaryDirectory;

/**
 * Two php-fpm masters and two processes on the command line work at random over one truth tier, and everything that
 * they saw and did is held against the promises afterwards.
 *
 *     Experiment ─┬─ Server (php-fpm, near) ◀─ driver.php ─▶ page.php   ─┐
 *                 ├─ Server (php-fpm, near) ◀─ driver.php ─▶ page.php   ─┤  Program ─▶ Steps ─▶ the cache, Database
 *                 ├─ Worker ─▶ worker.php                               ─┤              └──▶ Diary
 *                 ├─ Worker ─▶ worker.php                               ─┘
 *                 └─ Chaos: kills, reloads, restarts                  afterwards: History ─▶ Checker ─▶ Violation
 *
 * This folder holds the coherence test and nothing that other tests use. run.php is its command.
 */
final class Experiment
{
    /** Seconds in which everything that was asked for must have ended, beyond the time asked for. */
    private const PATIENCE = 60;

    /** What stands before the truth: APCu at the web alone; or a segment, which web and command line of a server share. */
    public const APCU = 'apcu';
    public const SEGMENT = 'segment';

    /** By the two servers, one directory: the first has the extension, the second has not. */
    public const SEGMENT_AND_APCU = self::SEGMENT . '+' . self::APCU;
    public const SEGMENT_AND_NONE = self::SEGMENT . '+none';

    public const NEARS = [self::APCU, self::SEGMENT, self::SEGMENT_AND_APCU, self::SEGMENT_AND_NONE];

    /** Bytes of the segment: so few that it evicts. */
    private const FEW = 1_048_576;

    /** @var list<Server> */
    private array $servers = [];

    /** @var list<Worker> */
    private array $workers = [];

    private readonly Incidents $incidents;

    public function __construct(
        private readonly string $engine,
        private readonly int $operations,
        public readonly int $seed,
        private readonly bool $chaos = false,
        private readonly bool $journal = true,
        private readonly float $minutes = 0.0,
        private readonly string $near = self::APCU,
        private readonly bool $storm = false,
        private readonly string $loop = '',
    ) {
        $this->incidents = new Incidents(keeps: $engine === 'sqlite');
    }

    /** @param ?\Closure(string): void $tell hears how far it is, about once in five seconds */
    public function run(?\Closure $tell = null): Outcome
    {
        \mt_srand($this->seed);
        $start = \hrtime(true);
        $directory = new TemporaryDirectory('larder-c');
        $engine = new Engine($this->engine, $directory->path, $this->storm);
        try {
            // A count of operations ends by itself; the end in time is for those that never would.
            $until = $start + (int) (($this->minutes > 0.0 ? $this->minutes * 60 : 3600) * 1e9);
            $share = $this->minutes > 0.0 ? \PHP_INT_MAX >> 4 : (int) \ceil($this->operations / 10);
            for ($i = 0; $i < 2; $i++) {
                $this->servers[] = new Server($this->settings($engine, $directory, 'web', $i), $this->seed + ($i + 1) * 100_000_000, $until, $share * 4);
                $this->workers[] = new Worker($this->settings($engine, $directory, 'cli', $i), $this->seed + ($i + 3) * 100_000_000, $until, $share);
            }
            $chaos = new Chaos($engine, $this->servers, $this->workers, $this->incidents, $this->storm);
            $this->accompany($chaos, $until, $tell);
        } finally {
            $complaints = '';
            foreach ($this->servers as $server) {
                $complaints .= $server->fpm->log();
                $server->stop();
            }
            foreach ($this->workers as $worker) {
                $worker->stop();
            }
            $engine->stop();
        }

        return Outcome::of($directory->path, $this->incidents, \array_sum(\array_map(static fn(Server $server): int => $server->lost, $this->servers)), $complaints, (\hrtime(true) - $start) / 1e9);
    }

    /** @param ?\Closure(string): void $tell */
    private function accompany(Chaos $chaos, int $until, ?\Closure $tell): void
    {
        $told = \hrtime(true);
        do {
            \usleep(20_000);
            $ended = true;
            $calls = 0;
            foreach ($this->servers as $server) {
                if ($server->listen()) {
                    $this->heal($chaos, $server);
                }
                $ended = $ended && $server->ended;
                $calls += $server->calls;
            }
            foreach ($this->workers as $worker) {
                $ended = $worker->ended() && $ended;
                $calls += $worker->calls();
            }
            if ($this->chaos && !$ended && \hrtime(true) < $until) {
                $chaos->step();
            } else {
                $chaos->end();
            }
            if ($tell !== null && \hrtime(true) - $told > 5e9) {
                $told = \hrtime(true);
                $tell("$calls calls");
            }
            if (\hrtime(true) > $until + self::PATIENCE * 1e9) {
                throw new \RuntimeException('The experiment does not come to its end.');
            }
        } while (!$ended);
    }

    /** A request got no answer for long: the one cause that is not Larder's is what a killed worker left in APCu. */
    private function heal(Chaos $chaos, Server $server): void
    {
        $stuck = $server->stuck();
        if ($stuck === []) {
            // Waiting for leases one after the other, in a crowd: slow, and on its way.
            $this->incidents->count('slow requests');

            return;
        }
        $where = $server->whereabouts($stuck);
        $apcu = $server->settings->near === 'apcu' && $server->hangsInApcu($stuck);
        $this->incidents->count($apcu ? 'hangs in APCu' : Outcome::OTHER_HANGS);
        \fwrite(\STDERR, 'A request hangs' . ($apcu ? ' in APCu: ' : ': ') . $where . "\n");
        $chaos->reload($server);
        // What it said meanwhile is of the same hang.
        $server->listen();
    }

    private function settings(Engine $engine, TemporaryDirectory $directory, string $door, int $server): Settings
    {
        $name = $door . '-' . $server;
        \mkdir($directory->file($name), 0o700);
        $words = \explode('+', $this->near);
        $near = match ($words[$server] ?? $words[0]) {
            // Over one directory of SQLite's these are two builds of PHP, whose segments are never one.
            self::SEGMENT => 'segment://' . $directory->file('segment-' . $server) . '/segment?bytes=' . self::FEW,
            self::APCU => $door === 'web' ? 'apcu' : 'none',
            'none' => 'none',
        };

        return new Settings(
            $engine->dsn(),
            $directory->file($name),
            $directory->path,
            $near,
            $this->journal,
            $this->chaos ? 0.25 : 2.0,
            isPlain: isset($words[$server]) && $server > 0,
            loop: $door === 'cli' ? $this->loop : '',
        );
    }
}
