<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Subject\EngineFailure;
use Larder\Lab\Subject\Parameters;
use PHPUnit\Framework\TestCase;

final class ParametersTest extends TestCase
{
    private const ALL = ['socket' => '/run/s', 'host' => '10.0.0.2', 'port' => 6379];

    public function testTheConnectionChoosesAmongTheAddressesOfAServer(): void
    {
        self::assertSame('/run/s', (new Parameters(['connection' => 'socket'] + self::ALL))->socket());
        foreach (['tcp', 'network'] as $connection) {
            $parameters = new Parameters(['connection' => $connection] + self::ALL);
            self::assertNull($parameters->socket());
            self::assertSame(['10.0.0.2', 6379], [$parameters->host(), $parameters->port()]);
        }
    }

    public function testWithoutAConnectionTheSocketComesFirst(): void
    {
        self::assertSame('/run/s', (new Parameters(self::ALL))->socket());
        self::assertNull((new Parameters(['host' => 'h', 'port' => '1']))->socket());
        self::assertSame(1, (new Parameters(['host' => 'h', 'port' => '1']))->port());
    }

    public function testAConnectionThatTheServerDoesNotHaveIsRefused(): void
    {
        $this->expectException(EngineFailure::class);
        $this->expectExceptionMessage('"socket"');

        (new Parameters(['connection' => 'socket', 'host' => 'h', 'port' => 1]))->socket();
    }

    public function testAConnectionThatThereIsNotIsRefused(): void
    {
        $this->expectException(EngineFailure::class);
        $this->expectExceptionMessage('socket, tcp or network');

        (new Parameters(['connection' => 'process'] + self::ALL))->socket();
    }

    public function testSerializers(): void
    {
        self::assertSame('php', (new Parameters([]))->serializer());
        foreach (['php', 'igbinary', 'msgpack', 'none'] as $serializer) {
            self::assertSame($serializer, (new Parameters(['serializer' => $serializer]))->serializer());
        }
        $this->expectException(EngineFailure::class);
        $this->expectExceptionMessage('php, igbinary, msgpack or none');
        (new Parameters(['serializer' => 'json']))->serializer();
    }

    public function testFlagsAndDefaults(): void
    {
        self::assertTrue((new Parameters(['raw' => 1]))->flag('raw'));
        self::assertTrue((new Parameters(['raw' => '1']))->flag('raw'));
        self::assertFalse((new Parameters(['raw' => 0]))->flag('raw'));
        self::assertFalse((new Parameters([]))->flag('raw'));
        self::assertSame('7', (new Parameters(['a' => 7]))->text('a'));
        self::assertSame('default', (new Parameters([]))->text('a', 'default'));
        self::assertSame('/a/b', (new Parameters(['directory' => '/a/b/']))->directory());

        $this->expectException(EngineFailure::class);
        $this->expectExceptionMessage('"directory" is missing');
        (new Parameters([]))->directory();
    }
}
