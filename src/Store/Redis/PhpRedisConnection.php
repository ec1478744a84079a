<?php

declare(strict_types=1);

namespace Larder\Store\Redis;

/**
 * By the extension "redis" (phpredis), version 5.3 or newer.
 *
 * One wait it does not bound: a server that stops in the midst of a value, after some bytes of it, is waited for as
 * long as the connection stands (seen in 5.3.7; library.c, redis_sock_read_bulk_reply, reads on after a time-out).
 * A server that hangs stops between replies as a rule, and this needs a value larger than the socket's buffers.
 */
final class PhpRedisConnection extends Connection
{
    private ?\Redis $redis = null;

    protected function open(): void
    {
        $e = $this->endpoint;
        $this->redis = new \Redis();
        $this->redis->connect(
            $e->socket ?? ($e->tls ? 'tls://' : '') . $e->host,
            $e->socket === null ? $e->port : 0,
            $e->timeout,
            null,
            0,
            $e->timeout,
        );
        // By itself it would reconnect up to ten times, unseen (library.c, redis_check_eof). connect() forgets
        // options that were set before it. TCP_NODELAY it sets by itself (library.c, redis_sock_connect).
        $this->redis->setOption(\Redis::OPT_MAX_RETRIES, 0);
        $this->redis->setOption(\Redis::OPT_TCP_KEEPALIVE, 1);
    }

    protected function exchange(array $commands): array
    {
        $redis = $this->redis;
        if ($redis === null) {
            throw $this->failure('not connected');
        }
        $redis->clearLastError();
        if (\count($commands) === 1) {
            $replies = [$redis->rawCommand(...$commands[0])];
        } else {
            $redis->pipeline();
            foreach ($commands as $command) {
                $redis->rawCommand(...$command);
            }
            $replies = $redis->exec();
            if (!\is_array($replies) || \count($replies) !== \count($commands)) {
                throw $this->failure('the answer broke off');
            }
            $replies = \array_values($replies);
        }
        // None of our commands answers nil, so false is an error reply; of several the library keeps the last text.
        if (\in_array(false, $replies, true)) {
            $error = (string) $redis->getLastError();
            if (!\str_starts_with($error, 'NOSCRIPT')) {
                throw $this->refusal($error);
            }
            foreach ($replies as $i => $reply) {
                $replies[$i] = $reply === false ? null : $reply;
            }
        }

        return $replies;
    }

    protected function release(): ?object
    {
        $redis = $this->redis;
        $this->redis = null;

        return $redis;
    }

    protected function shut(object $handle): void
    {
        $handle instanceof \Redis && $handle->close();
    }

    protected function isFailure(\Throwable $e): bool
    {
        return $e instanceof \RedisException;
    }
}
