<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Cache;
use Larder\Store\Change;
use Larder\Store\Sqlite\SqliteStore;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Markers and removals take a bounded part of the budget; what is forgotten never makes anything valid again. */
final class SqliteMarkersTest extends TestCase
{
    use Directory;
    use Strict;

    private const BUDGET = 2 << 20;

    public function testManyTagsLeaveRoomForEntries(): void
    {
        $store = $this->store();
        $this->mark($store, 40_000);
        for ($i = 0; $i < 300; $i++) {
            self::put($store, "e::k$i", \str_repeat('x', 2_000));
        }
        self::assertCount(300, $store->read(\array_map(static fn(int $i): string => "e::k$i", \range(0, 299)))->records);
        self::assertLessThan(self::BUDGET + 100_000, $store->stats()['bytes']);
        self::assertLessThan(30_000, $this->rows("kind = 'm'"));
    }

    public function testManyRemovalsLeaveRoomForEntries(): void
    {
        $store = $this->store();
        for ($i = 0; $i < 300; $i++) {
            self::put($store, "e::k$i", \str_repeat('x', 2_000));
        }
        for ($i = 0; $i < 40; $i++) {
            $store->write(\array_map(
                static fn(int $j): Change => new Change("e::removed $i:$j " . \str_repeat('y', 500), null, 'aaaaaaaaaaaa', kind: 'd'),
                \range(1, 100),
            ));
        }
        self::assertGreaterThan(290, \count($store->read(\array_map(static fn(int $i): string => "e::k$i", \range(0, 299)))->records));
    }

    public function testAForgottenTagStillInvalidates(): void
    {
        $store = $this->store();
        $tag = self::put($store, 't::first', 'm', kind: 'm');
        $flush = self::put($store, 'f:group', 'm', kind: 'm');
        self::assertSame([], $store->read(['t::never', 'f:never'])->records);
        $this->mark($store, 40_000);
        self::assertSame(0, $this->rows("k = CAST('t::first' AS BLOB)"), 'It is gone.');
        $records = $store->read(['t::first', 't::never', 'f:group', 'f:never', 'f:'])->records;
        self::assertGreaterThanOrEqual($tag, $records['t::first']->position, 'It counts as made anew.');
        self::assertSame($records['t::first']->position, $records['t::never']->position);
        self::assertSame($records['t::first']->position, $store->read(['t::first'])->records['t::first']->position, 'Also when it is read alone.');
        self::assertSame(['f:group'], \array_values(\array_filter(\array_keys($records), static fn(string $key): bool => $key[0] === 'f')));
        self::assertSame($flush, $records['f:group']->position, 'Tags go before flushes, and never as one.');
        $last = self::put($store, 't::first', 'm', kind: 'm');
        self::assertSame($last, $store->read(['t::first'])->records['t::first']->position);
    }

    #[Group('slow')]
    public function testManyGroupsFlushedLeaveRoomToo(): void
    {
        $store = $this->store();
        $first = self::put($store, 'f:group', 'm', kind: 'm');
        for ($i = 0; $i < 40; $i++) {
            $store->write(\array_map(
                static fn(int $j): Change => new Change("f:group $i:$j", 'm', 'aaaaaaaaaaaa', kind: 'm'),
                \range(1, 1_000),
            ));
        }
        for ($i = 0; $i < 300; $i++) {
            self::put($store, "e::k$i", \str_repeat('x', 2_000));
        }
        self::assertGreaterThan(250, \count($store->read(\array_map(static fn(int $i): string => "e::k$i", \range(0, 299)))->records));
        self::assertLessThan(self::BUDGET + 100_000, $store->stats()['bytes']);
        self::assertGreaterThanOrEqual($first, $store->read(['f:group'])->records['f:group']->position);
        self::assertGreaterThanOrEqual($first, $store->read(['f:other'])->records['f:other']->position);
    }

    /** What a request knows that began before a marker came and went. */
    public function testWhoIsBehindHearsThatTheLogIsShort(): void
    {
        $store = $this->store();
        $before = $store->since('', 0, '');
        self::put($store, 't::first', 'm', 'bbbbbbbbbbbb', 'm');
        $this->mark($store, 40_000);
        self::assertFalse($store->since($before->epoch, $before->end, $before->token)->complete);
        $change = new Change('e::k', 'v', 'cccccccccccc', guards: ['t::first' => $before->end]);
        self::assertFalse($store->write([$change])[0]->done);
        $own = new Change('e::k', 'v', 'aaaaaaaaaaaa', guards: ['t::other' => $before->end + 1]);
        self::assertTrue($store->write([$own])[0]->done, 'Own changes never count.');
    }

