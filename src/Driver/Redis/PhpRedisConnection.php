<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

/**
 * By the extension "redis" (phpredis), version 5.3 or newer.
 *
 * One wait it does not bound: a server that stops in the midst of a value, after some bytes of it, is waited for as
 * long as the connection stands (seen in 5.3.7; library.c, redis_sock_read_bulk_reply, reads on after a time-out).
 * A server that hangs stops between replies as a rule, and this needs a value larger than the socket's buffers.
 */
final class PhpRedisConnection extends Connection
{
    /** Replies in one pipeline that share the time-out. */
    private const FEW = 4;

    private ?\Redis $redis = null;

    /** Replies among which the time-out is shared now. */
    private int $shares = 1;

    protected function open(): void
    {
        $e = $this->endpoint;
        $redis = new \Redis();
        $redis->connect(
            $e->socket ?? ($e->tls ? 'tls://' : '') . $e->host,
            $e->socket === null ? $e->port : 0,
            $e->timeout,
            null,
            0,
            $e->timeout,
        );
        // By itself it would reconnect up to ten times, unseen (library.c, redis_check_eof). connect() forgets
        // options that were set before it. TCP_NODELAY it sets by itself (library.c, redis_sock_connect).
        $redis->setOption(\Redis::OPT_MAX_RETRIES, 0);
        $redis->setOption(\Redis::OPT_TCP_KEEPALIVE, 1);
        $this->redis = $redis;
        $this->shares = 1;
    }

    /**
     * The library waits for each reply of a pipeline by itself, also when it has waited in vain for the one before. So a
     * few share the time-out, and before many the server is asked whether it answers at all.
     */
    private function share(\Redis $redis, int $replies): void
    {
        if ($replies > self::FEW) {
            $this->share($redis, 1);
            if ($redis->rawCommand('PING') === false) {
                throw $this->failure('no answer in time');
            }
            $replies = self::FEW;
        }
        if ($replies !== $this->shares) {
            $redis->setOption(\Redis::OPT_READ_TIMEOUT, $this->endpoint->timeout / $replies);
            $this->shares = $replies;
        }
    }

    protected function exchange(#[\SensitiveParameter] array $commands, int $attempts): array
    {
        $redis = $this->redis;
        if ($redis === null) {
            throw $this->failure('not connected');
        }
        $redis->clearLastError();
        if (\count($commands) === 1 && $attempts === 0) {
            $this->shares === 1 || $this->share($redis, 1);
            $replies = [$redis->rawCommand(...$commands[0])];
        } else {
            $this->share($redis, \count($commands));
            $redis->pipeline();
            foreach ($commands as $command) {
                $redis->rawCommand(...$command);
            }
            try {
                $replies = $redis->exec();
            } catch (\RedisException $e) {
                throw $attempts > 0 && \str_starts_with($e->getMessage(), 'OOM') ? new Refused($e->getMessage(), 0, $e) : $e;
            }
            if (!\is_array($replies) || \count($replies) !== \count($commands)) {
                throw $this->failure('the answer broke off');
            }
            $replies = \array_values($replies);
        }
        // None of our commands answers nil, so false is an error reply; of several the library keeps the last text.
        for ($i = 0; $i < $attempts; ++$i) {
            $replies[$i] = $replies[$i] === false ? null : $replies[$i];
        }
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
        // Not one that a signal's handler threw meanwhile.
        return $e instanceof \RedisException && $e->getFile() === __FILE__;
    }
}
