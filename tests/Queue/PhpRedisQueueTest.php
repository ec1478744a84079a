<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

final class PhpRedisQueueTest extends RedisQueue
{
    protected static function scheme(): string
    {
        return 'redis';
    }
}
