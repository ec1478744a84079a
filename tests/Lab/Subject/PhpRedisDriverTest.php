<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\EngineFailure;
use Larder\Lab\Subject\PhpRedisDriver;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;

#[RequiresPhpExtension('redis')]
#[RequiresPhpExtension('igbinary')]
#[RequiresPhpExtension('msgpack')]
final class PhpRedisDriverTest extends RedisDriverTestCase
{
    protected function driver(array $parameters): Driver
    {
        return new PhpRedisDriver($parameters + self::address());
    }

    /** The extension's own serializer is taken where it is built in. */
    public function testTheExtensionsOwnSerializerIsUsedWhereItsBuildHasIt(): void
    {
        self::assertSame(\Redis::SERIALIZER_PHP, PhpRedisDriver::option('php'));
        self::assertSame(\Redis::SERIALIZER_NONE, PhpRedisDriver::option('none'));
        \ob_start();
        (new \ReflectionExtension('redis'))->info();
        $info = (string) \ob_get_clean();
        foreach (['igbinary', 'msgpack'] as $serializer) {
            self::assertSame(\preg_match("/Available serializers.*\\b$serializer\\b/", $info) === 1, PhpRedisDriver::option($serializer) !== null);
        }
        self::assertNull(PhpRedisDriver::option('there is no such serializer'));
    }

    public function testAServerWithoutMemoryThrows(): void
    {
        $server = new RedisServer(config: ['maxmemory' => '100kb', 'maxmemory-policy' => 'noeviction']);
        $driver = new PhpRedisDriver(['serializer' => 'php', 'socket' => $server->socket]);
        $driver->connect();

        $this->expectException(\RedisException::class);
        $this->expectExceptionMessage('OOM');
        $driver->write(['lab:a' => 'something']);
    }

    /** Replies that begin with ERR the extension does not throw. */
    public function testARefusalOfTheServerIsThrown(): void
    {
        $server = new RedisServer(config: ['rename-command' => 'SET elsewhere']);
        $driver = new PhpRedisDriver(['serializer' => 'php', 'socket' => $server->socket]);
        $driver->connect();

        $this->expectException(EngineFailure::class);
        $this->expectExceptionMessage('Redis does not store it: ERR unknown command');
        $driver->write(['lab:a' => 'something']);
    }

    public function testWithoutConnectionItSaysSo(): void
    {
        $this->expectException(EngineFailure::class);
        $this->expectExceptionMessage('connect()');

        (new PhpRedisDriver(self::address()))->read(['lab:a']);
    }

    protected function failures(): array
    {
        return [\RedisException::class, EngineFailure::class];
    }
}
