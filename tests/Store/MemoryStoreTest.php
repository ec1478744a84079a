<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Change;
use Larder\Store\MemoryStore;
use Larder\Store\Store;
use Larder\Tests\Contract\StoreContract;
use Larder\Tests\Contract\StoreEpochs;
use Larder\Tests\Contract\StoreOwnChanges;

final class MemoryStoreTest extends StoreContract
{
    use StoreEpochs;
    use StoreOwnChanges;

    protected const FORKS = false;

    private ?MemoryStore $memory = null;

    protected function store(): Store
    {
        return $this->memory ??= new MemoryStore();
    }

    public function testTheBudgetIsKeptByEvictingTheLeastRecentlyUsed(): void
    {
        $store = new MemoryStore(100_000);
        self::put($store, 'used', \str_repeat('u', 1000));
        for ($i = 0; $i < 500; $i++) {
            self::put($store, "k$i", \str_repeat('x', 1000));
            self::assertNotNull(self::record($store, 'used'));
            self::assertLessThanOrEqual(100_000, $store->stats()['bytes']);
        }
        self::assertNull(self::record($store, 'k0'));
        self::assertNotNull(self::record($store, 'k499'));
        self::assertGreaterThan(40, $store->stats()['entries']);
    }

    public function testBytesAreZeroWhenAllIsGone(): void
    {
        $store = new MemoryStore();
        foreach (['a', '1', 'a', '1', 'b'] as $i => $key) {
            self::put($store, $key, \str_repeat('x', $i * 10));
        }
        foreach (['a', '1', 'b'] as $key) {
            self::put($store, $key, null);
        }
        self::assertSame(['engine' => 'memory', 'entries' => 0, 'bytes' => 0, 'budget' => 67_108_864], $store->stats());
    }

    public function testTidyRemovesWhatHasExpired(): void
    {
        $store = new MemoryStore();
        $now = $store->now();
        for ($i = 0; $i < 1000; $i++) {
            self::attempt($store, new Change("k$i", 'v', self::A, expiry: $i % 2 === 0 ? $now - 1 : $now + 60_000));
        }
        self::put($store, 'for ever', 'v');
        for ($i = 0; $i < 40; $i++) {
            $store->tidy();
        }
        self::assertSame(501, $store->stats()['entries']);
        self::assertNotNull(self::record($store, 'k1'));
        self::assertNotNull(self::record($store, 'for ever'));
    }

    public function testMarkersTakeAPartOfTheBudgetAndLeaveAFloor(): void
    {
        $store = new MemoryStore(200_000);
        $flush = self::put($store, 'f:group', 'm', kind: 'm')->position;
        $tag = self::put($store, 't::first', 'm', kind: 'm')->position;
        self::assertSame([], $store->read(['t::never', 'f:never'])->records);
        for ($i = 0; $i < 2_000; $i++) {
            self::put($store, "t::$i", 'm', kind: 'm');
        }
        for ($i = 0; $i < 100; $i++) {
            self::put($store, "e::k$i", \str_repeat('x', 1_000));
        }
        self::assertCount(100, $store->read(\array_map(static fn(int $i): string => "e::k$i", \range(0, 99)))->records);
        $records = $store->read(['t::first', 't::never', 'f:group', 'f:never'])->records;
        self::assertSame(['t::first', 't::never', 'f:group'], \array_keys($records), 'Tags go before flushes.');
        self::assertSame($flush, $records['f:group']->position);
        self::assertGreaterThanOrEqual($tag, $records['t::first']->position);
        self::assertEquals($records['t::first'], $records['t::never'], 'Whoever may have been forgotten counts as just forgotten.');
        for ($i = 0; $i < 2_000; $i++) {
            self::put($store, "f:$i", 'm', kind: 'm');
        }
        self::assertLessThanOrEqual(200_000, $store->stats()['bytes']);
        self::assertGreaterThanOrEqual($flush, $store->read(['f:group'])->records['f:group']->position);
    }

    public function testWhatAFlushCoversLeaves(): void
    {
        $store = new MemoryStore();
        foreach (['e:one:k', 'e:one/below:k', 'e:two:k', 't:one:k', 'f:one/below'] as $key) {
            self::put($store, $key, $key[0] === 'e' ? 'v' : 'm', kind: $key[0] === 'e' ? 's' : 'm');
        }
        self::put($store, 'e:one:intent', Change::HELD, kind: 'i');
        self::put($store, 'f:one', 'm', kind: 'm');
        self::put($store, 'e:one:new', 'v');
        $store->tidy();
        self::assertSame(['e:two:k', 'e:one:intent', 'f:one', 'e:one:new'], \array_keys(\iterator_to_array($store->each())));
    }

    public function testTheLogIsBoundedAndSaysSo(): void
    {
        $store = new MemoryStore();
        $start = $store->since('', 0, '');
        for ($i = 0; $i < 15_000; $i++) {
            self::put($store, "k$i", null);
        }
        self::assertFalse($store->since($start->epoch, $start->end, '')->complete);
        $changes = $store->since($start->epoch, 6_000, '');
        self::assertTrue($changes->complete);
        self::assertCount(9_000, $changes->list);
        $outcome = self::attempt($store, new Change('unknown', 'v', self::B, 10));
        self::assertSame([false, -1], [$outcome->done, $outcome->position], 'What is older than the log counts as a conflict.');
        self::assertTrue(self::attempt($store, new Change('unknown', 'v', self::B, 6_000))->done);
    }

    public function testAValueLargerThanTheBudgetIsRefusedVisibly(): void
    {
        $store = new MemoryStore(10_000);
        self::put($store, 'k', 'old');
        self::put($store, 'l', 'other');
        $outcome = self::attempt($store, new Change('k', \str_repeat('x', 10_001), self::A));
        self::assertSame([false, -1, 'old'], [$outcome->done, $outcome->position, $outcome->record?->body]);
        self::assertCount(2, $store->read(['k', 'l'])->records);
    }

    public function testTwoStoresAreTwo(): void
    {
        $one = new MemoryStore();
        $two = new MemoryStore();
        self::put($one, 'k', 'v');
        self::assertNull(self::record($two, 'k'));
        self::assertNotSame($one->since('', 0, '')->epoch, $two->since('', 0, '')->epoch);
    }
}
