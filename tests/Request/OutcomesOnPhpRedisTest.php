<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Tests\Psr\Engine\OnPhpRedis;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\AfterClass;
use Psr\Log\NullLogger;

final class OutcomesOnPhpRedisTest extends Outcomes
{
    use OnPhpRedis;

    private static ?RedisServer $full = null;

    #[AfterClass]
    public static function stopFullServer(): void
    {
        self::$full = null;
    }

    protected function refusing(): Cache
    {
        self::$full ??= new RedisServer(config: ['maxmemory' => '6mb', 'maxmemory-policy' => 'noeviction']);

        return Cache::open(['dsn' => 'redis://' . self::$full->socket, 'logger' => new NullLogger()] + $this->common());
    }
}