    public function testWhatAFlushCoversLeavesALittleAtATime(): void
    {
        $store = $this->store(64 << 20);
        for ($i = 0; $i < 200; $i++) {
            self::put($store, "e:one:k$i", 'v');
            self::put($store, "e:two:k$i", 'v');
            self::put($store, "t:one:k$i", 'm', kind: 'm');
            self::put($store, "t:two:k$i", 'm', kind: 'm');
            self::put($store, "f:one/$i", 'm', kind: 'm');
        }
        $held = self::put($store, 'e:one:intent', Change::HELD, kind: 'i');
        self::put($store, 'f:one', 'm', kind: 'm');
        self::put($store, 'e:one:new', 'v');
        $this->tidy($store, 200);
        $alive = $this->rows('body IS NOT NULL');
        self::assertSame(200 * 2 + 3, $alive, 'The other group, the flush, the intent and what came after it.');
        self::assertSame($held, $store->read(['e:one:intent'])->records['e:one:intent']->position);
        self::assertSame('v', self::get($store, 'e:two:k1'));
        self::assertSame('m', self::get($store, 'f:one'));
        $flush = self::put($store, 'f:', 'm', kind: 'm');
        $this->tidy($store, 200);
        self::assertSame(2, $this->rows('body IS NOT NULL'), 'The flush and the intent.');
        self::assertSame($flush, $store->read(['f:'])->records['f:']->position);
    }

    public function testATagOlderThanAllThatIsStoredGoesInTime(): void
    {
        $store = $this->store();
        $this->mark($store, 100);
        self::put($store, 'e::k', 'v');
        $later = self::put($store, 't::later', 'm', kind: 'm');
        for ($i = 0; $i < 2; $i++) {
            $this->tidy($store, 100);
            (new \PDO("sqlite:$this->directory/larder.db"))->exec("UPDATE m SET value = value - 700 WHERE name = 'mark_time'");
        }
        $this->tidy($store, 100);
        self::assertSame(1, $this->rows("kind = 'm'"));
        self::assertSame('v', self::get($store, 'e::k'));
        self::assertSame($later, $store->read(['t::later'])->records['t::later']->position);
        self::assertGreaterThan($store->read(['t::0:1'])->records['t::0:1']->position, $store->read(['e::k'])->records['e::k']->position, 'Nothing that is stored is hurt.');
    }

    public function testACacheGoesOnAfterManyTagsAndAFlush(): void
    {
        $cache = Cache::open("sqlite://$this->directory?budget=2M");
        for ($i = 0; $i < 400; $i++) {
            $cache->invalidateTags(...\array_map(static fn(int $j): string => "$i:$j", \range(1, 100)));
        }
        $cache->set('tagged', 'value', tags: ['1:1', 'other']);
        $cache->set('plain', 'value');
        $cache->refresh();
        self::assertSame(['tagged' => 'value', 'plain' => 'value'], [...$cache->getMultiple(['tagged', 'plain'])]);
        $cache->invalidateTags('1:1');
        $cache->refresh();
        self::assertSame('value', $cache->get('plain'));
        self::assertNull($cache->get('tagged'));
        $cache->flush();
        $cache->set('plain', 'again');
        $cache->refresh();
        self::assertSame('again', $cache->get('plain'));
    }

    private function mark(SqliteStore $store, int $count): void
    {
        for ($i = 0; $i < $count / 100; $i++) {
            $store->write(\array_map(
                static fn(int $j): Change => new Change("t::$i:$j", 'm', 'aaaaaaaaaaaa', kind: 'm'),
                \range(1, 100),
            ));
        }
    }

    private function tidy(SqliteStore $store, int $times): void
    {
        for ($i = 0; $i < $times; $i++) {
            $store->write([new Change('lease', null, 'aaaaaaaaaaaa', logged: false)]);
            $store->tidy();
        }
    }

    private function rows(string $which): int
    {
        return (int) (new \PDO("sqlite:$this->directory/larder.db"))->query("SELECT count(*) FROM e WHERE $which")?->fetchColumn();
    }

    private function store(int $budget = self::BUDGET): SqliteStore
    {
        return new SqliteStore($this->directory, $budget, 1.0);
    }
}
