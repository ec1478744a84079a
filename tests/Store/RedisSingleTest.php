<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Driver\Redis\Endpoint;
use Larder\Driver\Redis\RedisConnection;
use Larder\Store\Change;
use Larder\Store\Redis\RedisStore;
use Larder\Store\Redis\Watermark;
use Larder\System\Failure;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\StrictEndpoint;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;

/** What a web server's watermark promises where the servers behind one address are replaced unseen. */
final class RedisSingleTest extends RedisFixture
{
    /** @var list<RedisServer> two for all tests, since a cluster takes its time to begin */
    private static array $servers = [];

    private TemporaryDirectory $directory;
    private StrictEndpoint $single;
    private RedisServer $second;

    public static function tearDownAfterClass(): void
    {
        self::$servers = [];
    }

    protected function setUp(): void
    {
        parent::setUp();
        $this->directory = new TemporaryDirectory('larder-single');
        self::$servers = self::$servers ?: [StrictEndpoint::server(), StrictEndpoint::server()];
        [$this->server, $this->second] = self::$servers;
        $this->server->command('FLUSHALL');
        $this->second->command('FLUSHALL');
        $this->single = new StrictEndpoint($this->server);
    }

    protected function tearDown(): void
    {
        self::assertSame([], $this->single->refused());
        unset($this->single, $this->second);
        parent::tearDown();
    }

