<?php

declare(strict_types=1);

namespace Larder\Lab\Queue;

/** A list in Redis, as people use it without a library: what is popped is gone, whatever becomes of its worker. */
final class RedisPile implements Pile
{
    private const KEY = 'lab';

    private readonly \Redis $redis;

    public function __construct(string $address)
    {
        $this->redis = new \Redis();
        $this->redis->connect($address);
    }

    public function push(string $body): void
    {
        $this->redis->rPush(self::KEY, $body);
    }

    public function pushMany(array $bodies): void
    {
        $this->redis->rPush(self::KEY, ...$bodies);
    }

    public function take(float $wait): ?string
    {
        $body = $wait > 0.0 ? $this->redis->blPop([self::KEY], (int) \ceil($wait))[1] ?? null : $this->redis->lPop(self::KEY);

        return \is_string($body) ? $body : null;
    }

    public function takeMany(int $most): array
    {
        $bodies = $this->redis->rawCommand('LPOP', self::KEY, (string) $most);

        return \is_array($bodies) ? \array_values(\array_filter($bodies, \is_string(...))) : [];
    }

    public function clear(): void
    {
        $this->redis->del(self::KEY);
    }
}
