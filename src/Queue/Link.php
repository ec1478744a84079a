<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\System\Quiet;

/**
 * A worker's two pipes to its supervisor: one on which it tells what it does, a line of JSON each, and one on which nothing is
 * ever written. When that one is closed the worker is to end: the supervisor wants it, or has died.
 */
final class Link
{
    /** The worker's file descriptors. */
    public const CLOSED = 3;
    public const EVENTS = 4;

    /** Set in a worker's environment. */
    public const VARIABLE = 'LARDER_QUEUE_WORKER';

    /**
     * @param resource $closed
     * @param resource $events
     */
    private function __construct(private readonly mixed $closed, private readonly mixed $events) {}

    /** Whether this process is a supervisor's worker, and has not made its link yet. */
    public static function isWanted(): bool
    {
        return \getenv(self::VARIABLE) === '1';
    }

    /** Null: this process is not a supervisor's worker. */
    public static function toSupervisor(): ?self
    {
        if (!self::isWanted()) {
            return null;
        }
        // Its children are none.
        \putenv(self::VARIABLE);
        // A Ctrl-C is for the supervisor, not for each process of the terminal's group.
        \function_exists('posix_setpgid') && \posix_setpgid(0, 0);
        $closed = Quiet::call(static fn(): mixed => \fopen('php://fd/' . self::CLOSED, 'r'));
        $events = Quiet::call(static fn(): mixed => \fopen('php://fd/' . self::EVENTS, 'w'));
        if (!\is_resource($closed) || !\is_resource($events)) {
            return null;
        }
        \stream_set_write_buffer($events, 0);

        return new self($closed, $events);
    }

    public function isClosed(): bool
    {
        $read = [$this->closed];
        $write = $except = null;

        return Quiet::call(static fn(): int|false => \stream_select($read, $write, $except, 0, 0)) === 1;
    }

    public function write(string $lines): void
    {
        // Without a supervisor it has no reader, and isClosed() says so.
        Quiet::call(fn(): int|false => \fwrite($this->events, $lines));
    }

    /** @param array<string, mixed> $event */
    public static function line(array $event): string
    {
        return \json_encode($event, \JSON_UNESCAPED_SLASHES | \JSON_UNESCAPED_UNICODE | \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_PARTIAL_OUTPUT_ON_ERROR) . "\n";
    }
}
