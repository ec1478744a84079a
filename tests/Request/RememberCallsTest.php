<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Store\Change;
use Larder\Tests\Support\HookedStore;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

/** How often remember() asks the truth tier: over a server each call is a round trip. */
final class RememberCallsTest extends TestCase
{
    // Seen to fail: the key was read again after its lease was taken, four calls in all.
    public function testAMissIsReadOnceLeasedOnceAndStoredOnce(): void
    {
        $directory = new TemporaryDirectory();
        $cache = Cache::open(['dsn' => "sqlite://$directory->path/cache", 'near' => 'none']);
        $cache->get('first');
        $before = $this->calls($cache);
        self::assertSame('computed', $cache->remember('k', static fn(): string => 'computed'));
        self::assertSame(3, $this->calls($cache) - $before);
    }

    /** Its lease is looked at where the value is missing only. */
    public function testAHitReadsNothingButItsRecord(): void
    {
        $store = new HookedStore();
        $store->cache()->set('k', 'stored', 3600);
        $cache = $store->cache();
        $cache->get('first');
        $asked = [];
        $store->before = static function (string $call, array $keys) use (&$asked): void {
            $asked[] = [$call, $keys];
        };
        self::assertSame('stored', $cache->remember('k', static fn(): string => 'computed'));
        self::assertSame([['read', ['e::k']]], $asked);
    }

    // Seen to fail: the request itself had both still.
    public function testWhatHasExpiredLongAgoIsNotThere(): void
    {
        foreach ([-1, \PHP_INT_MIN] as $ttl) {
            $cache = (new HookedStore())->cache();
            self::assertSame('computed', $cache->remember('k', static fn(): string => 'computed', $ttl));
            self::assertSame(1, $cache->increment('n', 1, 0, $ttl));
            self::assertSame([false, false], [$cache->has('k'), $cache->has('n')]);
        }
    }

    // Seen to fail without the guard on the key: it was computed twice.
    public function testWhatSomebodyStoredBetweenTheReadAndTheLeaseIsNotComputedAgain(): void
    {
        $store = new HookedStore();
        $late = $store->cache();
        $store->before = static function (string $call, array $changes) use ($store): void {
            if ($call === 'write' && $changes[0] instanceof Change && $changes[0]->key === 'l::k') {
                $store->before = null;
                self::assertSame('by another', $store->cache()->remember('k', static fn(): string => 'by another'));
            }
        };
        self::assertSame('by another', $late->remember('k', static fn(): string => 'computed again'));
        self::assertFalse(isset($store->read(['l::k'])->records['l::k']), 'the lease is free');
    }

    // Seen to fail: the value was computed, and not stored, since the marker was newer than what had been read.
    public function testWhatIsComputedWhileAnotherMakesTheFlushMarkerIsStored(): void
    {
        $store = new HookedStore();
        $store->forgets = true;
        $late = $store->cache();
        $store->after = static function (string $call) use ($store): void {
            if ($call === 'read') {
                $store->after = null;
                $store->cache()->get('another key');
            }
        };
        self::assertSame('computed', $late->remember('k', static fn(): string => 'computed'));
        self::assertSame('computed', $store->cache()->get('k'));
    }

    // Seen to fail: remember() made all that computing and storing need, which opens the database.
    public function testAValueInNearMemoryIsReturnedWithoutOpeningTheDatabase(): void
    {
        $directory = new TemporaryDirectory();
        $open = static fn(): Cache => Cache::open(['dsn' => "sqlite://$directory->path/cache", 'near' => 'apcu']);
        $isOpen = static fn(): bool => \in_array("$directory->path/cache/larder.db", \array_map(\realpath(...), \glob('/proc/self/fd/*') ?: []), true);
        $cache = $open();
        self::assertSame('computed', $cache->remember('k', static fn(): string => 'computed'));
        self::assertTrue($isOpen());
        unset($cache);
        // Another one follows what the first has changed.
        self::assertSame('computed', $open()->get('k'));
        \gc_collect_cycles();
        self::assertFalse($isOpen());

        $cache = $open();
        self::assertSame('computed', $cache->remember('k', static fn(): string => 'computed again'));
        $cache->writeFills();
        self::assertFalse($isOpen());
    }

    private function calls(Cache $cache): int
    {
        return (int) ($cache->stats(false)['disk']['calls'] ?? 0);
    }
}
