<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Subject\EngineFailure;
use Larder\Lab\Subject\LarderDriver;
use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\Attributes\TestWith;

#[RequiresPhpExtension('redis')]
#[RequiresPhpExtension('apcu')]
#[RequiresPhpExtension('pdo_sqlite')]
#[RequiresPhpExtension('igbinary')]
#[RequiresPhpExtension('msgpack')]
final class LarderDriverTest extends SharedDriverTestCase
{
    private static ?RedisServer $redis = null;

    /** @var array<string, MemcachedServer> */
    private static array $memcached = [];
    private TemporaryDirectory $directory;

    public static function setUpBeforeClass(): void
    {
        if (RedisServer::program() === null || !MemcachedServer::installed() || !\apcu_enabled()) {
            self::markTestSkipped('redis-server, memcached and apc.enable_cli=1 are needed');
        }
        self::$redis = new RedisServer();
        self::$memcached = ['socket' => new MemcachedServer(), 'tcp' => new MemcachedServer(tcp: true)];
    }

    public static function tearDownAfterClass(): void
    {
        self::$redis = null;
        foreach (self::$memcached as $server) {
            $server->end();
        }
        self::$memcached = [];
    }

    protected function setUp(): void
    {
        self::$redis?->command('FLUSHALL');
        foreach (self::$memcached as $server) {
            $server->talk('flush_all');
        }
        \apcu_clear_cache();
        $this->directory = new TemporaryDirectory('larder-l');
    }

    public static function kinds(): array
    {
        $kinds = [];
        foreach (['php', 'igbinary', 'msgpack'] as $serializer) {
            $common = ['serializer' => $serializer, 'compressor' => 'none', 'prefix' => "larder-test-$serializer"];
            $kinds["sqlite, $serializer"] = [['scheme' => 'sqlite', 'tier' => 'disk'] + $common];
            $kinds["files, $serializer"] = [['scheme' => 'files', 'tier' => 'disk'] + $common];
            $kinds["apcu, $serializer"] = [['scheme' => 'sqlite', 'near' => 'apcu', 'tier' => 'near'] + $common];
            foreach (['redis', 'predis', 'memcached'] as $scheme) {
                foreach (['socket', 'tcp'] as $connection) {
                    $kinds["$scheme, $connection, $serializer"] = [['scheme' => $scheme, 'tier' => 'far', 'connection' => $connection] + $common];
                }
            }
        }

        return $kinds;
    }

