<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Driver\Redis\RedisConnection;
use Predis\Command\RawCommand;
use Predis\Connection\Parameters;
use Predis\Connection\StreamConnection;
use Predis\Response\ErrorInterface;

/** A connection to a server whose clock can be set, and that answers late; it counts what is sent. */
final class WatchedRedis extends RedisConnection
{
    /** Milliseconds that its clock is before the real one. */
    public int $offset = 0;

    /** Microseconds for which an answer is under way. */
    public int $delay = 0;

    /** Commands that were sent at once, at most. */
    public int $longest = 0;
    private ?StreamConnection $stream = null;

    protected function open(): bool
    {
        $this->stream = new StreamConnection(Parameters::create(['scheme' => 'unix', 'path' => $this->endpoint->socket, 'read_write_timeout' => 10]));

        return false;
    }

    protected function exchange(#[\SensitiveParameter] array $commands, int $attempts): array
    {
        $this->longest = \max($this->longest, \count($commands));
        $replies = [];
        foreach ($commands as $command) {
            $reply = $this->stream?->executeCommand(new RawCommand(\array_shift($command), $command));
            if ($reply instanceof ErrorInterface) {
                $reply = null;
            } elseif (\is_array($reply) && \is_int($reply[5] ?? null)) {
                $reply[5] += $this->offset;
                \usleep($this->delay);
            }
            $replies[] = $reply;
        }

        return $replies;
    }

    protected function release(): ?object
    {
        return $this->stream;
    }

    protected function shut(object $handle): void
    {
        $this->stream?->disconnect();
    }

    protected function isFailure(\Throwable $e): bool
    {
        return false;
    }
}
