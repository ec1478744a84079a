<?php

declare(strict_types=1);

namespace Larder\Tests\Fuzz;

use Larder\Tests\Coherence\Incidents;
use Larder\Tests\Coherence\Settings;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\ShiftedClock;

/** A server of the fuzz, begun anew when it was killed with all its processes. */
final class Server
{
    /** Seconds without a line in its diary after which a process hangs: more than any pause, lease or intent. */
    private const LONGEST = 20;

    /** @var array<int, true> */
    private array $pids = [];

    /** @var array<int, int> hrtime() at which a stopped process goes on, by process id */
    private array $stopped = [];

    private Process $process;
    private bool $ended = false;
    private int $starts = 0;

    /** @param int $ahead seconds that its clock is ahead of others' */
    public function __construct(
        public readonly Settings $settings,
        private readonly int $seed,
        private readonly int $until,
        private readonly int $count,
        private readonly Incidents $incidents,
        private readonly int $ahead = 0,
    ) {
        $this->start();
    }

    public function ended(): bool
    {
        while (!$this->ended && ($line = $this->process->line(0.0)) !== null) {
            $words = \explode(' ', $line);
            if ($words[0] === 'born') {
                $this->pids[(int) $words[1]] = true;
            } elseif ($words[0] === 'dead') {
                unset($this->pids[(int) $words[1]], $this->stopped[(int) $words[1]]);
                if ($words[2] !== 'killed' && $words[2] !== '0') {
                    throw new \RuntimeException("A process ended with $words[2]: " . $this->errors());
                }
            } else {
                $this->ended = true;
            }
        }
        if (!$this->ended && !$this->process->isRunning()) {
            throw new \RuntimeException('A server ended: ' . $this->errors());
        }

        return $this->ended;
    }

    /** Kills one process. */
    public function kill(): void
    {
        $pid = $this->one();
        if ($pid !== null) {
            \posix_kill($pid, \SIGKILL);
            unset($this->pids[$pid], $this->stopped[$pid]);
            $this->dead($pid);
        }
    }

    /** Stops one process for so long, in the middle of whatever it does. */
    public function stop(float $seconds): void
    {
        $pid = $this->one();
        if ($pid !== null && !isset($this->stopped[$pid])) {
            \posix_kill($pid, \SIGSTOP);
            $this->stopped[$pid] = \hrtime(true) + (int) ($seconds * 1e9);
        }
    }

    public function goOn(bool $all = false): void
    {
        foreach ($this->stopped as $pid => $until) {
            if ($all || \hrtime(true) >= $until) {
                \posix_kill($pid, \SIGCONT);
                unset($this->stopped[$pid]);
            }
        }
    }

    /** @param ?\Closure(self): void $between what happens while it is down */
    public function restart(?\Closure $between = null): void
    {
        $this->end();
        $between === null || $between($this);
        $this->start();
    }

    public function clearApcu(): void
    {
        $this->process->write("c\n");
    }

    /** Once more at everything. */
    public function look(): void
    {
        $this->process->write("a\n");
        $this->process->expect('end', 30.0);
    }

    /** @return list<int> processes of which nothing was heard for long */
    public function stuck(): array
    {
        $stuck = [];
        \clearstatcache();
        foreach (\array_keys($this->pids) as $pid) {
            $diary = $this->settings->common . '/' . $this->settings->diaryName($pid);
            if (!isset($this->stopped[$pid]) && \is_file($diary) && \time() - (int) \filemtime($diary) > self::LONGEST) {
                $stuck[] = $pid;
            }
        }

        return $stuck;
    }

    public function errors(): string
    {
        return $this->process->errors();
    }

    public function end(): void
    {
        $pids = \array_keys($this->pids);
        // The parent first, lest it fork anew.
        $this->process->kill();
        ShiftedClock::forget($this->process->pid);
        foreach ($pids as $pid) {
            \posix_kill($pid, \SIGKILL);
        }
        foreach ($pids as $pid) {
            $this->dead($pid);
        }
        $this->pids = $this->stopped = [];
    }

    private function one(): ?int
    {
        return $this->pids === [] ? null : \array_rand($this->pids);
    }

    private function dead(int $pid): void
    {
        if (Process::ends($pid)) {
            $this->incidents->died($this->settings->diaryName($pid));
        }
    }

    private function start(): void
    {
        $this->process = Process::php(
            __DIR__ . '/server.php',
            [(string) \json_encode($this->settings->toArray()), (string) ($this->seed + 10_000_000 * $this->starts++), (string) $this->until, (string) $this->count],
            ['apc.enable_cli' => 1, 'apc.shm_size' => '8M', 'memory_limit' => '512M', 'error_reporting' => -1],
            // Stamps in the diaries are of the machine's own clock.
            $this->ahead === 0 ? [] : ShiftedClock::environment("+{$this->ahead}s") + ['FAKETIME_DONT_FAKE_MONOTONIC' => '1', 'FAKETIME_DONT_RESET' => '1'],
        );
    }
}
