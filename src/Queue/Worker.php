<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\System\Clock;
use Larder\System\Fork;

/**
 * Handles messages one after the other, in one process: takes one, calls the handler, acknowledges it and takes the next in
 * one step.
 *
 * A message whose handler throws waits again, after a pause that grows; after its last attempt it is dead, with the error.
 * So is one whose handler ends the process: exit, a fatal error, no memory left.
 *
 * The worker itself extends nothing: a process in sleep() or in a call of a database runs no PHP, neither a signal's handler
 * nor anything else, and a signal would cut the sleep short. Supervisor does it, from its own process.
 */
final class Worker
{
    /** Seconds that an idle worker waits for a message before it looks at its limits. */
    private const WAIT = 1.0;

    /** Milliseconds of rest after the queue has failed, at first and at most. */
    private const FIRST_REST = 50;
    private const LAST_REST = 5_000;

    /** Bytes of an error that are kept. */
    private const ERROR = 8_000;

    private bool $isStopped = false;
    private ?Message $current = null;
    private float $since = 0.0;
    private int $handled = 0;
    private string $events = '';

    /**
     * @param \Closure(mixed, Message): mixed $handler    gets the body and the message; a message that it has not ended is
     *                                                    acknowledged when it returns
     * @param int                             $visibility seconds that a message is this worker's, unless extended
     * @param ?Link                           $link       to the supervisor
     * @param ?\Closure(): mixed              $between    is called before each message
     * @param ?Schedule                       $schedule   whose messages it pushes in their times, between two messages
     */
    public function __construct(
        private readonly Queue $queue,
        private readonly \Closure $handler,
        private readonly WorkerLimits $limits = new WorkerLimits(),
        private readonly int $visibility = 60,
        private readonly ?Link $link = null,
        private readonly ?\Closure $between = null,
        private readonly ?Schedule $schedule = null,
    ) {}

    /**
     * Works until a limit is reached or stop() is called.
     *
     * @return int messages handled
     *
     * @throws QueueFailure it is to end when no message waits, the queue cannot be reached, and there is no supervisor to be told
     */
    public function run(): int
    {
        $process = Fork::pid();
        // Not for a child that the handler has forked.
        \register_shutdown_function(fn() => $process === Fork::pid() && $this->end());
        $this->tell(['event' => 'ready']);
        $this->report();
        $begin = Clock::seconds();
        $done = null;
        while (true) {
            $isLast = $this->isStopped || $this->link?->isClosed() === true || $this->limits->areReached($this->handled, $begin);
            $isLast || $this->schedule === null || $this->pushScheduled($this->schedule);
            $this->current = $isLast ? $this->finish($done) : $this->next($done);
            if ($isLast) {
                return $this->handled;
            }
            $done = null;
            if ($this->current !== null) {
                $done = $this->handle($this->current);
            } elseif ($this->limits->whileEmpty && !$this->queue->isHeldBack()) {
                $this->isStopped = true;
            }
        }
    }

    /** Ends after the message being handled. May be called from a signal's handler. */
    public function stop(): void
    {
        $this->isStopped = true;
    }

    /** @return ?Message null: it is not this worker's any more */
    private function handle(Message $message): ?Message
    {
        $this->since = Clock::seconds();
        [$id, $token] = $message->claim();
        $this->tell(['event' => 'begin', 'id' => $id, 'token' => $token, 'attempts' => $message->attempts]);
        $this->report();
        try {
            $this->between === null || ($this->between)();
            ($this->handler)($message->body, $message);
        } catch (\Throwable $error) {
            $this->fail($message, self::describe($error));

            return null;
        } finally {
            ++$this->handled;
        }
        $this->current = null;
        $isEnded = $message->isDone();
        $this->tellEnd($message, $isEnded ? 'ended' : 'done', '');

        return $isEnded ? null : $message;
    }

    private function next(?Message $done): ?Message
    {
        $next = $done === null ? null : $this->persist(fn(): ?Message => $this->queue->ackAndPop($done, $this->visibility), $this->visibility);
        if ($next !== null || $this->isStopped) {
            return $next;
        }
        $this->report();

        return $this->persist(fn(): ?Message => $this->queue->pop($this->visibility, $this->limits->whileEmpty && !$this->queue->isHeldBack() ? 0.0 : \min(self::WAIT, $this->schedule?->left() ?? self::WAIT)));
    }

