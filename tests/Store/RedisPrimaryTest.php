<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Driver\Redis\Endpoint;
use Larder\Driver\Redis\PhpRedisConnection;
use Larder\Driver\Redis\PredisConnection;
use Larder\Driver\Redis\Primary;
use Larder\Driver\Redis\RedisConnection;
use Larder\Store\Change;
use Larder\Store\Redis\RedisStore;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** What a primary acknowledged that had a successor already is lost with it: the successor's values may be older. */
#[CoversClass(Primary::class)]
final class RedisPrimaryTest extends TestCase
{
    private const WRITER = 'aaaaaaaaaaaa';

    private TemporaryDirectory $directory;
    private RedisServer $old;
    private RedisServer $successor;
    private int $port = 0;

    protected function setUp(): void
    {
        RedisServer::demand();
        $this->directory = new TemporaryDirectory();
        [$this->old, $this->successor] = [new RedisServer(), new RedisServer()];
        $this->port = $this->old->port;
    }

    /** @return iterable<string, array{class-string<RedisConnection>}> */
    public static function connections(): iterable
    {
        if (\extension_loaded('redis')) {
            yield 'phpredis' => [PhpRedisConnection::class];
        }
        yield 'Predis' => [PredisConnection::class];
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testWhatTheSuccessorHadBeforeALostChangeIsNotRead(string $connection): void
    {
        foreach ([true, false] as $isSameProcess) {
            $store = $this->store($connection);
            $store->write([new Change('k', 'old', self::WRITER)]);
            $there = new RedisStore(new $connection($this->successor->tcpEndpoint()), 'larder');
            $there->write([new Change('k', 'from the database', self::WRITER)]);
            self::assertTrue($store->write([new Change('k', null, self::WRITER, kind: 'd')])[0]->done);
            $this->port = $this->successor->port;
            $this->old->kill();
            if (!$isSameProcess) {
                $store = $this->store($connection);
            }
            self::assertSame([], $store->read(['k'])->records);
            self::assertSame(0o600, \fileperms($this->directory->file('primary')) & 0o777);
            self::assertSame([], $there->read(['k'])->records, 'nor by others');
            // Another process of this server need not begin anew.
            $there->write([new Change('k', 'new', self::WRITER)]);
            self::assertSame('new', $this->store($connection)->read(['k'])->records['k']->body);
            self::assertSame('new', $store->read(['k'])->records['k']->body);
            $this->old->start();
            $this->port = $this->old->port;
            $this->successor->command('FLUSHALL');
            \unlink($this->directory->file('primary'));
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testWhatItHasStoredSinceIsRead(string $connection): void
    {
        $store = $this->store($connection, null);
        $store->write([new Change('k', 'old', self::WRITER)]);
        // By more than what the clocks of two servers may differ.
        \usleep(1_100_000);
        $there = new RedisStore(new $connection($this->successor->tcpEndpoint()), 'larder');
        $there->write([new Change('k', 'from the database', self::WRITER)]);
        $this->port = $this->successor->port;
        $this->old->kill();
        self::assertSame('from the database', $store->read(['k'])->records['k']->body);
    }

    /** @param class-string<RedisConnection> $connection */
    private function store(string $connection, ?string $file = 'primary'): RedisStore
    {
        $primary = new class ([['127.0.0.1', $this->old->port], ['127.0.0.1', $this->successor->port]], $file === null ? null : $this->directory->file($file), fn(): int => $this->port) extends Primary {
            /**
             * @param non-empty-list<array{string, int}> $servers
             * @param \Closure(): int                    $port
             */
            public function __construct(array $servers, ?string $file, private readonly \Closure $port)
            {
                parent::__construct($servers, $file);
            }

            protected function question(): array
            {
                return [['PING']];
            }

            protected function answer(array $replies, string $host): array|string
            {
                return [$host, ($this->port)()];
            }
        };

        return new RedisStore(new $connection(new Endpoint(timeout: 2.0), $primary), 'larder');
    }
}
