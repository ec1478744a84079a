<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\System\Clock;
use Larder\System\Quiet;

/**
 * Keeps workers at work: starts each as a process of its own, replaces those that end, extends the messages of those that
 * take long, and gives back the message of one that died.
 *
 * A worker is the same command line once more, with Link::VARIABLE in its environment: new code is in use after renew(). Each
 * tells its supervisor what it does, so that only this process needs to be able to run while a handler runs.
 *
 * If the supervisor itself dies, its workers end after the messages they handle; these are not extended any more.
 *
 * @phpstan-import-type Event from WorkerProcess
 */
final class Supervisor
{
    /** Seconds between two looks where nothing happens. */
    private const LOOK = 1.0;

    /** Seconds of rest before a worker is replaced that died before it had a message: at first and at most. */
    private const FIRST_REST = 0.1;
    private const LAST_REST = 30.0;

    /** Seconds that renew() waits for a new worker before it goes on with the next. */
    private const READY = 30.0;

    /** @var array<int, WorkerProcess> by their number, from 0 on */
    private array $workers = [];

    /** @var array<int, float> number of a worker to be started, to the time when */
    private array $missing = [];

    /** @var list<int> workers that are still to be renewed */
    private array $old = [];

    private float $rest = 0.0;
    private int $stops = 0;
    private bool $wasReady = false;
    private ?string $unusable = null;
    private ?string $unreachable = null;

    /**
     * @param non-empty-list<string>     $command    of this process
     * @param int                        $visibility seconds; a message is extended at a third of it
     * @param float                      $timeout    seconds after which a message's worker is killed; 0: never
     * @param bool                       $replaces   whether a worker that has reached a limit is replaced
     * @param \Closure(Event): mixed     $tell       what happens: "job", "started", "ended", "failure"
     * @param ?\Closure(): mixed         $beat       is called at least once a second
     */
    public function __construct(
        private readonly Queue $queue,
        private readonly array $command,
        private readonly int $processes,
        private readonly int $visibility,
        private readonly float $timeout,
        private readonly bool $replaces,
        private readonly \Closure $tell,
        private readonly ?\Closure $beat = null,
    ) {}

    /**
     * The command line of this process, with PHP's own options where the system tells them.
     *
     * @return non-empty-list<string>
     */
    public static function commandLine(): array
    {
        $line = Quiet::call(static fn(): string|false => \file_get_contents('/proc/self/cmdline'));
        $words = \explode("\0", \substr((string) $line, 0, -1));
        if ($words[0] !== '') {
            $words[0] = \PHP_BINARY;

            return $words;
        }

        return [\PHP_BINARY, ...\array_values(\array_filter(\is_array($_SERVER['argv'] ?? null) ? $_SERVER['argv'] : [], \is_string(...)))];
    }

    /**
     * @return ?string why no worker can work; null: they did, until they were to end
     *
     * @throws QueueFailure a worker has ended because it could not reach the queue
     */
    public function run(): ?string
    {
        $this->missing = \array_fill(0, $this->processes, 0.0);
        while (true) {
            $this->start();
            $this->beat === null || ($this->beat)();
            if ($this->workers === [] && $this->missing === []) {
                return $this->unreachable === null ? $this->unusable : throw new QueueFailure($this->unreachable);
            }
            $this->wait();
            foreach ($this->workers as $number => $worker) {
                $this->hear($worker);
                $worker->isAlive() ? $this->lookAfter($worker) : $this->bury($number, $worker);
            }
            $this->renewNext();
        }
    }

    /** Lets all workers end after their messages; called again: ends them now. May be called from a signal's handler. */
    public function stop(): void
    {
        ++$this->stops;
        foreach ($this->workers as $worker) {
            $this->stops > 1 ? $worker->kill() : $worker->drain();
        }
        $this->missing = $this->old = [];
    }

    /** Replaces the workers one after the other, each after its message. May be called from a signal's handler. */
    public function renew(): void
    {
        $this->old = $this->stops > 0 ? [] : \array_keys($this->workers);
    }

    /** @return array{workers: int, busy: int} */
    public function figures(): array
    {
        return ['workers' => \count($this->workers), 'busy' => \count(\array_filter($this->workers, static fn(WorkerProcess $worker): bool => $worker->message !== null))];
    }

    private function start(): void
    {
        foreach ($this->missing as $number => $at) {
            if ($at > Clock::seconds()) {
                continue;
            }
            $worker = WorkerProcess::start($this->command);
            if ($worker === null) {
                ($this->tell)(['event' => 'failure', 'error' => 'No process can be started: ' . Quiet::$reason]);
                $this->missing[$number] = $this->restEnd();
                continue;
            }
            unset($this->missing[$number]);
            $this->workers[$number] = $worker;
            // A signal may have come meanwhile.
            $this->stops > 0 && $worker->drain();
            ($this->tell)(['event' => 'started', 'worker' => $worker->pid]);
        }
    }

