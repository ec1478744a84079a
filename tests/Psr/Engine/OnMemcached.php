<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

use Larder\Cache;
use Larder\Tests\Support\MemcachedServer;
use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\Attributes\AfterClass;

/** Memcached, on a socket. */
trait OnMemcached
{
    private static ?MemcachedServer $server = null;

    private string $prefix = '';

    protected function cache(): Cache
    {
        return Cache::open($this->options());
    }

    /** @return array<string, string> */
    protected function options(): array
    {
        if (!MemcachedServer::installed()) {
            self::markTestSkipped('There is no memcached.');
        }
        self::$server ??= new MemcachedServer();
        $this->prefix = $this->prefix !== '' ? $this->prefix : 't' . \bin2hex(\random_bytes(5));

        // Long, so that a busy machine is no reason for a false.
        return ['dsn' => 'memcached://' . self::$server->address[0] . '?timeout=5&prefix=' . $this->prefix];
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
        self::$server?->end();
        self::$server = null;
    }
}
