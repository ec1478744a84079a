<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\PredisDriver;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use Predis\PredisException;
use Predis\Response\ServerException;

#[RequiresPhpExtension('igbinary')]
#[RequiresPhpExtension('msgpack')]
final class PredisDriverTest extends RedisDriverTestCase
{
    protected function driver(array $parameters): Driver
    {
        return new PredisDriver($parameters + self::address());
    }

    public function testARefusalOfTheServerIsThrown(): void
    {
        $server = new RedisServer(config: ['maxmemory' => '100kb', 'maxmemory-policy' => 'noeviction']);
        $driver = new PredisDriver(['serializer' => 'php', 'socket' => $server->socket]);
        $driver->connect();

        $this->expectException(ServerException::class);
        $this->expectExceptionMessage('OOM');
        $driver->write(['lab:a' => 'something']);
    }

    protected function failures(): array
    {
        return [PredisException::class, \RuntimeException::class];
    }
}