    /** @return iterable<string, array{class-string<RedisConnection>, string, string}> */
    public static function losses(): iterable
    {
        foreach (self::connections() as $name => [$connection]) {
            foreach (['a living connection', 'another process', 'a near tier'] as $who) {
                foreach (['nothing', 'an older state', 'an older state that grew again'] as $state) {
                    yield "$name, $state, $who" => [$connection, $state, $who];
                }
            }
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('losses')]
    public function testNothingOldIsReadOfAServerThatHasTakenOver(string $connection, string $state, string $who): void
    {
        $writer = $this->on('a', $connection);
        self::put($writer, 'k', 'old');
        $second = $this->second;
        $state === 'nothing' || StrictEndpoint::copy($this->server, $second);
        self::delete($writer, 'k', $who !== 'another process');
        $seen = $writer->since('', 0, '');
        self::assertSame($who === 'another process' ? 3 : 2, $seen->end);
        if ($state === 'an older state that grew again') {
            // Another web server's changes, over an endpoint that leads there already.
            $there = new StrictEndpoint($second);
            $other = $this->store($connection, $there->endpoint(), '{larder}', $this->directory->file('b'));
            foreach (\range(1, 5) as $i) {
                self::put($other, "other $i", 'v', self::B);
            }
            self::assertSame('old', self::body($other, 'k'), 'Whoever comes new cannot know.');
            unset($other);
            self::assertSame([], $there->refused());
        }
        $this->single->lead($second);

        // As if it had compared just now: another server may have grown meanwhile.
        (new \ReflectionProperty(RedisStore::class, 'compared'))->setValue($writer, \PHP_INT_MAX);
        $store = $who === 'a living connection' ? $writer : $this->on($who === 'a near tier' ? 'c' : 'a', $connection);
        if ($who === 'a near tier') {
            // Of a web server whose watermark is gone.
            self::assertFalse($store->since($seen->epoch, $seen->end, $seen->token)->complete);
        }
        $view = $store->read(['k']);
        self::assertSame([], $view->records);
        self::assertGreaterThan($seen->epoch, $view->epoch);
        self::assertTrue(self::put($store, 'k', 'new')->done);
        self::assertSame('new', self::body($this->on('b', $connection), 'k'), 'The new epoch stays, for all.');
        // A moment before, however slow this machine is.
        $who === 'a near tier' && $this->changedAt('a', \time() + 60);
        $last = $this->on('a', $connection)->read(['k'])->epoch;
        // Where another web server has begun it, nobody knows whether what this one changed a moment before is behind it.
        $who === 'a near tier' ? self::assertGreaterThan($view->epoch, $last) : self::assertSame($view->epoch, $last);
        foreach (['a', 'b', 'c'] as $webServer) {
            self::assertSame($last, $this->on($webServer, $connection)->read(['k'])->epoch);
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAServerThatHasAllIsNoNewEpoch(string $connection): void
    {
        $writer = $this->on('a', $connection);
        self::put($writer, 'k', 'v');
        self::put($this->on('b', $connection), 'l', 'w', self::B);
        $epoch = $writer->read(['k'])->epoch;
        $second = $this->second;
        StrictEndpoint::copy($this->server, $second);
        $this->single->lead($second);
        foreach ([$writer, $this->on('a', $connection), $this->on('b', $connection)] as $store) {
            $view = $store->read(['k', 'l']);
            self::assertSame([$epoch, 'v', 'w'], [$view->epoch, $view->records['k']->body, $view->records['l']->body]);
            self::assertTrue(self::put($store, 'm', 'x')->done);
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testALossIsNoticedHoweverManyChangesCameAfterIt(string $connection): void
    {
        foreach ([[false, false], [false, true], [true, false]] as [$isLost, $isAlone]) {
            $writer = $this->on('a', $connection);
            self::put($writer, 'k', 'old');
            $second = $this->second;
            $second->command('FLUSHALL');
            $isLost && StrictEndpoint::copy($this->server, $second);
            self::delete($writer, 'k', $isAlone);
            $isLost || StrictEndpoint::copy($this->server, $second);
            $epoch = $writer->read(['k'])->epoch;
            unset($writer);
            $this->single->lead($second);
            $other = $this->on('b', $connection);
            $this->forgetTheJournal($other);
            self::assertSame($epoch, $other->read(['k'])->epoch);
            self::assertSame($isLost ? 'old' : null, self::body($other, 'k'));
            $back = $this->on('a', $connection)->read(['k', 'last']);
            self::assertSame([!$isLost, false, !$isLost], [$back->epoch === $epoch, isset($back->records['k']), isset($back->records['last'])]);
            // It has been looked at, whatever it is: the next request asks no more.
            self::assertSame($back->epoch, $this->on('a', $connection)->read(['k'])->epoch);
            [$this->server, $this->second] = [$second, $this->server];
        }
    }

    /**
     * One web server is led elsewhere before the other.
     *
     * @param class-string<RedisConnection> $connection
     */
    #[DataProvider('connections')]
    public function testWhatTheReplacedServerStillAcknowledgesIsNotForgotten(string $connection): void
    {
        $there = new StrictEndpoint($this->second);
        $one = $this->on('a', $connection);
        self::put($one, 'k', 'old');
        self::put($this->on('d', $connection), 'd', 'v');
        $one->read(['d']);
        StrictEndpoint::copy($this->server, $this->second);
        self::put($one, 'l', 'v');
        $epoch = $this->on('b', $connection)->read(['k'])->epoch;
        $two = $this->store($connection, $there->endpoint(), '{larder}', $this->directory->file('b'));
        $second = $two->read(['k'])->epoch;
        self::assertNotSame($epoch, $second, 'It has seen more.');
        // Computed before the other's change, which comes now.
        self::put($two, 'k', 'old', self::B);
        self::assertTrue(self::put($one, 'k', null)->done);

        $this->single->lead($this->second);
        $third = $this->on('a', $connection)->read(['k']);
        self::assertSame([], $third->records);
        self::assertGreaterThan($second, $third->epoch);
        // And that is all: the third epoch knows what the second and the first had, whenever that was.
        $this->changedAt('d', \time() + 60);
        foreach (['b', 'd', 'a', 'c', 'b'] as $i => $webServer) {
            $store = $this->on($webServer, $connection);
            self::assertSame($third->epoch, $store->read(['k'])->epoch, "$i");
            self::put($store, "of $i", 'v');
        }
        self::assertSame($third->epoch, $two->read(['k'])->epoch);
        self::assertSame([], $there->refused());
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAChangeOnTheReplacedServerIsSaidWhereThatIsKnown(string $connection): void
    {
        $there = new StrictEndpoint($this->second);
        $one = $this->on('a', $connection);
        self::put($one, 'k', 'old');
        $two = $this->store($connection, $there->endpoint(), '{larder}', $this->directory->file('a'));
        self::assertNull(self::body($two, 'k'));
        foreach ([true, false] as $isAlone) {
            $told = self::failure(static fn() => self::delete($one, 'k', $isAlone));
            self::assertStringContainsString('has led to another server meanwhile', $told->getMessage());
        }
        self::assertSame([], $there->refused());
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testOneDatabaseIsSaid(string $connection): void
    {
        $refusal = fn(Endpoint $endpoint): string => self::failure(fn() => $this->store($connection, $endpoint)->read(['k']))->getMessage();
        self::assertStringContainsString('it has one database only, 0', $refusal(new Endpoint('127.0.0.1', $this->single->port, db: 3, timeout: 2.0, isSingle: true)));
        self::assertCount(1, \preg_grep('/SELECT/', $this->single->refused()) ?: []);
        // A node of a cluster knows no SELECT, and from Valkey 9 on no other database.
        self::assertMatchesRegularExpression('/SELECT.*it has one database only, 0|out of range; it has fewer databases, and as a node of a cluster usually one/', $refusal($this->server->socketEndpoint(db: 3)));
        $alone = new RedisServer();
        self::assertStringContainsString('out of range; it has fewer databases', $refusal($alone->socketEndpoint(db: 99)));
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAProcessThatOnlyReadsRaisesTheMarkToo(string $connection): void
    {
        $second = $this->second;
        self::put($this->on('b', $connection), 'k', 'old', self::B);
        StrictEndpoint::copy($this->server, $second);
        self::put($this->on('b', $connection), 'k', null, self::B);
        self::assertNull(self::body($this->on('a', $connection), 'k'));
        $this->single->lead($second);
        self::assertNull(self::body($this->on('a', $connection), 'k'), 'Nobody on this web server reads it again.');
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testMoreKeysThanOneCommandTakes(string $connection): void
    {
        $store = $this->on('a', $connection);
        $changes = [];
        foreach (\range(1, 2500) as $i) {
            $changes[] = new Change("k$i", "body $i", self::A, guards: \array_fill_keys(\array_map(static fn(int $tag): string => "t:$tag", \range(20 * $i, 20 * $i + 19)), 0));
        }
        foreach ($store->write($changes) as $outcome) {
            self::assertTrue($outcome->done);
        }
        $keys = \array_map(static fn(int $i): string => "k$i", \range(1, 2600));
        foreach ([$store, $this->on('a', $connection)] as $reader) {
            $records = $reader->read($keys)->records;
            self::assertCount(2500, $records);
            self::assertSame('body 2500', $records['k2500']->body);
        }
        self::assertGreaterThan(1000, $store->stats()['bytes']);
        $tags = \array_fill_keys(\array_map(static fn(int $tag): string => "t:$tag", \range(1, 988)), 0);
        self::assertTrue($store->write([new Change('tagged', 'v', self::A, guards: $tags)])[0]->done);
        $many = $tags + \array_fill_keys(\array_map(static fn(int $tag): string => "t:$tag", \range(989, 1200)), 0);
        $told = self::failure(static fn() => $store->write([new Change('k1', 'v', self::A, guards: $many)]));
        self::assertStringContainsString('more tags than a single endpoint takes', $told->getMessage());
        $store->erase();
        self::assertSame([], $this->server->command('KEYS', '*'));
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAForgottenScriptCostsOneCallMore(string $connection): void
    {
        $store = $this->on('a', $connection);
        $large = \str_repeat('x', 5000);
        $steps = [
            'open' => fn() => $this->on('a', $connection)->read(['k']),
            'put' => static fn() => self::put($store, 'k', 'v'),
            'put large' => static fn() => self::put($store, 'k', $large),
            'delete' => static fn() => self::put($store, 'k', null),
            'many' => static fn() => $store->write([new Change('a', 'v', self::A), new Change('b', 'v', self::A)]),
            'many large' => static fn() => $store->write([new Change('a', $large, self::A), new Change('b', $large, self::A)]),
        ];
        foreach ($steps as $name => $step) {
            $step();
            $this->server->command('SCRIPT', 'FLUSH');
            foreach ([1, 0] as $evals) {
                $this->server->command('CONFIG', 'RESETSTAT');
                $step();
                self::assertSame([$evals, 1], [$this->calls('eval'), $this->calls('evalsha')], $name);
            }
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testWhereTheMarkCannotBeKeptTheEndpointCountsAsDown(string $connection): void
    {
        $store = $this->on('a', $connection);
        self::put($store, 'k', 'v');
        \unlink($this->directory->file('a'));
        \mkdir($this->directory->file('a'));
        foreach ([static fn() => self::put($store, 'k', 'w'), fn() => $this->on('a', $connection)->read(['k'])] as $work) {
            self::assertInstanceOf(Failure::class, self::failure($work));
        }
        \rmdir($this->directory->file('a'));
        self::assertSame('w', self::body($this->on('a', $connection), 'k'), 'It may have been done.');
        \file_put_contents($this->directory->file('a'), \random_bytes(100));
        self::assertSame('w', self::body($this->on('a', $connection), 'k'));
        self::assertSame(77, \filesize($this->directory->file('a')));
    }

    public function testTheMarkOnlyRises(): void
    {
        $mark = new Watermark($this->directory->file('mark'), 0.05);
        [$id, $epoch, $end] = $mark->read();
        self::assertSame(['', ''], [$epoch, $end]);
        $note = static function (string $epoch, int $position, string $instead = '') use ($mark, $id): array {
            $mark->found($epoch, \sprintf('%016d-0123456789ab', $position), $instead);
            [$same, $epoch, $end] = $mark->read();
            self::assertSame($id, $same);

            return [$epoch, (int) $end];
        };
        $one = '1000000000000000';
        $two = '2000000000000000';
        self::assertSame([$one, 7], $note($one, 7));
        self::assertSame([$one, 7], $note($one, 6), 'Another process was faster.');
        self::assertSame([$one, 10], $note($one, 10));
        self::assertSame([$two, 0], $note($two, 0));
        self::assertSame([$two, 0], $note($one, 11));
        self::assertSame([$two, 0], $note($one, 11, instead: $one));
        self::assertSame([$one, 11], $note($one, 11, instead: $two), 'A name of no world was judged.');
        self::assertSame(0, $mark->read()[3]);
        $mark->made($one, '0000000000000009-0123456789ab');
        self::assertSame([$id, $one, '0000000000000011-0123456789ab'], \array_slice($mark->read(), 0, 3));
        self::assertGreaterThan(\time() * 1000, $mark->read()[3]);
        self::assertSame([$two, 0], $note($two, 0));
        self::assertGreaterThan(\time() * 1000, $mark->read()[3], 'Still of the last change.');
        self::failure(static fn() => $mark->made($one, '0000000000000012-0123456789ab'));
        self::assertSame($two, $mark->read()[1]);
        // Another process stands still in the middle of it.
        $file = \fopen($this->directory->file('mark'), 'r+') ?: self::fail();
        self::assertTrue(\flock($file, \LOCK_EX));
        self::assertStringContainsString('another process has held the lock', self::failure(static fn() => $mark->read())->getMessage());
        \fclose($file);
        self::assertSame($two, $mark->read()[1]);
    }

    /** @param class-string<RedisConnection> $connection */
    private function on(string $webServer, string $connection): RedisStore
    {
        return $this->store($connection, $this->single->endpoint(), '{larder}', $this->directory->file($webServer));
    }

    /** Lets a web server's last change have been made at another time (UNIX). */
    private function changedAt(string $webServer, int $time): void
    {
        $file = $this->directory->file($webServer);
        \file_put_contents($file, \substr((string) \file_get_contents($file), 0, -13) . $time * 1000);
    }

    /** Deletes a key alone, which goes the short way, or with another. */
    private static function delete(RedisStore $store, string $key, bool $isAlone): void
    {
        $store->write([new Change($key, null, self::A, kind: 'd'), ...($isAlone ? [] : [new Change('beside', null, self::A, kind: 'd')])]);
    }

    /** Makes the journal begin after now, as many changes would. */
    private function forgetTheJournal(RedisStore $store): void
    {
        foreach (\range(1, 12) as $_) {
            $store->write(\array_fill(0, 900, new Change('last', 'v', self::B)));
        }
    }

    private function calls(string $command): int
    {
        return \preg_match("/^cmdstat_$command:calls=(\\d+)/m", (string) $this->server->command('INFO', 'commandstats'), $found) === 1 ? (int) $found[1] : 0;
    }
}
