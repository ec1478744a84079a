<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\DataProvider;

/** Both libraries do the same to one Redis. */
abstract class RedisDriverTestCase extends SharedDriverTestCase
{
    private static ?RedisServer $server = null;

    /** @return non-empty-list<class-string<\Throwable>> what the library throws when the server has gone */
    abstract protected function failures(): array;

    public static function setUpBeforeClass(): void
    {
        if (RedisServer::program() === null) {
            self::markTestSkipped('There is no redis-server and no valkey-server');
        }
        self::$server = new RedisServer();
    }

    public static function tearDownAfterClass(): void
    {
        self::$server = null;
    }

    protected function setUp(): void
    {
        self::server()->command('FLUSHALL');
    }

    public static function kinds(): array
    {
        $kinds = [];
        foreach (['php', 'igbinary', 'msgpack'] as $serializer) {
            foreach (['socket', 'tcp'] as $connection) {
                $kinds["$serializer, $connection"] = [['serializer' => $serializer, 'connection' => $connection]];
            }
        }

        return $kinds;
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kindsAndPayloads')]
    public function testTheServerHoldsWhatTheSerializerMakes(array $parameters, string $payload): void
    {
        $value = Payloads::get($payload);
        $driver = $this->driver($parameters);
        $driver->connect();
        $driver->write(['lab:a' => $value]);

        self::assertSame(Serialized::by((string) $parameters['serializer'], $value), self::server()->command('GET', 'lab:a'));
    }

    public function testWithoutSerializerAStringIsStoredAsItIs(): void
    {
        $driver = $this->driver(['serializer' => 'none', 'connection' => 'socket']);
        $driver->connect();
        $driver->write(['lab:a' => 'a:1:{']);

        self::assertSame('a:1:{', self::server()->command('GET', 'lab:a'));
        self::assertSame('a:1:{', $driver->read(['lab:a']));
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kinds')]
    public function testItTakesTheConnectionThatItIsTold(array $parameters): void
    {
        $driver = $this->driver($parameters);
        $driver->connect();
        $driver->write(['lab:a' => 'something']);

        // Who asks is one by the socket itself.
        $clients = self::server()->command('CLIENT', 'LIST');
        self::assertIsString($clients);
        self::assertSame($parameters['connection'] === 'tcp' ? 1 : 0, \preg_match_all('/ addr=127\.0\.0\.1:/', $clients));
        self::assertSame($parameters['connection'] === 'tcp' ? 1 : 2, \preg_match_all('/ addr=\/[^ ]*redis\.sock:0/', $clients));
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kinds')]
    public function testNothingIsOpenedBeforeItConnectsNorAfterItDisconnects(array $parameters): void
    {
        $driver = $this->driver($parameters);
        self::assertSame(1, self::clients());
        $driver->connect();
        self::assertSame(2, self::clients());
        $driver->disconnect();
        self::assertSame(1, self::clients());
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kinds')]
    public function testAServerThatHasGoneThrows(array $parameters): void
    {
        $server = new RedisServer();
        $parameters += ['socket' => $server->socket, 'host' => '127.0.0.1', 'port' => $server->port];
        $writer = $this->driver($parameters);
        $reader = $this->driver($parameters);
        $late = $this->driver($parameters);
        $writer->connect();
        $reader->connect();
        $writer->write(['lab:a' => 'something']);
        self::assertSame('something', $reader->read(['lab:a']));
        $server->kill();

        $this->assertFails(static fn() => $writer->write(['lab:a' => 'something']));
        $this->assertFails(static fn() => $reader->read(['lab:a']));
        $this->assertFails($late->connect(...));
    }

    /** @return array{socket: string, host: string, port: int} all three, as the lab's own server gives them */
    protected static function address(): array
    {
        return ['socket' => self::server()->socket, 'host' => '127.0.0.1', 'port' => self::server()->port];
    }

    private static function server(): RedisServer
    {
        return self::$server ?? throw new \LogicException('It is started before the first test');
    }

    /** Who is connected, the asking one too. */
    private static function clients(): int
    {
        // One that has hung up is noticed at the server's next turn.
        for ($i = 0; $i < 50; ++$i) {
            $clients = self::server()->command('CLIENT', 'LIST');
            self::assertIsString($clients);
            $now = \substr_count(\rtrim($clients, "\n"), "\n") + 1;
            if (isset($before) && $before === $now) {
                return $now;
            }
            $before = $now;
            \usleep(2_000);
        }

        return -1;
    }

    /** @param \Closure(): mixed $do */
    private function assertFails(\Closure $do): void
    {
        \set_error_handler(static fn(): bool => true); // the libraries let PHP's own warnings out
        try {
            $do();
        } catch (\Throwable $thrown) {
            foreach ($this->failures() as $class) {
                if ($thrown instanceof $class) {
                    self::assertNotSame('', $thrown->getMessage());

                    return;
                }
            }
            throw $thrown;
        } finally {
            \restore_error_handler();
        }
        self::fail('It did not notice that the server has gone');
    }
}
