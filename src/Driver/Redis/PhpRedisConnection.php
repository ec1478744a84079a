<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

use Larder\System\Failure;
use Larder\System\Fork;

/**
 * A connection by the extension "redis" (phpredis), version 5.3 or newer.
 *
 * What limits a call. Its read time-out is what is left of the call's time. But phpredis lets it count anew for each packet
 * of a reply, and in the middle of a value it reads on after a time-out, as long as the connection stands (seen in 5.3.7;
 * library.c, redis_sock_read_bulk_reply). So a server or a network that sends a byte now and then can hold one call for as
 * many time-outs as the reply has bytes, and one that stops within a value for ever. No other call waits then: a reply after
 * the call's end counts as a failure, which closes the connection. PredisConnection has no such gap.
 */
final class PhpRedisConnection extends RedisConnection
{
    /** Replies in one pipeline that share the time-out. */
    private const FEW = 4;

    private ?\Redis $redis = null;

    /** Seconds for which phpredis now waits for each reply. */
    private float $limit = 0.0;

    protected function open(): bool
    {
        if ($this->endpoint->isKept && Fork::mayKeepConnections() && \filter_var(\ini_get('redis.pconnect.pooling_enabled'), \FILTER_VALIDATE_BOOL) && $this->takeOver()) {
            return true;
        }
        $redis = new \Redis();
        $redis->connect(...$this->address(null));
        $this->use($redis);

        return false;
    }

    /**
     * Takes over a connection that PHP has kept, or makes one that it will keep. All that uses phpredis in this process shares
     * them, whatever its user and database are: so the server has to forget both (RESET, Redis 6.2), and an answer that no call
     * else can have asked for shows that no other one has been left there.
     *
     * @return bool false: it is not fit, and is closed
     */
    private function takeOver(): bool
    {
        $redis = new \Redis();
        $redis->pconnect(...$this->address('larder'));
        $this->use($redis);
        $this->closeIfCutOff();
        $mark = \bin2hex(\random_bytes(8));
        try {
            $redis->pipeline();
            foreach ([['RESET'], ...$this->endpoint->greeting(), ['PING', $mark]] as $command) {
                $redis->rawCommand(...$command);
            }
            $replies = $redis->exec();
            $isFit = \is_array($replies) && \end($replies) === $mark && !\in_array(false, $replies, true);
        } catch (\RedisException) {
            $isFit = false;
        }
        $isFit || $redis->close();

        return $isFit;
    }

    /** @return array{0: string, 1: int, 2: float, 3: ?string, 4: int, 5: float, 6?: array{stream: array<string, string>}} */
    private function address(?string $kept): array
    {
        $e = $this->endpoint;

        $address = [$e->socket ?? ($e->tls ? 'tls://' : '') . $e->host, $e->socket === null ? $e->port : 0, $this->left(), $kept, 0, $e->timeout];
        $e->tls && $address[] = ['stream' => $e->security()];

        return $address;
    }

    private function use(\Redis $redis): void
    {
        // Otherwise phpredis would reconnect up to ten times, unnoticed (library.c, redis_check_eof). connect() forgets
        // options that were set before it. phpredis sets TCP_NODELAY by itself (library.c, redis_sock_connect).
        $redis->setOption(\Redis::OPT_MAX_RETRIES, 0);
        $redis->setOption(\Redis::OPT_TCP_KEEPALIVE, 1);
        // One that was kept has its last user's time-out.
        $this->endpoint->isKept && $redis->setOption(\Redis::OPT_READ_TIMEOUT, $this->endpoint->timeout);
        $this->redis = $redis;
        $this->limit = $this->endpoint->timeout;
    }

    /**
     * Lets phpredis wait for what is left of the call's time. It waits as long for each reply of a pipeline, even after it has
     * waited in vain for the one before. So a few replies share the time, and before many this asks the server whether it
     * answers at all.
     */
    private function limit(\Redis $redis, int $replies): void
    {
        if ($replies > self::FEW) {
            $this->limit($redis, 1);
            if ($redis->rawCommand('PING') === false) {
                throw $this->failure('no answer in time');
            }
            $replies = self::FEW;
        }
        $left = $this->left();
        $whole = $this->endpoint->timeout;
        $limit = ($left > 0.9 * $whole ? $whole : $left) / $replies;
        if ($limit !== $this->limit) {
            $redis->setOption(\Redis::OPT_READ_TIMEOUT, $limit);
            $this->limit = $limit;
        }
        $this->isShort = $limit !== $whole;
    }

    protected function exchangeOne(#[\SensitiveParameter] array $command): mixed
    {
        $redis = $this->redis ?? throw $this->failure('not connected');
        $this->isShort && $this->limit($redis, 1);
        $reply = $redis->rawCommand(...$command);

        return $reply === false ? $this->error($redis) : $reply;
    }

    protected function exchange(#[\SensitiveParameter] array $commands, int $attempts): array
    {
        $redis = $this->redis;
        if ($redis === null) {
            throw $this->failure('not connected');
        }
        $this->limit($redis, \count($commands));
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
        for ($i = 0; $i < $attempts; ++$i) {
            $replies[$i] = $replies[$i] === false ? null : $replies[$i];
        }
        if (\in_array(false, $replies, true)) {
            $this->error($redis);
            foreach ($replies as $i => $reply) {
                $replies[$i] = $reply === false ? null : $reply;
            }
        }
        $attempts === 0 || $redis->clearLastError();

        return $replies;
    }

    /**
     * No command used here answers nil, so false is an error reply; of several errors phpredis keeps the last text.
     *
     * @return null for a script that the server does not know
     *
     * @throws Failure for every other error
     */
    private function error(\Redis $redis): null
    {
        $error = (string) $redis->getLastError();
        $redis->clearLastError();

        return \str_starts_with($error, 'NOSCRIPT') ? null : throw $this->refusal($error);
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
        // An exception that a signal handler threw meanwhile comes from another file.
        return $e instanceof \RedisException && $e->getFile() === __FILE__;
    }
}