    private function pushScheduled(Schedule $schedule): void
    {
        try {
            $schedule->push();
        } catch (QueueFailure $failure) {
            // It goes on with what there is: the queue may be full.
            $this->tell(['event' => 'failure', 'error' => $failure->getMessage()]);
        }
    }

    private function finish(?Message $done): null
    {
        $this->persist(fn(): int => $done === null ? 0 : $this->queue->ackMany($done), $this->visibility);
        $this->tell(['event' => 'over']);
        $this->report();

        return null;
    }

    /**
     * Does it again while the queue fails: a message that was handled is not to be handled again for a server's restart.
     *
     * @template T
     *
     * @param \Closure(): T $do
     * @param int           $seconds for which it does, where the worker is to end when no message waits
     *
     * @return ?T null: the worker is to end
     *
     * @throws QueueFailure
     */
    private function persist(\Closure $do, int $seconds = 0): mixed
    {
        $end = Clock::seconds() + $seconds;
        for ($rest = self::FIRST_REST; true; $rest = \min(self::LAST_REST, $rest * 2)) {
            try {
                return $do();
            } catch (QueueFailure $failure) {
                $isLast = $this->limits->whileEmpty && Clock::seconds() >= $end;
                if ($isLast && $this->link === null) {
                    throw $failure;
                }
                $this->isStopped = $this->isStopped || $isLast;
                $this->tell(['event' => $isLast ? 'unreachable' : 'failure', 'error' => $failure->getMessage()]);
                $this->report();
                if ($this->isStopped || $this->link?->isClosed() === true) {
                    return null;
                }
                Clock::pause($rest * 1_000);
            }
        }
    }

    private function fail(Message $message, string $error): void
    {
        $outcome = $message->isLast() ? 'dead' : 'released';
        if (!$message->isDone()) {
            try {
                $message->release(null, $error) || $outcome = 'lost';
            } catch (QueueFailure $failure) {
                // Its time passes, and then it is due again.
                $this->tell(['event' => 'failure', 'error' => $failure->getMessage()]);
                $outcome = 'lost';
            }
        }
        $this->tellEnd($message, $outcome, $error);
    }

    /** The process ends, perhaps in the middle of a message. */
    private function end(): bool
    {
        $message = $this->current;
        $this->current = null;
        if ($message === null) {
            return false;
        }
        if ($message->isDone()) {
            $this->tellEnd($message, 'ended', '');
            $this->report();

            return true;
        }
        // Where memory was the reason, this needs some more.
        \ini_set('memory_limit', '-1');
        $last = \error_get_last();
        $isFatal = $last !== null && ($last['type'] & (\E_ERROR | \E_CORE_ERROR | \E_COMPILE_ERROR | \E_USER_ERROR | \E_RECOVERABLE_ERROR | \E_PARSE)) !== 0;
        $this->fail($message, $isFatal ? "Fatal error: $last[message] in $last[file]:$last[line]" : 'The handler ended the process (exit).');
        $this->report();

        return true;
    }

    private function tellEnd(Message $message, string $outcome, string $error): void
    {
        $this->tell(['event' => 'end', 'id' => $message->id, 'outcome' => $outcome, 'attempts' => $message->attempts, 'seconds' => \round(Clock::seconds() - $this->since, 6), 'error' => $error]);
    }

    /** @param array<string, mixed> $event */
    private function tell(array $event): void
    {
        if ($this->link !== null) {
            $this->events .= Link::line($event);
        }
    }

    /** What has been told is written with the next message's begin: one write a message. */
    private function report(): void
    {
        if ($this->events !== '') {
            $this->link?->write($this->events);
            $this->events = '';
        }
    }

    private static function describe(\Throwable $error): string
    {
        $text = '';
        for ($cause = $error; $cause !== null; $cause = $cause->getPrevious()) {
            $text .= ($text === '' ? '' : "\ncaused by ") . $cause::class . ': ' . $cause->getMessage() . ' in ' . $cause->getFile() . ':' . $cause->getLine();
        }

        return \substr($text, 0, self::ERROR);
    }
}