    private function wait(): void
    {
        $now = Clock::seconds();
        $seconds = self::LOOK;
        $read = [];
        foreach ($this->workers as $worker) {
            if ($worker->message !== null) {
                $seconds = \min($seconds, $worker->extended + $this->visibility / 3 - $now, $this->timeout > 0 ? $worker->since + $this->timeout - $now : self::LOOK);
            }
            $events = $worker->events();
            if ($events === null) {
                // It is about to end.
                $seconds = \min($seconds, 0.01);
            } else {
                $read[] = $events;
            }
        }
        foreach ($this->missing as $at) {
            $seconds = \min($seconds, $at - $now);
        }
        $seconds = \max(0.0, $seconds);
        $write = $except = null;
        // A signal interrupts it.
        if ($read === []) {
            \usleep((int) ($seconds * 1e6));
        } else {
            Quiet::call(static fn(): int|false => \stream_select($read, $write, $except, (int) $seconds, (int) (($seconds - (int) $seconds) * 1e6)));
        }
    }

    private function hear(WorkerProcess $worker): void
    {
        foreach ($worker->read() as $event) {
            $kind = $event['event'] ?? '';
            if ($kind === 'begin' && \is_string($event['id'] ?? null) && \is_string($event['token'] ?? null) && \is_int($event['attempts'] ?? null)) {
                $worker->message = $this->queue->held($event['id'], $event['token'], $event['attempts']);
                $worker->since = $worker->extended = Clock::seconds();
                $worker->hasBegun = true;
                $this->rest = 0.0;
            } elseif ($kind === 'end') {
                $worker->message = null;
                ($this->tell)(['event' => 'job', 'worker' => $worker->pid] + $event);
            } elseif ($kind === 'ready') {
                $worker->isReady = $this->wasReady = true;
            } elseif ($kind === 'unreachable') {
                $this->unreachable = \is_string($event['error'] ?? null) ? $event['error'] : '';
            } elseif ($kind === 'over') {
                $worker->isOver = true;
            } elseif ($kind === 'unusable' && !$this->wasReady) {
                // It never worked, so it is what was typed.
                $this->unusable = \is_string($event['error'] ?? null) ? $event['error'] : '';
                $worker->isOver = true;
                $this->stops === 0 && $this->stop();
            } else {
                ($this->tell)(['event' => 'failure'] + $event);
            }
        }
    }

    private function lookAfter(WorkerProcess $worker): void
    {
        $now = Clock::seconds();
        if ($worker->message === null) {
            return;
        }
        if ($this->timeout > 0 && $now - $worker->since >= $this->timeout) {
            $worker->isTimedOut = true;
            $worker->kill();
        } elseif ($now - $worker->extended >= $this->visibility / 3) {
            $worker->extended = $now;
            $this->attempt(fn(): bool => $worker->message->extend($this->visibility));
        }
    }

    /** A worker has ended. Its message goes back, if it did not see to that itself. */
    private function bury(int $number, WorkerProcess $worker): void
    {
        $this->hear($worker);
        unset($this->workers[$number]);
        ($this->tell)(['event' => 'ended', 'worker' => $worker->pid, 'how' => $worker->end, 'isOver' => $worker->isOver]);
        $message = $worker->message;
        if ($message !== null) {
            $this->giveBack($worker, $message, match (true) {
                $worker->isTimedOut => "It took longer than $this->timeout s (--timeout), so its worker was killed.",
                $this->stops > 1 => 'Its worker was stopped at once, before the message was handled.',
                default => "Its worker, process $worker->pid, died of it: $worker->end.",
            });
        }
        if ($this->stops > 0 || ($worker->isOver && !$this->replaces && !$worker->isDraining())) {
            return;
        }
        $this->missing[$number] = $worker->isOver || $worker->hasBegun ? 0.0 : $this->restEnd();
    }

    private function giveBack(WorkerProcess $worker, Message $message, string $error): void
    {
        $seconds = \round(Clock::seconds() - $worker->since, 6);
        if ($this->attempt(fn(): bool => $message->release($this->stops > 1 ? 0 : null, $error)) === true) {
            ($this->tell)([
                'event' => 'job', 'worker' => $worker->pid, 'id' => $message->id, 'outcome' => $message->isLast() ? 'dead' : 'released',
                'attempts' => $message->attempts, 'seconds' => $seconds, 'error' => $error,
            ]);
        }
    }

    /** When a worker that cannot work is tried again. */
    private function restEnd(): float
    {
        $this->rest = \min(self::LAST_REST, \max(self::FIRST_REST, $this->rest * 2));

        return Clock::seconds() + $this->rest;
    }

    /** The next of those to be renewed, once the one before it has a successor. */
    private function renewNext(): void
    {
        foreach ($this->workers as $worker) {
            if ($worker->isDraining() || (!$worker->isReady && Clock::seconds() - $worker->started < self::READY)) {
                return;
            }
        }
        if ($this->old !== [] && $this->missing === []) {
            ($this->workers[\array_shift($this->old)] ?? null)?->drain();
        }
    }

    /** @param \Closure(): bool $do */
    private function attempt(\Closure $do): ?bool
    {
        try {
            return $do();
        } catch (QueueFailure $failure) {
            // The message's time passes, and then it is due again.
            ($this->tell)(['event' => 'failure', 'error' => $failure->getMessage()]);

            return null;
        }
    }
}
