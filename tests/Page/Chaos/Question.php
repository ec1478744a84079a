<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Chaos;

use Larder\Tests\Support\FastCgi;
use Larder\Tests\Support\FastCgiFailure;
use Larder\Tests\Support\FastCgiResponse;

/** A request under way. */
final readonly class Question
{
    private FastCgi $connection;

    /**
     * @param array<string, string|int> $query
     * @param array<string, string>     $variables
     */
    public function __construct(string $socket, string $script, array $query, array $variables)
    {
        $this->connection = new FastCgi($socket, 60.0);
        try {
            $this->connection->send($script, $query, parameters: $variables);
        } catch (FastCgiFailure) {
            // The worker that took the connection was killed before it had the request: the connection is closed.
        }
    }

    public function hasAnswer(): bool
    {
        $ready = [$this->connection->readable()];
        $none = null;

        return $ready[0] === null || \stream_select($ready, $none, $none, 0) === 1;
    }

    /** Null: the worker was killed. */
    public function answer(): ?FastCgiResponse
    {
        if ($this->connection->readable() === null) {
            return null;
        }
        try {
            return $this->connection->receive();
        } catch (FastCgiFailure) {
            return null;
        } finally {
            $this->connection->close();
        }
    }
}
