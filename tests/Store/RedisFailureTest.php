<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Cache;
use Larder\Driver\Redis\Endpoint;
use Larder\Driver\Redis\PhpRedisConnection;
use Larder\Driver\Redis\PredisConnection;
use Larder\Driver\Redis\RedisConnection;
use Larder\Store\Change;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Faults\Lines;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\DataProvider;

/** Servers that are not there, hang, refuse or break off: a StoreFailure in bounded time, and nothing else. */
final class RedisFailureTest extends RedisFixture
{
    use Forks;

    protected const FORKS = true;

    protected function tearDown(): void
    {
        $this->endChildren();
        parent::tearDown();
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAServerThatIsNotThere(string $connection): void
    {
        $this->server = new RedisServer();
        $this->server->kill();
        foreach ([
            $this->server->socketEndpoint(),
            $this->server->tcpEndpoint(),
            new Endpoint(socket: '/nowhere/redis.sock'),
            new Endpoint('larder.invalid', timeout: 1.0),
            new Endpoint('127.0.0.1', $this->server->port, tls: true),
        ] as $endpoint) {
            $store = $this->store($connection, $endpoint);
            foreach ([
                fn() => $store->read(['k']),
                fn() => $store->since('', 0, ''),
                fn() => self::put($store, 'k', 'v'),
                fn() => $store->stats(),
                fn() => \iterator_to_array($store->each()),
            ] as $work) {
                self::assertStringContainsString('Redis at ' . $endpoint->name(), self::failure($work)->getMessage());
            }
            $store->tidy();
        }
        $this->server->start();
        self::assertTrue(self::put($this->store($connection), 'k', 'v')->done);
    }

    /**
     * So that its caller leaves it alone, and does not wait once more.
     *
     * @param class-string<RedisConnection> $connection
     */
    #[DataProvider('connections')]
    public function testTidyingTellsOfAServerThatHangs(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection, $this->server->tcpEndpoint(0.2));
        self::put($store, 'k', 'v');
        $this->server->pause();
        try {
            self::failure(static fn() => $store->tidy());
        } finally {
            $this->server->resume();
        }
        self::assertSame('v', self::body($store, 'k'));
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAServerThatDiesAndComesBack(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection, $this->server->tcpEndpoint());
        self::put($store, 'k', 'v');
        $this->server->kill();
        self::failure(fn() => $store->read(['k']));
        self::failure(fn() => self::put($store, 'k', 'w'));
        self::failure(fn() => $store->since('', 0, ''));
        $store->tidy();
        $this->server->start();
        self::assertNull(self::body($store, 'k'));
        self::assertTrue(self::put($store, 'k', 'x')->done);
        self::assertSame('x', self::body($store, 'k'));
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAServerThatHangs(string $connection): void
    {
        $this->server = new RedisServer();
        foreach ([$this->server->socketEndpoint(0.4), $this->server->tcpEndpoint(0.4)] as $endpoint) {
            $store = $this->store($connection, $endpoint);
            $large = \str_repeat('x', 8_000_000);
            foreach ([
                fn() => self::body($store, 'other'),
                fn() => $store->since('', 0, ''),
                fn() => self::put($store, 'k', $large),
            ] as $work) {
                self::put($store, 'k', 'v');
                self::put($store, 'other', 'w');
                $this->server->pause();
                $start = \microtime(true);
                self::failure($work);
                // Once more on a new connection, which the stopped server's kernel still takes.
                self::failure($work);
                $took = \microtime(true) - $start;
                $this->server->resume();
                self::assertGreaterThan(0.3, $took);
                self::assertLessThan(5, $took);
                // It first has to read what was sent to it meanwhile.
                $this->server->command('PING');
                // The answers that come now belong to nobody.
                for ($i = 0; $i < 3; $i++) {
                    self::assertSame('v', self::body($store, 'k'));
                }
            }
        }
    }

    // Seen to fail: phpredis waited for each reply of a pipeline by itself, twenty time-outs for twenty keys.
    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testManyCommandsToAHangingServerAreGivenUpAfterOneTimeOut(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection, $this->server->socketEndpoint(0.5));
        foreach ([2, 20, 1000] as $count) {
            self::put($store, 'k', 'v');
            $changes = \array_map(static fn(int $i): Change => new Change("k$i", 'w', self::A), \range(1, $count));
            $this->server->pause();
            $start = \hrtime(true);
            self::failure(fn() => $store->write($changes));
            $took = (\hrtime(true) - $start) / 1e9;
            $this->server->resume();
            self::assertLessThan(1.5, $took, "$count commands");
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAnIdleConnectionToAHangingServerIsGivenUpAfterOneTimeOut(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection, $this->server->socketEndpoint(0.5));
        self::put($store, 'k', 'v');
        \usleep(1_050_000);
        $this->server->pause();
        $start = \microtime(true);
        self::failure(fn() => self::put($store, 'k', 'w'));
        $took = \microtime(true) - $start;
        $this->server->resume();
        self::assertLessThan(0.9, $took, 'Twice would be a second.');
    }

    /**
     * Looking for another primary takes several tries, each of them several round trips.
     *
     * @param class-string<RedisConnection> $connection
     */
    #[DataProvider('connections')]
    public function testACallThatIsOverItsTimeIsProlongedOnlyOnce(string $connection): void
    {
        $listener = \stream_socket_server('tcp://127.0.0.1:0');
        self::assertIsResource($listener);
        $redis = new $connection(new Endpoint('127.0.0.1', self::port($listener), timeout: 0.05));
        // A call that begins later has time again.
        for ($call = 0; $call < 2; $call++) {
            $redis->begin();
            for ($try = 0; $try < 5; $try++) {
                self::failure(static function () use ($redis): void {
                    $redis->ready();
                    $redis->run([['PING']]);
                });
            }
            $opened = 0;
            for ($none = null, $one = [$listener]; \stream_select($one, $none, $none, 0) === 1; $one = [$listener]) {
                \stream_socket_accept($listener, 0);
                $opened++;
            }
            self::assertContains($opened, [1, 2]);
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAServerThatHangsOrHangsUpWithinAReply(string $connection): void
    {
        foreach (["*1\r\n$100\r\nhalf", "*1\r\n$10", '', "*2\r\n:1\r\n", "?\r\n", "$4\r\nabcd\r\n", ":7\r\n"] as $reply) {
            foreach ([true, false] as $hangs) {
                if ($hangs && \str_contains($reply, '$10') && $connection === PhpRedisConnection::class) {
                    // What the extension itself does not bound; see PhpRedisConnection.
                    continue;
                }
                $listener = \stream_socket_server('tcp://127.0.0.1:0');
                self::assertIsResource($listener);
                $this->fork(static function () use ($listener, $reply, $hangs): void {
                    $socket = \stream_socket_accept($listener, 10);
                    if ($socket !== false) {
                        \fread($socket, 8192);
                        \fwrite($socket, $reply);
                        if (!$hangs) {
                            \stream_socket_shutdown($socket, \STREAM_SHUT_RDWR);
                        }
                    }
                    \sleep(10);
                });
                $port = self::port($listener);
                $start = \microtime(true);
                self::failure(fn() => $this->store($connection, new Endpoint('127.0.0.1', $port, timeout: 0.2))->read(['k']));
                self::assertLessThan(5, \microtime(true) - $start);
                \fclose($listener);
                $this->endChildren();
            }
        }
    }

    /** @param resource $listener */
    private static function port($listener): int
    {
        $name = (string) \stream_socket_get_name($listener, false);

        return (int) \substr($name, (int) \strrpos($name, ':') + 1);
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAConnectionThatTheServerClosedWhileItWasIdle(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection);
        self::put($store, 'k', 'v');
        $epoch = $store->read(['k'])->epoch;
        $this->server->command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        self::failure(fn() => self::put($store, 'k', 'w'));
        self::put($store, 'k', 'x');
        $this->server->command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        \usleep(1_050_000);
        self::assertTrue(self::put($store, 'k', 'y')->done, 'After a second it is tried first.');
        self::assertSame(['y', $epoch], [self::body($store, 'k'), $store->read(['k'])->epoch]);
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAServerThatWantsAPassword(string $connection): void
    {
        $this->server = new RedisServer(config: ['requirepass' => 'open-sesame']);
        $this->store($connection, new Endpoint(socket: $this->server->socket, password: 'open-sesame', timeout: 2.0))->read(['k']);
        foreach ([null, 'wrong-one'] as $password) {
            $store = $this->store($connection, new Endpoint(socket: $this->server->socket, password: $password));
            $message = self::failure(fn() => $store->read(['k']))->getMessage();
            self::assertStringContainsString('give user and password in the DSN', $message);
            self::assertStringNotContainsString('wrong-one', $message);
        }
    }

    /**
     * A server that does not know what it is told repeats it.
     *
     * @param class-string<RedisConnection> $connection
     */
    #[DataProvider('connections')]
    public function testWhatAServerRepeatsHasNoPassword(string $connection): void
    {
        $this->server = new RedisServer(config: ['rename-command' => 'AUTH LOGIN']);
        foreach ([null, 'somebody'] as $user) {
            $store = $this->store($connection, new Endpoint(socket: $this->server->socket, user: $user, password: 'open-sesame'));
            $failure = self::failure(fn() => $store->read(['k']));
            self::assertStringContainsString('unknown command', $failure->getMessage());
            for ($e = $failure; $e !== null; $e = $e->getPrevious()) {
                self::assertStringNotContainsString('open-sesame', $e->getMessage() . $e->getTraceAsString());
            }
        }
    }

    /**
     * Seen to fail: the server's words, with the whole script in them, and no advice.
     *
     * @param class-string<RedisConnection> $connection
     */
    #[DataProvider('connections')]
    public function testACommandThatTheServerDoesNotHave(string $connection): void
    {
        $this->server = new RedisServer(config: ['rename-command' => 'EVAL ""']);
        $store = $this->store($connection);
        $message = self::failure(fn() => $store->read(['k']))->getMessage();
        self::assertStringContainsString('unknown command', $message);
        self::assertStringContainsString('rename-command', $message);
        self::assertLessThan(300, \strlen($message));
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testADatabaseOfItsOwn(string $connection): void
    {
        $this->server = new RedisServer();
        $three = $this->store($connection, $this->server->socketEndpoint(db: 3));
        self::put($three, 'k', 'three');
        self::assertNull(self::body($this->store($connection), 'k'));
        self::assertSame('three', self::body($this->store($connection, $this->server->socketEndpoint(db: 3)), 'k'));
        $store = $this->store($connection, $this->server->socketEndpoint(db: 99));
        $keys = $this->server->command('DBSIZE');
        self::failure(fn() => self::put($store, 'k', 'nowhere'));
        self::assertSame($keys, $this->server->command('DBSIZE'), 'Not into another database either.');
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAReplicaIsRefused(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection);
        self::put($store, 'k', 'v');
        $this->server->command('REPLICAOF', '127.0.0.1', '1');
        self::assertStringContainsString('replica', self::failure(fn() => self::put($store, 'k', 'w'))->getMessage());
        self::assertStringContainsString('replica', self::failure(fn() => self::put($store, 'k', null))->getMessage());
    }

    /** @return iterable<string, array{class-string<RedisConnection>, int}> */
    public static function sizes(): iterable
    {
        foreach (self::connections() as $name => [$connection]) {
            yield "$name, short" => [$connection, 1];
            yield "$name, 100 kB" => [$connection, 50_000];
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('sizes')]
    public function testWithoutMemoryNothingOldStaysAndRemovalsAreDone(string $connection, int $size): void
    {
        [$old, $new] = [\str_repeat('v1', $size), \str_repeat('v2', $size)];
        $this->server = new RedisServer();
        $store = $this->store($connection);
        foreach (['set', 'gone', 'counter', 'alone'] as $key) {
            self::put($store, $key, $old);
        }
        $lease = $store->write([new Change('lease', 'held', self::A, 0, logged: false)])[0]->position;
        $start = $store->since('', 0, '');
        $this->server->command('CONFIG', 'SET', 'maxmemory', '1');
        $outcomes = $store->write([
            new Change('set', $new, self::A),
            new Change('gone', null, self::A, kind: 'd'),
            new Change('counter', $new, self::A, $start->end, strict: true),
        ]);
        self::assertSame([[false, 'r'], [true, 's'], [false, 'r']], \array_map(static fn($o) => [$o->done, $o->kind], $outcomes));
        self::assertTrue(self::put($store, 'never', null)->done);
        self::assertSame('r', self::put($store, 'alone', $new)->kind);
        self::assertTrue($store->write([new Change('lease', null, self::A, $lease, logged: false)])[0]->done);
        $records = $store->read(['set', 'gone', 'counter', 'lease', 'alone'])->records;
        self::assertSame(['counter'], \array_keys($records), 'What is there is read.');
        self::assertSame($old, $records['counter']->body);
        $changes = $store->since($start->epoch, $start->end, $start->token);
        self::assertSame([['set', 'x'], ['gone', 'd'], ['never', 'd'], ['alone', 'x']], \array_map(static fn($c) => [$c[0], $c[3]], $changes->list));

        // What must not be shown is said, and whoever computes has his lease.
        $marks = [
            new Change('marker', 'm', self::A, kind: 'm'),
            new Change('made', 'c', self::A, $changes->end, kind: 'c', strict: true),
            new Change('set', 'i1 2', self::A, kind: 'i'),
            new Change('lease', 'l1 2', self::A, 0, $store->now() + 60_000, logged: false),
        ];
        foreach ($marks as $mark) {
            self::assertTrue($store->write([$mark])[0]->done, $mark->key);
        }
        self::assertCount(4, $store->read(['marker', 'made', 'set', 'lease'])->records);

        $this->server->command('FLUSHALL');
        self::assertSame([], $this->store($connection, prefix: 'another')->read(['k'])->records, 'A new epoch needs no room.');
        $this->server->command('CONFIG', 'SET', 'maxmemory', '0');
        self::assertTrue(self::put($store, 'set', $new)->done);
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAFullServerIsReadOn(string $connection): void
    {
        $this->server = new RedisServer();
        $log = new Lines();
        $options = ['dsn' => ($connection === PredisConnection::class ? 'predis' : 'redis') . '://' . $this->server->socket, 'near' => 'none', 'timeout' => 2.0, 'logger' => $log];
        $cache = Cache::open($options);
        foreach (['there', 'replaced', 'deleted'] as $key) {
            self::assertTrue($cache->set($key, 'old'));
        }
        self::assertTrue($cache->set('tagged', 'old', tags: ['tag']));
        self::assertTrue($cache->group('flushed')->set('k', 'old'));
        $this->server->command('CONFIG', 'SET', 'maxmemory', '1');

        $cache = Cache::open($options);
        foreach (['new', \str_repeat('new', 10_000)] as $new) {
            self::assertFalse($cache->set('replaced', $new), 'Visibly not stored.');
            self::assertSame('old', Cache::open($options)->get('there'));
            self::assertSame('old', $cache->get('there'), 'Nor is this process blind.');
            self::assertNull(Cache::open($options)->get('replaced'));
        }
        self::assertFalse($cache->increment('counter', 1));
        self::assertTrue($cache->delete('deleted'));
        self::assertTrue($cache->invalidateTags('tag'));
        self::assertTrue($cache->group('flushed')->flush());
        self::assertSame('computed', $cache->remember('computed', static fn(): string => 'computed'));
        $reader = Cache::open($options);
        self::assertSame([null, null, null, 'old'], [
            $reader->get('deleted'), $reader->get('tagged'), $reader->group('flushed')->get('k'), $reader->get('there'),
        ]);
        self::assertCount(1, $log->lines, 'One line a process and minute, however many were refused.');
        self::assertMatchesRegularExpression('/^warning: larder: (predis|redis):.* did not store a value.*maxmemory/', $log->lines[0]);
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAServerThatCannotSaveRefusesAndKeepsTheConnection(string $connection): void
    {
        $this->server = new RedisServer(config: ['stop-writes-on-bgsave-error' => 'yes']);
        $store = $this->store($connection);
        self::put($store, 'k', 'v');
        $this->server->command('CONFIG', 'SET', 'save', '3600 1');
        $this->server->command('CONFIG', 'SET', 'rdb-save-incremental-fsync', 'no');
        // A directory in the place of the temporary file of the child process that saves.
        \mkdir($this->server->dir . '/dump.rdb');
        try {
            $this->server->command('SAVE');
        } catch (\RuntimeException) {
        }
        $this->server->command('BGSAVE');
        $deadline = \microtime(true) + 5;
        do {
            \usleep(20_000);
            $info = $this->server->command('INFO', 'persistence');
            self::assertIsString($info);
        } while (!\str_contains($info, 'rdb_last_bgsave_status:err') && \microtime(true) < $deadline);
        foreach (['w', null] as $body) {
            $message = self::failure(fn() => self::put($store, 'k', $body))->getMessage();
            self::assertStringContainsString('cannot save', $message);
        }
        self::assertSame('v', self::body($store, 'k'));
    }

    /** @return iterable<string, array{class-string<\Exception>}> */
    public static function exceptions(): iterable
    {
        yield 'any' => [\LogicException::class];
        yield 'one like those of the library' => [\RuntimeException::class];
    }

    /**
     * Of Predis alone: an extension is not interrupted by a signal's handler.
     *
     * @param class-string<\Exception> $class
     */
    #[DataProvider('exceptions')]
    public function testAnApplicationsExceptionWithinACallClosesTheConnectionAndGoesOn(string $class): void
    {
        $this->server = new RedisServer();
        $store = $this->store(PredisConnection::class, $this->server->socketEndpoint(1.2));
        self::put($store, 'k', 'v');
        self::put($store, 'other', 'w');
        \pcntl_async_signals(true);
        \pcntl_signal(\SIGALRM, static fn() => throw new $class('from the handler'));
        $this->server->pause();
        \pcntl_alarm(1);
        try {
            self::body($store, 'other');
            self::fail('Not interrupted.');
        } catch (\Exception $e) {
            self::assertSame($class, $e::class);
            self::assertSame('from the handler', $e->getMessage());
        } finally {
            // One that is still to come would end the test's process.
            \pcntl_alarm(0);
            \pcntl_signal(\SIGALRM, \SIG_DFL);
            \pcntl_async_signals(false);
            $this->server->resume();
        }
        self::assertSame('v', self::body($store, 'k'));
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAServerThatForgotTheScripts(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection);
        self::put($store, 'k', 'v');
        $this->server->command('SCRIPT', 'FLUSH');
        $changes = [];
        for ($i = 0; $i < 20; $i++) {
            $changes[] = new Change("k$i", "v$i", self::A);
        }
        $outcomes = $store->write($changes);
        self::assertSame(\range(2, 21), \array_map(static fn($o) => $o->position, $outcomes));
        $this->server->command('SCRIPT', 'FLUSH');
        self::assertSame(21, $store->since('', 0, '')->end);
        self::assertSame('v7', self::body($store, 'k7'));
    }
}
