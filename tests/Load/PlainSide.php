<?php

declare(strict_types=1);

namespace Larder\Tests\Load;

/** Plain Redis: whoever writes last wins. */
final class PlainSide implements Side
{
    private readonly \Redis $redis;

    public function __construct(string $socket)
    {
        $this->redis = new \Redis();
        $this->redis->connect($socket);
    }

    public function request(string $key): ?object
    {
        return $this->redis->get('plain:' . $key) === false ? $this->redis : null;
    }

    public function computed(object $request, string $key, string $value): void
    {
        $this->redis->setex('plain:' . $key, BoundedLife::LIFE, $value);
    }

    public function flush(): void
    {
        $this->redis->del($this->redis->keys('plain:*'));
    }

    public function counts(): array
    {
        return [];
    }
}
