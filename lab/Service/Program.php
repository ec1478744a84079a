<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/**
 * A child process that ends with the lab, however that ends; what it says goes to a file.
 *
 * stop() and the destructor are for the ordinary ends. Against kill -9 of the lab the kernel kills the child
 * (PR_SET_PDEATHSIG, by setpriv(1), which then becomes the program). It has a session of its own (setsid(1)), for
 * Ctrl-C in a terminal goes to every process of the lab's session, and the lab is the one to say what ends when. A
 * forked child that inherits the object leaves the process alone.
 */
final class Program
{
    /** Nanoseconds that threads are waited for, at most. */
    private const LAST_THREADS = 1_000_000_000;

    /** @var ?resource */
    private $handle = null;

    private int $pid = 0;
    private bool $stopped = false;

    /** How it ended; null as long as this was not seen. */
    private ?string $end = null;

    private readonly int $owner;
    private readonly string $file;

    /**
     * @param string                 $name      as messages say it
     * @param non-empty-list<string> $command   program and arguments; no shell is involved
     * @param string                 $directory that it works in, and that its log is written to
     * @param int                    $orphaned  what it gets when the lab is killed: SIGKILL, or SIGTERM for a master that
     *                                          has to end its workers
     */
    public function __construct(
        public readonly string $name,
        private readonly array $command,
        private readonly string $directory,
        private readonly int $orphaned = \SIGKILL,
    ) {
        $this->owner = (int) \getmypid();
        $this->file = "$directory/log";
    }

    public function __destruct()
    {
        $this->stop();
    }

    /** @throws ServiceFailure */
    public function start(): void
    {
        $warning = '';
        $words = ['setpriv', '--pdeathsig', $this->orphaned === \SIGTERM ? 'TERM' : 'KILL', '--', 'setsid'];
        Silence::of(fn() => Signals::held(function () use ($words): void {
            $output = ['file', $this->file, 'a'];
            $handle = \proc_open([...$words, ...$this->command], [['file', '/dev/null', 'r'], $output, $output], $pipes, $this->directory);
            if ($handle !== false) {
                $this->handle = $handle;
                $this->pid = \proc_get_status($handle)['pid'];
            }
        }), $warning);
        if ($this->handle === null) {
            throw ServiceFailure::notStarted($this->name, $warning);
        }
    }

    /**
     * Waits until it is ready.
     *
     * @param \Closure(): bool $ready
     * @param float            $timeout seconds
     *
     * @throws ServiceFailure if it ends before, or takes too long
     */
    public function await(\Closure $ready, float $timeout = 60.0): void
    {
        $end = \hrtime(true) + (int) ($timeout * 1e9);
        while (!$ready()) {
            if (!$this->isAlive()) {
                throw ServiceFailure::notStarted($this->name, "it ended ($this->end).\n" . $this->log());
            }
            if (\hrtime(true) > $end) {
                throw ServiceFailure::notStarted($this->name, "no answer in $timeout seconds.\n" . $this->log());
            }
            \usleep(2_000);
        }
    }

    public function pid(): int
    {
        return $this->pid;
    }

    public function isAlive(): bool
    {
        if ($this->handle === null || $this->end !== null) {
            return false;
        }
        if ($this->owner !== \getmypid()) {
            return Label::lives($this->pid);
        }
        $status = \proc_get_status($this->handle);
        if ($status['running'] && !Label::lives($this->pid)) {
            // Its first thread has ended, and the others are about to (wait(2) tells only when all have).
            $end = \hrtime(true) + self::LAST_THREADS;
            do {
                \usleep(200);
                $status = \proc_get_status($this->handle);
            } while ($status['running'] && \hrtime(true) < $end);
        }
        if (!$status['running']) {
            // Before PHP 8.3 only the first call after the end tells how it was.
            $this->end = $status['signaled'] ? 'signal ' . self::signal($status['termsig']) : "status {$status['exitcode']}";
        }

        return $status['running'];
    }

    /** Of one that has ended by itself: how, and its last log line, " (signal 9: …)"; else ''. */
    public function lastWords(): string
    {
        if ($this->stopped || $this->isAlive() || $this->end === null) {
            return '';
        }
        $lines = \explode("\n", $this->log());
        $last = \substr((string) \end($lines), -400);

        return " ($this->end" . ($last === '' ? ')' : ": $last)");
    }

    /** What it has said so far. */
    public function log(): string
    {
        return \trim((string) Silence::of(fn(): string|false => \file_get_contents($this->file)));
    }

    /** In order (SIGTERM), and by SIGKILL where that takes longer than this time (seconds). */
    public function stop(float $patience = 2.0): void
    {
        if ($this->owner === \getmypid()) {
            Signals::held(function () use ($patience): void {
                $this->end($patience);
            });
        }
    }

    /** Ends it now (SIGKILL), with nothing that it would do at its end. */
    public function kill(): void
    {
        if ($this->owner === \getmypid()) {
            Signals::held(fn() => $this->end(10.0, [\SIGKILL]));
        }
    }

    /** @param list<int> $signals each after the one before has had its time */
    private function end(float $patience, array $signals = [\SIGTERM, \SIGKILL]): void
    {
        if ($this->handle === null) {
            return;
        }
        $this->stopped = $this->isAlive();
        foreach ($signals as $signal) {
            $seconds = $signal === \SIGKILL ? 10.0 : $patience;
            if ($this->isAlive()) {
                \posix_kill($this->pid, $signal);
                \posix_kill($this->pid, \SIGCONT); // a stopped one gets the signal only then
            }
            $end = \hrtime(true) + (int) ($seconds * 1e9);
            while ($this->isAlive() && \hrtime(true) < $end) {
                \usleep(1_000);
            }
        }
        \proc_close($this->handle);
        $this->handle = null;
    }

    private static function signal(int $number): string
    {
        return $number . match ($number) {
            \SIGKILL => ' SIGKILL, as the kernel sends for want of memory',
            \SIGTERM => ' SIGTERM',
            \SIGSEGV => ' SIGSEGV',
            \SIGABRT => ' SIGABRT',
            default => '',
        };
    }
}
