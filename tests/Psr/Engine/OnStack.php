<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

use Larder\Cache;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\Attributes\AfterClass;

/** APCu before Redis. */
trait OnStack
{
    private static ?RedisServer $server = null;

    private string $prefix = '';

    protected function cache(): Cache
    {
        return Cache::open($this->options());
    }

    /** @return array<string, string> */
    protected function options(): array
    {
        if (RedisServer::program() === null) {
            self::markTestSkipped('There is no redis-server and no valkey-server.');
        }
        self::$server ??= new RedisServer();
        $this->prefix = $this->prefix !== '' ? $this->prefix : 't' . \bin2hex(\random_bytes(5));

        return [
            'near' => 'apcu://',
            'far' => 'redis://' . self::$server->socket,
            'prefix' => $this->prefix,
            'timeout' => '5', // long, so that a busy machine is no reason for a false
        ];
    }

    protected function reachable(): bool
    {
        return true;
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