    protected function driver(array $parameters): LarderDriver
    {
        return new LarderDriver($parameters + $this->address($parameters));
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kindsAndPayloads')]
    public function testEachReadIsAnsweredByTheTierOfThatName(array $parameters, string $payload): void
    {
        $value = Payloads::get($payload);
        $driver = $this->driver($parameters);
        $driver->connect();
        $keys = ['lab:0', 'lab:1', 'lab:2', 'lab:3'];
        $driver->begin();
        $driver->write(\array_fill_keys($keys, $value));
        // What a set did not leave in the near tier, the first get puts there.
        $driver->begin();
        $driver->read($keys);

        for ($i = 0; $i < 3; ++$i) {
            $before = self::hits($driver);
            $driver->begin();
            self::assertSame($value, $driver->read($keys));
            $expected = \array_fill_keys(\array_keys($before), 0);
            $expected[$parameters['tier']] = 4;
            self::assertSame($expected, self::difference(self::hits($driver), $before));
        }
    }

    #[DataProvider('payloads')]
    public function testTheRequestTierAnswersFromTheSecondReadOn(string $payload): void
    {
        $value = Payloads::get($payload);
        $driver = new LarderDriver(['scheme' => 'memory', 'tier' => 'request', 'serializer' => 'none', 'near_budget' => '256M']);
        $driver->connect();
        $keys = ['lab:0', 'lab:1', 'lab:2', 'lab:3'];
        $driver->write(\array_fill_keys($keys, $value));
        $driver->begin();
        $driver->read($keys);

        $before = self::hits($driver);
        $driver->begin();
        self::assertSame($value, $driver->read($keys));
        self::assertSame(['request' => 4, 'near' => 0], self::difference(self::hits($driver), $before));
        self::assertNull($driver->read(['lab:nothing']));
        $driver->write(['lab:0' => 'another value']);
        self::assertSame('another value', $driver->read(['lab:0']));
    }

    /** @return iterable<string, array{string}> */
    public static function payloads(): iterable
    {
        foreach (Payloads::names() as $payload) {
            yield $payload => [$payload];
        }
    }

    /**
     * Mark and checksum are five bytes before what the serializer makes (Codec).
     *
     * @param array<string, string|int> $parameters
     */
    #[DataProvider('kinds')]
    public function testTheSerializerIsTheOneAskedForAndNothingIsCompressed(array $parameters): void
    {
        $table = Payloads::get('50x50');
        $driver = $this->driver($parameters);
        $driver->connect();
        $driver->write(['lab:a' => $table]);
        $rows = $driver->cache()->inspect('lab:a');
        $truth = \end($rows);

        self::assertSame(5 + \strlen(Serialized::by((string) $parameters['serializer'], $table)), $truth === false ? null : $truth['size']);
    }

    #[TestWith(['redis', 'socket'])]
    #[TestWith(['redis', 'tcp'])]
    #[TestWith(['predis', 'socket'])]
    #[TestWith(['predis', 'tcp'])]
    #[TestWith(['memcached', 'socket'])]
    #[TestWith(['memcached', 'tcp'])]
    public function testAServerThatHasGoneThrows(string $scheme, string $connection): void
    {
        [$server, $address] = self::another($scheme, $connection);
        $parameters = ['scheme' => $scheme, 'connection' => $connection, 'tier' => 'far', 'prefix' => 'gone'] + $address;
        $writer = new LarderDriver($parameters);
        $reader = new LarderDriver($parameters);
        $late = new LarderDriver($parameters);
        $writer->connect();
        $reader->connect();
        $writer->write(['lab:a' => 'something']);
        $reader->begin();
        self::assertSame('something', $reader->read(['lab:a']));
        $server->stop();

        self::assertFails('store it', static fn() => $writer->write(['lab:a' => 'something']));
        $reader->begin();
        self::assertFails('get it', static fn() => $reader->read(['lab:a']));
        $late->connect();
        $late->begin();
        self::assertFails('get it', static fn() => $late->read(['lab:a']));
        if ($server instanceof MemcachedServer) {
            $server->end();
        }
    }

    #[TestWith(['sqlite'])]
    #[TestWith(['files'])]
    public function testADirectoryMayHaveAnyName(string $scheme): void
    {
        $directory = $this->directory->file('a b%41?c#d&e=f');
        $driver = new LarderDriver(['scheme' => $scheme, 'directory' => $directory, 'tier' => 'disk']);
        $driver->connect();
        $driver->write(['lab:a' => 'something']);

        self::assertDirectoryExists($directory);
        self::assertSame([\basename($directory)], \array_values(\array_diff((array) \scandir($this->directory->path), ['.', '..'])));
        $driver->disconnect();
    }

    public function testADsnIsTakenAsItIs(): void
    {
        $driver = new LarderDriver(['dsn' => 'file://' . $this->directory->path . '?serializer=php']);
        $driver->connect();
        $driver->write(['lab:a' => Payloads::get('50x50')]);
        $rows = $driver->cache()->inspect('lab:a');

        // The last tier is the one that the DSN names; where there is a segment it stands before it.
        self::assertSame(5 + \strlen(\serialize(Payloads::get('50x50'))), $rows[\array_key_last($rows)]['size'] ?? null);
    }

    public function testAnUnknownSchemeIsAnsweredWithThoseThereAre(): void
    {
        $this->expectException(EngineFailure::class);
        $this->expectExceptionMessage('memory, sqlite, files, redis, predis or memcached');

        new LarderDriver(['scheme' => 'apc']);
    }

    /**
     * @param array<string, string|int> $parameters
     *
     * @return array<string, string|int>
     */
    private function address(array $parameters): array
    {
        $connection = (string) ($parameters['connection'] ?? '');
        if ($connection === '') {
            return ['directory' => $this->directory->path];
        }
        if ($parameters['scheme'] === 'memcached') {
            return self::memcachedAddress(self::$memcached[$connection]);
        }

        return self::redisAddress(self::$redis ?? throw new \LogicException('It is started before the first test'));
    }

    /** @return array{RedisServer|MemcachedServer, array<string, string|int>} a server to be stopped, and where it is */
    private static function another(string $scheme, string $connection): array
    {
        if ($scheme === 'memcached') {
            $server = new MemcachedServer(tcp: $connection === 'tcp');

            return [$server, self::memcachedAddress($server)];
        }
        $server = new RedisServer();

        return [$server, self::redisAddress($server)];
    }

    /** @return array<string, string|int> */
    private static function redisAddress(RedisServer $server): array
    {
        return ['socket' => $server->socket, 'host' => '127.0.0.1', 'port' => $server->port];
    }

    /** @return array<string, string|int> */
    private static function memcachedAddress(MemcachedServer $server): array
    {
        [$host, $port] = $server->address;

        return $port === 0 ? ['socket' => $host] : ['host' => $host, 'port' => $port];
    }

    /** @return array<string, int> by tier */
    private static function hits(LarderDriver $driver): array
    {
        $hits = [];
        foreach ($driver->cache()->stats() as $tier => $stats) {
            if (isset($stats['hits'])) {
                $hits[$tier] = (int) $stats['hits'];
            }
        }

        return $hits;
    }

    /**
     * @param array<string, int> $after
     * @param array<string, int> $before
     *
     * @return array<string, int>
     */
    private static function difference(array $after, array $before): array
    {
        foreach ($before as $tier => $hits) {
            $after[$tier] -= $hits;
        }

        return $after;
    }

    /** @param \Closure(): mixed $do */
    private static function assertFails(string $what, \Closure $do): void
    {
        try {
            $do();
        } catch (EngineFailure $failure) {
            self::assertStringStartsWith("Larder does not $what: ", $failure->getMessage());

            return;
        }
        self::fail('It did not notice that the server has gone');
    }
}
