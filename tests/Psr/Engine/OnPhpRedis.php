<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

/** Redis by phpredis, on a socket. */
trait OnPhpRedis
{
    use OnRedisServer;

    /** @return array<string, string> */
    protected function options(): array
    {
        return ['dsn' => 'redis://' . self::redis()->socket] + $this->common();
    }
}
