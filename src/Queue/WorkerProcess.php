<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\System\Clock;
use Larder\System\Quiet;

/**
 * A worker as its supervisor sees it: a process, what it tells, and the message that it handles.
 *
 * @phpstan-type Event array<array-key, mixed>
 */
final class WorkerProcess
{
    public readonly int $pid;
    public readonly float $started;

    /** The message that it handles, as this process can extend and release it. */
    public ?Message $message = null;

    /** When it began that, and when the message was last extended. */
    public float $since = 0.0;
    public float $extended = 0.0;

    /** Whether its handler is loaded; whether it had a message; whether it ended because it was to. */
    public bool $isReady = false;
    public bool $hasBegun = false;
    public bool $isOver = false;
    public bool $isTimedOut = false;

    /** How it ended; null: it lives. */
    public ?string $end = null;

    private string $buffer = '';

    /**
     * @param resource  $process
     * @param ?resource $closed
     * @param ?resource $events
     */
    private function __construct(private readonly mixed $process, private mixed $closed, private mixed $events)
    {
        $this->pid = \proc_get_status($process)['pid'];
        $this->started = Clock::seconds();
        \stream_set_blocking($events ?? throw new \LogicException('It has just begun.'), false);
    }

    /** @param non-empty-list<string> $command */
    public static function start(array $command): ?self
    {
        $process = Quiet::call(static function () use ($command, &$pipes): mixed {
            // What handlers print goes to standard error: it is no result.
            // @phpstan-ignore argument.type (PHPStan does not know "redirect")
            return \proc_open($command, [['file', '/dev/null', 'r'], ['redirect', 2], Link::CLOSED => ['pipe', 'r'], Link::EVENTS => ['pipe', 'w']], $pipes, null, [Link::VARIABLE => '1'] + \getenv());
        });

        return \is_resource($process) && isset($pipes[Link::CLOSED], $pipes[Link::EVENTS]) ? new self($process, $pipes[Link::CLOSED], $pipes[Link::EVENTS]) : null;
    }

    /** @return ?resource on which to wait; null: it has told all */
    public function events(): mixed
    {
        return $this->events;
    }

    /** @return list<Event> what it has told since the last call */
    public function read(): array
    {
        if ($this->events === null) {
            return [];
        }
        $bytes = (string) \stream_get_contents($this->events);
        if (\feof($this->events)) {
            \fclose($this->events);
            $this->events = null;
        }
        $lines = \explode("\n", $this->buffer . $bytes);
        $this->buffer = \array_pop($lines);

        return \array_values(\array_filter(\array_map(static fn(string $line): mixed => \json_decode($line, true), $lines), \is_array(...)));
    }

    /** Lets it end after its message. */
    public function drain(): void
    {
        if ($this->closed !== null) {
            \fclose($this->closed);
            $this->closed = null;
        }
    }

    public function isDraining(): bool
    {
        return $this->closed === null;
    }

    public function kill(): void
    {
        $this->end === null && \proc_terminate($this->process, 9);
    }

    /** Notes whether it has ended, and how. */
    public function isAlive(): bool
    {
        if ($this->end !== null) {
            return false;
        }
        $status = \proc_get_status($this->process);
        if ($status['running']) {
            return true;
        }
        $this->end = $status['signaled'] ? "signal $status[termsig]" : "exit status $status[exitcode]";

        return false;
    }
}
