<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

use Larder\Cache;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\Attributes\AfterClass;

/** What the engines over Redis share: one server for each class, and a prefix for each test. */
trait OnRedisServer
{
    private static ?RedisServer $server = null;

    private string $prefix = '';

    protected function cache(): Cache
    {
        return Cache::open($this->options());
    }

    protected function reachable(): bool
    {
        return true;
    }

    /** @return array{prefix: string, timeout: string} */
    private function common(): array
    {
        $this->prefix = $this->prefix !== '' ? $this->prefix : 't' . \bin2hex(\random_bytes(5));

        // Long, so that a busy machine is no reason for a false.
        return ['prefix' => $this->prefix, 'timeout' => '5'];
    }

    private static function redis(): RedisServer
    {
        RedisServer::demand();

        return self::$server ??= new RedisServer();
    }

    #[After]
    protected function leavePrefix(): void
    {
        $this->prefix = '';
    }

    #[AfterClass]
    public static function stopServer(): void
    {
        self::$server = null;
    }
}
