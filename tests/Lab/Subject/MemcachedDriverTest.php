<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\EngineFailure;
use Larder\Lab\Subject\MemcachedDriver;
use Larder\Tests\Support\MemcachedServer;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;

#[RequiresPhpExtension('memcached')]
#[RequiresPhpExtension('igbinary')]
#[RequiresPhpExtension('msgpack')]
final class MemcachedDriverTest extends SharedDriverTestCase
{
    /** @var array<string, MemcachedServer> */
    private static array $servers = [];

    public static function setUpBeforeClass(): void
    {
        if (!MemcachedServer::installed()) {
            self::markTestSkipped('There is no memcached');
        }
        self::$servers = ['socket' => new MemcachedServer(), 'tcp' => new MemcachedServer(tcp: true)];
    }

    public static function tearDownAfterClass(): void
    {
        foreach (self::$servers as $server) {
            $server->end();
        }
        self::$servers = [];
    }

    protected function setUp(): void
    {
        foreach (self::$servers as $server) {
            self::assertSame('OK', $server->talk('flush_all'));
        }
    }

    public static function kinds(): array
    {
        $kinds = [];
        foreach (['php', 'igbinary', 'msgpack'] as $serializer) {
            foreach (['socket', 'tcp'] as $connection) {
                foreach ([1 => 'compressed', 0 => 'plain'] as $compression => $name) {
                    $kinds["$serializer, $connection, $name"] = [['serializer' => $serializer, 'connection' => $connection, 'compression' => $compression]];
                }
            }
        }

        return $kinds;
    }

    protected function driver(array $parameters): Driver
    {
        return new MemcachedDriver($parameters + self::address(self::$servers[$parameters['connection'] ?? 'socket']));
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kindsAndPayloads')]
    public function testTheServerHoldsWhatSerializerAndCompressionMake(array $parameters, string $payload): void
    {
        $value = Payloads::get($payload);
        $driver = $this->driver($parameters);
        $driver->connect();
        $driver->write(['lab:a' => $value]);
        [$flags, $bytes] = self::item(self::$servers[$parameters['connection']], 'lab:a');

        // A string goes through no serializer.
        $plain = \strlen(\is_string($value) ? $value : Serialized::by((string) $parameters['serializer'], $value));
        // Below 2,000 bytes nothing is compressed; php_memcached.c, MEMC_VAL_COMPRESSED and MEMC_VAL_COMPRESSION_FASTLZ.
        $compressed = $parameters['compression'] === 1 && $plain >= 2_000;
        self::assertSame($compressed, ($flags & 1 << 4) !== 0);
        self::assertSame($compressed, ($flags & 1 << 6) !== 0);
        if ($compressed) {
            self::assertLessThan($plain / 1.3, $bytes);
        } else {
            self::assertSame($plain, $bytes);
        }
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kinds')]
    public function testAServerThatHasGoneThrows(array $parameters): void
    {
        $server = new MemcachedServer(tcp: $parameters['connection'] === 'tcp');
        try {
            $drivers = [];
            for ($i = 0; $i < 3; ++$i) {
                $drivers[] = $driver = new MemcachedDriver($parameters + self::address($server));
                $driver->connect();
            }
            $drivers[0]->write(['lab:a' => 'something']);
            self::assertSame('something', $drivers[1]->read(['lab:a']));
            $server->stop();

            self::assertFails(static fn() => $drivers[0]->write(['lab:a' => 'something']));
            self::assertFails(static fn() => $drivers[1]->read(['lab:a']));
            // One that never spoke to it.
            self::assertFails(static fn() => $drivers[2]->read(['lab:a']));
        } finally {
            $server->end();
        }
    }

    public function testARefusalOfTheServerIsThrown(): void
    {
        $driver = $this->driver(['serializer' => 'php', 'compression' => 0, 'connection' => 'socket']);
        $driver->connect();

        $this->expectException(EngineFailure::class);
        $this->expectExceptionMessageMatches('/^Memcached does not store it: .*TOO BIG/');
        // More than its items can be (memcached(1), -I: 1 MB).
        $driver->write(['lab:a' => \str_repeat('x', 1_100_000)]);
    }

    public function testTheTextProtocolIsSpoken(): void
    {
        $server = new MemcachedServer(options: ['-vv']);
        try {
            $driver = new MemcachedDriver(self::address($server));
            $driver->connect();
            $driver->write(['lab:a' => 'something']);

            self::assertMatchesRegularExpression('/^<\d+ set lab:a \d+ 0 9/m', $server->log());
        } finally {
            $server->end();
        }
    }

    /** @return array<string, string|int> */
    private static function address(MemcachedServer $server): array
    {
        [$host, $port] = $server->address;

        return $port === 0 ? ['socket' => $host] : ['host' => $host, 'port' => $port];
    }

    /** @return array{int, int} flags and bytes of what the server holds */
    private static function item(MemcachedServer $server, string $key): array
    {
        self::assertSame(1, \preg_match('/^VALUE \S+ (\d+) (\d+)$/', $server->talk("get $key"), $match));

        return [(int) $match[1], (int) $match[2]];
    }

    /** @param \Closure(): mixed $do */
    private static function assertFails(\Closure $do): void
    {
        try {
            $do();
        } catch (EngineFailure $failure) {
            self::assertMatchesRegularExpression('/^Memcached does not \w+( it)?: .+/', $failure->getMessage());

            return;
        }
        self::fail('It did not notice that the server has gone');
    }
}
