<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

use Larder\Cache;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\Attributes\AfterClass;

/** All tiers: APCu, SQLite and Redis. */
trait OnStack
{
    private static ?RedisServer $server = null;

    private string $prefix = '';

    private ?TemporaryDirectory $directory = null;

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
            'disk' => 'sqlite://' . ($this->directory ??= new TemporaryDirectory())->path . '/cache',
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
        $this->directory = null;
    }

    #[AfterClass]
    public static function stopServer(): void
    {
        self::$server = null;
    }
}
