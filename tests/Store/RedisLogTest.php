<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Cache;
use Larder\Driver\Redis\PhpRedisConnection;
use Larder\Driver\Redis\RedisConnection;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Redis\RedisStore;
use Larder\Store\Redis\Script;
use Larder\Store\Snapshot;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\DataProvider;

/** The log, its index, and what is known when parts of them are gone. */
final class RedisLogTest extends RedisFixture
{
    private const C = 'cccccccccccc';

    protected function setUp(): void
    {
        parent::setUp();
        $this->server = new RedisServer();
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testATrimmedLogIsAnIncompleteAnswerAndAConflict(string $connection): void
    {
        $store = $this->store($connection);
        $start = $store->since('', 0, '');
        self::put($store, 'early', null, self::B);
        $recent = $this->writeMany($store, 10_800);
        self::assertFalse($store->since($start->epoch, $start->end, '')->complete);
        $changes = $store->since($start->epoch, $recent, '');
        self::assertSame([true, 400], [$changes->complete, \count($changes->list)]);
        $changes = $store->since($start->epoch, $changes->end - 9_999, '');
        self::assertSame([true, 9_999], [$changes->complete, \count($changes->list)], 'Ten thousand are known at least.');

        $outcomes = $store->write([
            new Change('early', 'v', self::A, $start->end),
            new Change('never changed', 'v', self::A, $start->end),
            new Change('never changed', 'v', self::A, $recent),
            new Change('x', 'v', self::A, $recent, guards: ['early' => $start->end]),
            new Change('x', 'v', self::A, guards: ['early' => $recent]),
        ]);
        self::assertSame(
            [[false, -1, null], [false, -1, null], [true, 10_802, null], [false, -1, 'early'], [true, 10_803, null]],
            \array_map(static fn($o) => [$o->done, $o->position, $o->guard], $outcomes),
        );
        $size = $this->server->command('HLEN', "larder:{$start->epoch}:i");
        self::assertLessThan(10_300, $size);
        self::assertLessThan(10_600, $this->server->command('XLEN', "larder:{$start->epoch}:j"));
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testABusyLogKeepsNobodyFromFillingWhatNobodyChanged(string $connection): void
    {
        $store = $this->store($connection);
        $at = $store->read(['mine'])->at;
        $this->writeMany($this->store($connection), 3000);
        $outcome = $store->write([new Change('mine', 'v', self::A, $at)])[0];
        self::assertTrue($outcome->done);
    }

    /** @return iterable<string, array{class-string<RedisConnection>, string}> */
    public static function parts(): iterable
    {
        foreach (self::connections() as $name => [$connection]) {
            foreach (['j', 'i'] as $part) {
                yield "$name, $part" => [$connection, $part];
            }
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('parts')]
    public function testAnEvictedLogOrIndexIsKnownToBeGone(string $connection, string $part): void
    {
        $store = $this->store($connection);
        $start = $store->since('', 0, '');
        self::put($store, 'k', null, self::B);
        self::put($store, 'there', 'v', self::B);
        $this->server->command('DEL', "larder:{$start->epoch}:$part");
        if ($part === 'j') {
            self::assertFalse($store->since($start->epoch, $start->end, '')->complete);
            self::put($store, 'l', 'v');
            self::assertFalse($store->since($start->epoch, $start->end, '')->complete, 'Nor by what came after.');
            self::assertTrue($store->since($start->epoch, 2, '')->complete);
        }
        foreach (['k', 'other'] as $key) {
            $outcome = $store->write([new Change($key, 'late', self::A, $start->end)])[0];
            // Of the key that did not change, the index alone tells so.
            self::assertSame($part === 'j' && $key === 'other', $outcome->done);
        }
        $late = $store->write([new Change('there', 'late', self::A, $start->end)])[0];
        self::assertSame([false, 2, self::B, 's'], [$late->done, $late->position, $late->writer, $late->kind]);
        $now = $store->read(['k'])->at;
        self::assertTrue($store->write([new Change('k', 'new', self::A, $now)])[0]->done);
        self::put($store, 'k', null, self::B);
        self::assertFalse($store->write([new Change('k', 'late', self::A, $now)])[0]->done);
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAnOwnChangeHidesNobodyElses(string $connection): void
    {
        foreach (['v', null] as $mine) {
            $store = $this->store($connection);
            $this->server->command('FLUSHALL');
            $at = $store->read(['k'])->at;
            $theirs = self::put($store, 'k', null, self::B)->position;
            self::put($store, 'k', $mine);
            self::put($store, 'k', $mine);
            $outcome = $store->write([new Change('k', 'late', self::A, $at)])[0];
            self::assertSame([false, $theirs, self::B, 'd'], [$outcome->done, $outcome->position, $outcome->writer, $outcome->kind]);
            self::assertTrue($store->write([new Change('k', 'w', self::A, $theirs)])[0]->done);
            self::assertFalse($store->write([new Change('x', 'v', self::A, guards: ['k' => $at])])[0]->done);
            self::assertTrue($store->write([new Change('x', 'v', self::A, guards: ['k' => $theirs])])[0]->done);
            // A third one, and the former becomes the one before.
            $third = self::put($store, 'k', 'third', self::C)->position;
            $outcome = $store->write([new Change('k', 'late', self::A, $theirs)])[0];
            self::assertSame([false, $third, self::C], [$outcome->done, $outcome->position, $outcome->writer]);
        }
    }

    /** A write looks at its markers only if one of them, of whatever key, has changed after its limit. */
    public function testAMarkerThatHasChangedStopsAWrite(): void
    {
        $store = $this->store(PhpRedisConnection::class);
        $changes = [new Change('f:', 'm', self::B, kind: 'm'), new Change('t::a', 'c', self::B, kind: 'c'), new Change('f:', 'i', self::B, kind: 'i'), new Change('f:', null, self::B, kind: 'd', strict: true)];
        foreach ($changes as $change) {
            $at = $store->read(['k'])->at;
            self::assertTrue($store->write([$change])[0]->done);
            foreach (['f:', 't::a'] as $guard) {
                $outcome = $store->write([new Change("k$guard", 'v', self::A, $at, guards: [$guard => $at])])[0];
                self::assertSame($guard !== $change->key, $outcome->done);
                $outcome->done || self::assertSame([$at + 1, self::B, $change->kind, $guard], [$outcome->position, $outcome->writer, $outcome->kind, $outcome->guard]);
            }
            $at = $store->read(['k'])->at;
            self::assertTrue($store->write([new Change('kf:', 'v', self::A, $at, guards: ['f:' => $at])])[0]->done);
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testALimitBeyondTheLogsEndIsNotBelieved(string $connection): void
    {
        $store = $this->store($connection);
        $outcome = $store->write([new Change('k', 'v', self::A, 1000)])[0];
        self::assertSame([false, -1], [$outcome->done, $outcome->position]);
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAnEvictedRecordKeepsItsChangeAndALeaseNeedsNone(string $connection): void
    {
        $store = $this->store($connection);
        $view = $store->read(['k']);
        $position = self::put($store, 'k', 'v', self::B)->position;
        $lease = $store->write([new Change('lease', 'held', self::B, 0, logged: false)])[0]->position;
        $this->server->command('DEL', "larder:{$view->epoch}:r:k", "larder:{$view->epoch}:r:lease");
        $outcome = $store->write([new Change('k', 'late', self::A, $view->at)])[0];
        self::assertSame([false, $position, self::B, 's', null], [$outcome->done, $outcome->position, $outcome->writer, $outcome->kind, $outcome->record]);
        $outcome = $store->write([new Change('lease', 'mine', self::A, 0, logged: false)])[0];
        self::assertTrue($outcome->done);
        self::assertGreaterThan($lease, $outcome->position);
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAnExpiryIsTheServers(string $connection): void
    {
        $store = $this->store($connection);
        $now = $store->now();
        $store->write([
            new Change('k', 'v', self::A, expiry: $now + 60_000),
            new Change('past', 'v', self::A, expiry: 1),
            new Change('ever', 'v', self::A),
            new Change('intent', 'i1', self::A, kind: 'i'),
            new Change('large intent', 'i' . \str_repeat('x', 5000), self::A, kind: 'i'),
        ]);
        $base = 'larder:' . $store->read(['k'])->epoch . ':r:';
        $left = fn(string $key) => $this->server->command('PTTL', $base . $key);
        self::assertThat($left('k'), self::logicalAnd(self::greaterThan(0), self::lessThanOrEqual(60_000)));
        self::assertSame(-2, $left('past'));
        self::assertGreaterThan(100 * 365 * 86_400_000, $left('ever'));
        self::assertSame([-1, -1], [$left('intent'), $left('large intent')], 'Never evicted by the policies volatile-*.');
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testMarkersEndLongAfterTheirLastUse(string $connection): void
    {
        $store = $this->store($connection);
        $at = $store->read(['k'])->at;
        $store->write([new Change('flush', 'm', self::A, kind: 'm'), new Change('tag', 'c', self::A, kind: 'c')]);
        $store->write([new Change('alone', 'm', self::A, kind: 'm')]);
        $base = 'larder:' . $store->read(['k'])->epoch . ':r:';
        $days = fn(string $key): float => \round($this->server->command('PTTL', $base . $key) / 86_400_000, 2);
        self::assertSame([30.0, 30.0, 30.0], [$days('flush'), $days('tag'), $days('alone')]);

        $old = function () use ($base): void {
            foreach (['flush', 'tag', 'alone'] as $key) {
                $this->server->command('PEXPIRE', $base . $key, (string) (10 * 86_400_000));
            }
        };
        $old();
        for ($writes = 0; $writes < 16; ++$writes) {
            self::assertTrue($store->write([new Change('v', 'v', self::A, guards: ['flush' => $at, 'tag' => $at])])[0]->done);
        }
        self::assertSame([30.0, 30.0, 10.0], [$days('flush'), $days('tag'), $days('alone')], 'What writes depend on stays.');

        $old();
        for ($requests = 0; $requests < 5_000 && $days('flush') < 30.0; ++$requests) {
            $store->read(['k', 'flush', 'tag']);
            $store->tidy();
        }
        self::assertSame([30.0, 30.0, 10.0], [$days('flush'), $days('tag'), $days('alone')], 'And what is read now and then.');
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testWhatAMarkerThatEndedCoversIsMissing(string $connection): void
    {
        $options = ['dsn' => ($connection === PhpRedisConnection::class ? 'redis' : 'predis') . '://' . $this->server->socket, 'near' => 'none', 'timeout' => 2.0];
        $cache = Cache::open($options);
        self::assertTrue($cache->invalidateTags('tag'));
        self::assertTrue($cache->set('tagged', 1, tags: ['tag']));
        self::assertTrue($cache->set('plain', 1));
        self::assertSame(1, Cache::open($options)->get('tagged'));
        $names = $this->server->command('KEYS', '*:r:t:*');
        self::assertIsArray($names);
        self::assertCount(1, $names);
        self::assertIsString($names[0]);
        $this->server->command('PEXPIRE', $names[0], '0');
        $reader = Cache::open($options);
        self::assertNull($reader->get('tagged'));
        self::assertSame(1, $reader->get('plain'));
        self::assertTrue($reader->set('tagged', 2, tags: ['tag']));
        self::assertSame(2, Cache::open($options)->get('tagged'));
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testALargeBodyLeavesNothingOnItsWay(string $connection): void
    {
        $store = $this->store($connection);
        $body = static fn(string $byte): string => \str_repeat($byte, 100_000);
        $epoch = $store->read(['k'])->epoch;
        $now = $store->now();
        self::put($store, 'k', 'short');
        $position = self::put($store, 'k', $body('1'), self::B)->position;
        $outcomes = $store->write([
            new Change('k', $body('2'), self::A, $position - 1),
            new Change('x', $body('2'), self::A, guards: ['k' => $position - 1]),
            new Change('k', $body('3'), self::A, $position, expiry: $now + 60_000),
            new Change('l', $body('4'), self::A, 0, logged: false),
            new Change('l', $body('5'), self::A, 0, logged: false),
        ]);
        self::assertSame([false, false, true, true, false], \array_map(static fn($o) => $o->done, $outcomes));
        self::assertSame($body('1'), $outcomes[0]->record?->body);
        $view = $this->store($connection)->read(['k', 'l', 'x']);
        self::assertSame(['k', 'l'], \array_keys($view->records));
        self::assertSame([$body('3'), $outcomes[2]->position, self::A], [$view->records['k']->body, $view->records['k']->position, $view->records['k']->writer]);
        self::assertSame($body('4'), $view->records['l']->body);
        self::assertEqualsCanonicalizing(
            ['larder:head', 'larder:sweep', "larder:$epoch:j", "larder:$epoch:i", "larder:$epoch:r:k", "larder:$epoch:r:l"],
            $this->server->command('KEYS', '*'),
        );
        self::assertThat($this->server->command('PTTL', "larder:$epoch:r:k"), self::logicalAnd(self::greaterThan(0), self::lessThanOrEqual(60_000)));
        self::put($store, 'k', $body('6'));
        self::assertThat($this->server->command('PTTL', "larder:$epoch:r:k"), self::greaterThan(100 * 365 * 86_400_000));
        $this->server->command('SCRIPT', 'FLUSH');
        self::put($store, 'k', $body('7'));
        self::assertSame($body('7'), self::body($store, 'k'));
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testALargeBodyThatIsEvictedOnItsWay(string $connection): void
    {
        $store = $this->store($connection);
        $epoch = $store->read(['k'])->epoch;
        self::put($store, 'k', 'old');
        $seen = $store->since($epoch, 1, '')->token;
        $raw = new $connection($this->server->socketEndpoint());
        $raw->ready();
        $write = static fn(string $mode): array => $raw->run([[
            'EVAL', Script::WRITE, '1', 'larder:head', "$epoch $seen" . '0000000000000002-0123456789ab', "larder:$epoch:",
            "{$mode}2\0\0 " . Script::LIMITLESS . self::B . 's0123456789abk', "larder:$epoch:t:evicted", '',
        ]]);
        foreach (['s', 'u'] as $mode) {
            $reply = $write($mode)[0];
            self::assertIsArray($reply);
            self::assertIsArray($reply[1] ?? null);
            self::assertIsArray($reply[1][0] ?? null);
            self::assertSame(-1, $reply[1][0][0], 'What has to be there is not done.');
            self::assertSame('old', self::body($store, 'k'));
        }
        self::assertSame(['+' . \sprintf('%016d%016d', 2, 1) . self::A . 's'], $write('-'));
        self::assertNull(self::body($store, 'k'), 'A record may be evicted at any time.');
        self::assertSame([['k', 2, self::B, 's']], $store->since($epoch, 1, '')->list);
    }

    /** One script judges and makes all changes of a call: it must say and leave the same as a call for each. */
    public function testTheChangesOfACallDoWhatACallForEachDoes(): void
    {
        $seed = \random_int(0, 1 << 30);
        $random = new \Random\Randomizer(new \Random\Engine\Mt19937($seed));
        $pick = static fn(mixed ...$of): mixed => $of[$random->getInt(0, \count($of) - 1)];
        $stores = ['short' => $this->store(PhpRedisConnection::class, prefix: 'short'), 'long' => $this->store(PhpRedisConnection::class, prefix: 'long')];
        $epochs = \array_map(static fn(RedisStore $store): string => $store->since('', 0, '')->epoch, $stores);
        $at = 0;
        $kinds = [];
        for ($i = 0; $i < 1_500; ++$i) {
            $changes = [];
            $writer = $pick(self::A, self::B);
            for ($n = $pick(1, 1, 3); $n > 0; --$n) {
                $body = $pick(null, 'v' . $random->getInt(1, 9), 'value', \str_repeat('large', 300), $pick('i1 2 3', 'm'));
                $limit = $pick(Change::ALWAYS, Change::ALWAYS, $at, $at - 3, $at + 1);
                $guards = $pick([], [], ['f:' => $at - $random->getInt(0, 60)], ['f:' => $limit], ['f:' => $limit, 't::a' => $limit], ['f:' => $at, 'k1' => $at]);
                $changes[] = new Change('k' . $random->getInt(1, 12), $body, $writer, $limit, $body === null ? 0 : $pick(0, 0, 4_102_444_800_000), $guards, kind: $body === null ? $pick('d', 'x') : 's');
            }
            $random->getInt(1, 40) === 1 && $changes[] = new Change($pick('f:', 't::a'), 'm', self::C, kind: 'm');
            $random->getInt(1, 10) === 1 && $changes[] = new Change('lease', 'b', self::C, $at, logged: false);
            $short = $stores['short']->write($changes);
            $long = \array_merge(...\array_map(static fn(Change $change): array => $stores['long']->write([$change]), $changes));
            foreach ($changes as $n => $change) {
                // A refused change tells of the record that the whole call leaves.
                if (\in_array($change->key, \array_column(\array_slice($changes, $n + 1), 'key'), true)) {
                    $long[$n]->record = $short[$n]->record = null;
                }
            }
            self::assertEquals($long, $short, "seed $seed, change $i");
            foreach ($short as $outcome) {
                $kinds[$outcome->done ? 'done' : 'not'] = ($kinds[$outcome->done ? 'done' : 'not'] ?? 0) + 1;
            }
            if ($i % 100 === 99) {
                // What may be evicted, or lost with the rest of the log. Not the index: the changes of one call are judged by the
                // end before it, and without the index nothing is known before an end.
                $lost = $pick('r:k' . $random->getInt(1, 12), 'r:f:', 'j');
                foreach ($epochs as $name => $epoch) {
                    $this->server->command('DEL', "$name:$epoch:$lost");
                }
            }
            $keys = \array_map(static fn(int $i): string => "k$i", \range(1, 12));
            $views = \array_map(static fn(RedisStore $store): Snapshot => $store->read($keys), $stores);
            $at = $views['short']->at;
            self::assertEquals([$views['long']->at, $views['long']->records], [$at, $views['short']->records], "seed $seed, change $i");
            if ($i % 40 === 0) {
                $left = [];
                foreach ($epochs as $name => $epoch) {
                    $index = $this->server->command('HGETALL', "$name:$epoch:i");
                    self::assertIsArray($index);
                    $index = \array_chunk($index, 2);
                    \sort($index);
                    $left[$name] = [$index, $this->server->command('XRANGE', "$name:$epoch:j", '-', '+')];
                    // One call in sixteen prolongs the life of what it names as a guard.
                    foreach (\array_diff($keys, ['k1']) as $key) {
                        $left[$name][] = (int) \round($this->server->command('PTTL', "$name:$epoch:r:$key") / 1e7);
                    }
                }
                self::assertSame(self::plain($left['long']), self::plain($left['short']), "seed $seed, change $i");
            }
        }
        [$a, $b] = \array_map(fn(string $name): array => \explode(' ', (string) $this->server->command('GET', "$name:head")), ['short', 'long']);
        self::assertSame([(int) $b[1], ...\array_slice($b, 2)], [(int) $a[1], ...\array_slice($a, 2)]);
        self::assertGreaterThan(100, \min($kinds), "seed $seed");
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAReadIsOneCommandAndSoAreChangesThatNothingIsInTheWayOf(string $connection): void
    {
        $store = $this->store($connection);
        self::put($store, 'k', 'v');
        $before = $this->calls();
        $store->read(\array_map(static fn(int $i) => "k$i", \range(1, 50)));
        self::assertSame(['mget' => 1], $this->spent($before));
        $before = $this->calls();
        $store->since('', 0, '');
        self::assertSame(['evalsha' => 1], $this->spent($before));
        $before = $this->calls();
        $at = $store->read(['a'])->at;
        $store->write([new Change('a', 'v', self::A), new Change('b', 'v', self::A, $at, guards: ['k' => $at]), new Change('c', null, self::A)]);
        self::assertSame(['evalsha' => 1], \array_diff_key($this->spent($before), ['mget' => 0]));
        $before = $this->calls();
        self::put($store, 'k', 'v');
        self::assertSame(['evalsha' => 1], $this->spent($before));
        $before = $this->calls();
        $this->store($connection)->read(['k', 'l']);
        self::assertSame(['evalsha' => 1], $this->spent($before), 'Opening brings the records with it.');
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testOnlyWhereOthersWriteAReadAsksForTheJournal(string $connection): void
    {
        $store = $this->store($connection);
        $other = $this->store($connection);
        self::put($store, 'k', 'v');
        $others = static function () use ($other): void {
            self::put($other, 'l', 'v');
            \usleep(300);
        };
        $before = $this->calls();
        $reads = fn(): array => \array_diff_key($this->spent($before), ['eval' => 0, 'evalsha' => 0]);
        foreach (\range(1, 5) as $_) {
            \usleep(300);
            $store->read(['k']);
        }
        self::assertEquals(['mget' => 5], $reads());
        $others();
        $store->read(['k']);
        self::assertEquals(['xrange' => 1, 'mget' => 6], $reads());
        foreach (\range(1, 100) as $_) {
            $store->read(['k']);
        }
        self::assertEquals(['xrange' => 65, 'mget' => 106], $reads(), 'For a while it expects another change.');
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testStatsAreASampleOfTheOwnRecords(string $connection): void
    {
        $store = $this->store($connection);
        $this->writeMany($store, 300);
        self::assertSame(300, $store->stats()['entries']);
        $this->writeMany($store, 3700);
        for ($i = 0; $i < 4000; $i += 500) {
            $this->server->command('MSET', ...\array_merge(...\array_map(static fn(int $n) => ["foreign $n", 'v'], \range($i, $i + 499))));
        }
        $this->server->command('CONFIG', 'SET', 'maxmemory', '100mb');
        $stats = $store->stats();
        self::assertThat($stats['entries'], self::logicalAnd(self::greaterThan(3000), self::lessThan(5000)));
        self::assertThat($stats['bytes'] / $stats['entries'], self::logicalAnd(self::greaterThan(100), self::lessThan(400)));
        self::assertSame(100 << 20, $stats['budget']);
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAFullServerEvictsRecordsAndKeepsTheRest(string $connection): void
    {
        $this->server->command('CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru');
        $this->server->command('CONFIG', 'SET', 'maxmemory', '8mb');
        // A server that evicts for each write takes its time on a busy machine.
        $store = $this->store($connection, $this->server->socketEndpoint(20.0));
        $epoch = $store->read(['k'])->epoch;
        $store->write([new Change('intent', 'i', self::A, kind: 'i')]);
        foreach (\range(1, 60) as $i) {
            $store->write(\array_map(static fn(int $n) => new Change("$i $n", 'v' . \str_repeat('x', 20_000), self::A), \range(1, 10)));
        }
        self::assertSame(['i', $epoch], [self::body($store, 'intent'), $store->read(['k'])->epoch]);
        self::assertTrue($store->since($epoch, 1, '')->complete);
        self::assertThat($store->stats()['entries'], self::logicalAnd(self::greaterThan(50), self::lessThan(500)));
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testMoreAtOnceThanTheLogKeeps(string $connection): void
    {
        $dsn = ($connection === PhpRedisConnection::class ? 'redis' : 'predis') . '://127.0.0.1:' . $this->server->port . '?near=none&timeout=2';
        $values = [];
        for ($i = 0; $i < 12_000; $i++) {
            $values["k$i"] = $i;
        }
        self::assertTrue(Cache::open($dsn)->setMultiple($values));
        $keys = \array_keys($values);
        self::assertSame($values, Cache::open($dsn)->getMultiple($keys));
        self::assertTrue(Cache::open($dsn)->deleteMultiple($keys));
        self::assertSame([], \array_filter(Cache::open($dsn)->getMultiple($keys), static fn(mixed $value): bool => $value !== null));
    }

    /** Of a pipeline longer than what the network holds, nothing is read before the server has done most of it. */
    public function testManyChangesAreSentInPieces(): void
    {
        $connection = new WatchedRedis($this->server->socketEndpoint());
        $store = new RedisStore($connection, 'larder');
        $changes = \array_map(static fn(int $i): Change => new Change("k$i", null, self::A, kind: 'd'), \range(1, 2_000));
        self::assertCount(2_000, \array_filter($store->write($changes), static fn(ChangeResult $outcome): bool => $outcome->done));
        self::assertLessThan(300, $connection->longest);
    }

    /** Changes of other keys, unconditional. @return int the end before the last four hundred */
    private function writeMany(RedisStore $store, int $count): int
    {
        $end = 0;
        for ($i = 0; $i < $count; $i += 400) {
            $end = $store->since('', 0, '')->end;
            $changes = [];
            for ($n = $i; $n < $i + 400 && $n < $count; $n++) {
                $changes[] = new Change("many $n", 'v', self::B);
            }
            self::assertNotSame([], $changes);
            $store->write($changes);
        }

        return $end;
    }

    /** @return array<string, int> how often each command was called by a client so far */
    private function calls(): array
    {
        $info = $this->server->command('INFO', 'commandstats');
        self::assertIsString($info);
        \preg_match_all('/cmdstat_(mget|evalsha|eval|scan|xrange):calls=(\d+)/', $info, $found, \PREG_SET_ORDER);

        return \array_map(\intval(...), \array_column($found, 2, 1));
    }

    /**
     * @param array<string, int> $before
     *
     * @return array<string, int>
     */
    private function spent(array $before): array
    {
        $spent = [];
        foreach ($this->calls() as $name => $count) {
            $spent[$name] = $count - ($before[$name] ?? 0);
        }

        return \array_filter($spent);
    }

    /** Positions may be written with zeros before them, and no nonce is another's. */
    private static function plain(mixed $reply): string
    {
        return (string) \preg_replace('/("\d{32}[0-9a-f]{12}[a-z])[0-9a-f]{12}/', '$1', \json_encode($reply, \JSON_THROW_ON_ERROR));
    }
}
