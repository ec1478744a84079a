<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Driver\Redis\RedisConnection;
use Larder\Store\Change;
use Larder\Store\Redis\RedisStore;
use Larder\Tests\Config\Child;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\ShiftedClock;
use PHPUnit\Framework\Attributes\DataProvider;

/** What has ended is judged by the server's clock, whatever the clients' say. */
final class RedisClockTest extends RedisFixture
{
    /** Also while that clock is set, forth and back. */
    public function testTheServersClockIsTheOne(): void
    {
        $this->server = new RedisServer();
        $connection = new WatchedRedis($this->server->socketEndpoint());
        $store = new RedisStore($connection, 'larder');
        foreach ([90_000, -90_000, 7_200_000, 0, -1000] as $connection->offset) {
            // A request's beginning, in a process that lives on.
            $sent = $this->time();
            $store->since('', 0, '');
            $most = $this->time() - $sent;
            $earliest = $this->time() + $connection->offset;
            $now = $store->now();
            self::assertLessThanOrEqual($this->time() + $connection->offset, $now);
            self::assertGreaterThan($earliest - $most - 5, $now, 'Behind for as long as the answer took, at most.');
        }
    }

    /** One look that took long does not undo a quick one. */
    public function testOfSeveralLooksTheClosestCounts(): void
    {
        $this->server = new RedisServer();
        $connection = new WatchedRedis($this->server->socketEndpoint());
        $store = new RedisStore($connection, 'larder');
        $behind = [];
        foreach ([0, 100_000, 0] as $connection->delay) {
            $store->since('', 0, '');
            $behind[] = $this->time() - $store->now();
        }
        self::assertLessThan(90, \min($behind[1], $behind[2]) - $behind[0]);
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testItCostsNoCallAfterTheFirst(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection);
        $store->read(['k']);
        $calls = $this->scripts();
        $store->now();
        self::assertSame($calls, $this->scripts());
        $this->store($connection)->now();
        self::assertSame($calls + 1, $this->scripts(), 'Before it, it is one.');
        $this->server->kill();
        $store->now();
        self::failure(fn() => $this->store($connection)->now());
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testARecordIsAbsentFromItsEndOn(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection);
        $at = $store->read(['k'])->at;
        $end = $store->now() + 60_000;
        $intent = Change::HELD . 'body';
        $large = \str_repeat('x', 5000);
        $store->write([
            new Change('k', 'v', self::A, expiry: $end),
            new Change('large', $large, self::A, expiry: $end),
            new Change('held', $intent, self::A, expiry: $end, kind: 'i'),
            new Change('lease', 'l', self::A, 0, $end, logged: false),
        ]);
        $epoch = $store->read(['k'])->epoch;
        foreach (['k', 'large', 'held', 'lease'] as $key) {
            self::assertSame($end, $this->server->command('PEXPIRETIME', "larder:$epoch:r:$key"), $key);
        }
        self::assertFalse($store->write([new Change('lease', 'mine', self::B, 0, logged: false)])[0]->done);
        self::assertFalse($store->write([new Change('held', 'v', self::B)])[0]->done);
        self::put($store, 'alone', 'v');
        $store->write([new Change('alone', 'w', self::A, expiry: $end)]);
        self::assertSame($end, $this->server->command('PEXPIRETIME', "larder:$epoch:r:alone"), 'On the short way too.');

        foreach (['k', 'large', 'held', 'lease', 'alone'] as $key) {
            $this->server->command('PEXPIREAT', "larder:$epoch:r:$key", '1');
        }
        self::assertSame([], $store->read(['k', 'large', 'held', 'lease', 'alone'])->records);
        self::assertTrue($store->write([new Change('lease', 'mine', self::B, 0, logged: false)])[0]->done);
        self::assertTrue($store->write([new Change('held', 'v', self::B)])[0]->done);
        self::assertFalse($store->write([new Change('k', 'late', self::B, $at)])[0]->done, 'That it was written stays a change.');
    }

    /** @return iterable<string, array{string, array<string, string>}> */
    public static function clocks(): iterable
    {
        foreach (['redis', 'predis'] as $scheme) {
            yield "$scheme, the wall's" => [$scheme, ['DONT_FAKE_MONOTONIC' => '1']];
            yield "$scheme, all" => [$scheme, []];
        }
    }

    /** @param array<string, string> $env */
    #[DataProvider('clocks')]
    public function testALockIsHeldByOneWhateverTheClocksOfTheTwo(string $scheme, array $env): void
    {
        ShiftedClock::demand();
        $this->server = new RedisServer();
        $dsn = $scheme . '://' . $this->server->socket . '?near=none&timeout=2';
        $code = 'require ' . \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true) . ';'
            . '$cache = Larder\Cache::open(' . \var_export($dsn, true) . ')->group("locks", true);'
            . 'echo \json_encode([$cache->add("lock", $argv[1], 60), $cache->get("lock")]);';
        $add = static function (string $offset, string $who) use ($code, $env): mixed {
            $child = Child::run([\PHP_BINARY, '-r', $code, '--', $who], ShiftedClock::environment($offset) + $env);
            ShiftedClock::forget($child->pid);

            return \json_decode($child->output);
        };
        self::assertSame([true, 'first'], $add('+0', 'first'));
        self::assertSame([false, 'first'], $add('+90', 'fast'));
        self::assertSame([false, 'first'], $add('-90', 'slow'));
        $this->server->command('FLUSHALL');
        self::assertSame([true, 'fast'], $add('+90', 'fast'));
        self::assertSame([false, 'fast'], $add('-90', 'slow'));
    }

    /** Milliseconds by the server. */
    private function time(): int
    {
        [$seconds, $microseconds] = (array) $this->server->command('TIME');

        return (int) $seconds * 1000 + \intdiv((int) $microseconds, 1000);
    }
}
