<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Tests\Psr\Engine\OnMemcached;
use Larder\Tests\Support\MemcachedServer;
use PHPUnit\Framework\Attributes\AfterClass;
use Psr\Log\NullLogger;

final class OutcomesOnMemcachedTest extends Outcomes
{
    use OnMemcached;

    private static ?MemcachedServer $full = null;

    #[AfterClass]
    public static function stopFullServer(): void
    {
        self::$full?->end();
        self::$full = null;
    }

    protected function refusing(): Cache
    {
        // Without -M it would take from others what it needs.
        self::$full ??= new MemcachedServer(2, options: ['-M']);

        return Cache::open(['dsn' => 'memcached://' . self::$full->address[0], 'logger' => new NullLogger()]);
    }
}
