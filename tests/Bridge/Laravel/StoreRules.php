<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge\Laravel;

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\Repository;
use Illuminate\Contracts\Cache\LockProvider;
use Illuminate\Contracts\Cache\LockTimeoutException;
use Illuminate\Contracts\Cache\Store;
use Illuminate\Support\Defer\DeferredCallbackCollection;
use Larder\Codec\NotStorable;
use Larder\Tests\Support\Wait;

/** What Laravel's interfaces and documentation say of a cache store, and what Larder promises beyond. */
abstract class StoreRules extends LaravelCase
{
    public function testItIsWhatLaravelAsksFor(): void
    {
        self::assertInstanceOf(Store::class, $this->store());
        self::assertInstanceOf(LockProvider::class, $this->store());
        self::assertSame('shop-', $this->store()->getPrefix());
        self::assertSame('larder', $this->cache()->getName());
        self::assertTrue($this->cache()->supportsTags());
        self::assertSame($this->app->make('events'), $this->cache()->getEventDispatcher());
        self::assertNull($this->app->make('cache')->build(['driver' => 'larder', 'events' => false])->getEventDispatcher());
    }

    public function testValuesComeOutAsTheyWentIn(): void
    {
        $values = ['a' => 'text', 'b' => '', 'c' => 0, 'd' => -7, 'e' => 1.5, 'f' => true, 'g' => false, 'h' => [], 'i' => ['x' => ['y' => null]], '17' => '0017', "k\0\xff" => "\0\xff", 'o' => new \DateTimeImmutable('2024-02-29')];
        foreach ($values as $key => $value) {
            self::assertTrue($this->cache()->put($key, $value, 60));
        }
        foreach ($values as $key => $value) {
            self::assertEquals($value, $this->elsewhere()->get($key));
            self::assertSame(\gettype($value), \gettype($this->cache()->get($key)));
        }
        self::assertNull($this->cache()->get('missing'));
        self::assertSame('default', $this->cache()->get('missing', 'default'));
        self::assertSame('computed', $this->cache()->get('missing', static fn(): string => 'computed'));
        $this->cache()->put('null', null, 60);
        self::assertNull($this->cache()->get('null'));
        self::assertTrue($this->cache()->missing('null'));
    }

    /** As in Laravel's stores: what is there is gone, and who remembers computes. */
    public function testANullIsNoValue(): void
    {
        foreach ([$this->cache(), $this->cache()->tags('t')] as $cache) {
            $stores = [
                'put' => static fn(): bool => $cache->put('k', null, 60),
                'forever' => static fn(): bool => $cache->forever('k', null),
                'putMany' => static fn(): bool => $cache->putMany(['k' => null, 'other' => 1], 60),
            ];
            foreach ($stores as $how => $store) {
                $reads = [
                    'get' => static fn(): mixed => $cache->get('k', 'computed'),
                    'remember' => static fn(): mixed => $cache->remember('k', 60, static fn(): string => 'computed'),
                    'rememberForever' => static fn(): mixed => $cache->rememberForever('k', static fn(): string => 'computed'),
                    'sear' => static fn(): mixed => $cache->sear('k', static fn(): string => 'computed'),
                    'flexible' => static fn(): mixed => $cache->flexible('k', [30, 60], static fn(): string => 'computed'),
                    'add' => static fn(): mixed => $cache->add('k', 'computed', 60) ? $cache->get('k') : 'not added',
                ];
                foreach ($reads as $name => $read) {
                    $cache->forever('k', 'before');
                    self::assertFalse($cache->add('k', null, 60), $how);
                    self::assertTrue($store(), $how);
                    self::assertTrue($cache->add('k', null, 60), $how);
                    self::assertNull($cache->get('k'), $how);
                    self::assertSame('computed', $read(), "$name after $how");
                }
            }
            self::assertSame(1, $cache->get('other'));
        }
    }

    /** The empty one is what a missing value of the configuration becomes. */
    public function testAKeyMayBeEmptyOrOfAnyLength(): void
    {
        $long = \str_repeat('k', 100_000);
        foreach ([$this->cache(), $this->cache()->tags('t')] as $cache) {
            foreach (['', $long, "{$long}l"] as $i => $key) {
                self::assertNull($cache->get($key));
                self::assertTrue($cache->put($key, "put $i", 60));
                self::assertSame("put $i", $cache->get($key));
                self::assertFalse($cache->add($key, 'added', 60));
                self::assertSame("put $i", $cache->remember($key, 60, static fn(): string => 'computed'));
                self::assertTrue($cache->forget($key));
                self::assertSame('computed', $cache->remember($key, 60, static fn(): string => 'computed'));
                self::assertTrue($cache->putMany([$key => 7, 'short' => 1], 60));
                self::assertSame(8, $cache->increment($key));
                self::assertSame([$key => 8, 'short' => 1, 'missing' => null], $cache->many([$key, 'short', 'missing']));
            }
        }
        self::assertSame([8, 8], [$this->cache()->get($long), $this->cache()->get("{$long}l")]);
    }

    public function testFractionsCount(): void
    {
        foreach ([$this->cache(), $this->cache()->tags('t')] as $cache) {
            self::assertSame(1.5, $cache->increment('made', 1.5));
            $cache->forever('n', 10);
            self::assertSame(11.5, $cache->increment('n', 1.5));
            self::assertSame(12.5, $cache->increment('n'), 'nor does a later step lose the fraction');
            self::assertSame(12.25, $cache->decrement('n', '0.25'));
            $cache->forever('whole', 10);
            self::assertSame(12, $cache->increment('whole', 2.0));
            self::assertFalse($cache->increment('whole', '99999999999999999999'));
            self::assertFalse($cache->decrement('whole', 1e30));
            self::assertSame(12, $cache->get('whole'));
            $cache->forever('text', 'seven');
            self::assertFalse($cache->increment('text', 0.5));
        }
    }

    /** Laravel's setting, which Laravel 13 has false in a new application. */
    public function testOnlyObjectsOfAllowedClassesAreStored(): void
    {
        $date = new \DateTimeImmutable('2024-02-29');
        $list = new \ArrayObject([1]);
        $this->cache()->forever('before', $list);
        self::assertEquals($list, $this->cache()->get('before'), 'without the setting all are');
        $this->app = $this->application(['cache.serializable_classes' => [\DateTimeImmutable::class]]);
        $this->app->instance(DeferredCallbackCollection::class, $later = new DeferredCallbackCollection());
        $told = [];
        // Laravel 13 has it.
        $tells = \method_exists(Repository::class, 'handleUnserializableClassUsing');
        $tells && Repository::handleUnserializableClassUsing(static function (string $key, string $class) use (&$told): void {
            $told[] = "$key $class";
        });
        self::assertNull($this->cache()->get('before'), 'no object is made of it');
        foreach ([$this->cache(), $this->cache()->tags('t')] as $cache) {
            $told = [];
            self::assertTrue($cache->put('date', ['at' => $date], 60));
            self::assertEquals(['at' => $date], $cache->get('date'));
            $cache->put('put', 'old', 60);
            $cache->forever('forever', 'old');
            self::assertFalse($cache->put('put', [$list], 60));
            self::assertFalse($cache->forever('forever', $list));
            self::assertFalse($cache->add('add', $list, 60));
            self::assertFalse($cache->putMany(['put' => $list, 'text' => 'text'], 60));
            self::assertSame(['put' => null, 'forever' => null, 'add' => null, 'text' => 'text'], $cache->many(['put', 'forever', 'add', 'text']));
            foreach ([60, null, static fn(): int => 60] as $ttl) {
                self::assertSame($list, $cache->remember('remember', $ttl, static fn(): \ArrayObject => $list));
                self::assertNull($cache->get('remember'));
            }
            self::assertSame($list, $cache->flexible('flexible', [30, 60], static fn(): \ArrayObject => $list));
            self::assertNull($cache->get('flexible'));
            $cache->flexible('stale', [1, 600], static fn(): string => 'old');
            Wait::until(static fn(): bool => $cache->flexible('stale', [1, 600], static fn(): \ArrayObject => $list) === 'old' && \count($later) === 1, 'the end of a second');
            $later->invoke();
            self::assertNull($cache->get('stale'));
            $names = ['put', 'forever', 'add', 'put', 'remember', 'remember', 'remember', 'flexible', 'stale'];
            self::assertSame($tells ? \array_map(static fn(string $name): string => "$name ArrayObject", $names) : [], $told);
            try {
                $cache->put('closure', static fn(): int => 1, 60);
                self::fail('as in Laravel, this is a mistake');
            } catch (NotStorable) {
            }
            try {
                $cache->remember('closure', 60, static fn(): \Closure => static fn(): int => 1);
                self::fail();
            } catch (NotStorable) {
            }
        }
        $tells && Repository::handleUnserializableClassUsing(null);
        $this->app = $this->application(['cache.serializable_classes' => false]);
        self::assertFalse($this->cache()->put('date', $date, 60));
        self::assertTrue($this->cache()->put('array', ['no' => 'objects'], 60));
    }

    public function testManyAtOnce(): void
    {
        self::assertTrue($this->cache()->putMany(['a' => 1, 'b' => 2, '3' => 'three'], 60));
        self::assertSame(['b' => 2, 'missing' => null, 'a' => 1, 3 => 'three'], $this->elsewhere()->many(['b', 'missing', 'a', '3']));
        self::assertSame(['missing' => 'default', 'a' => 1], $this->cache()->many(['missing' => 'default', 'a' => null]));
        self::assertSame([], $this->store()->many([]));
        self::assertTrue($this->cache()->putMany(['c' => 4, 'd' => 5]));
        self::assertSame([4, 5], \array_values($this->elsewhere()->many(['c', 'd'])));
    }

    public function testTimesToLive(): void
    {
        $this->cache()->put('short', 1, 1);
        $this->cache()->put('date', 1, new \DateTimeImmutable('+1 hour'));
        $this->cache()->forever('ever', 1);
        $this->cache()->put('gone', 1, 60);
        $this->cache()->put('gone', 2, 0);
        self::assertNull($this->cache()->get('gone'));
        self::assertSame([1, 1, 1], \array_values($this->elsewhere()->many(['short', 'date', 'ever'])));
        Wait::until(fn(): bool => $this->cache()->get('short') === null, 'the end of a second');
        self::assertSame([null, 1, 1], \array_values($this->elsewhere()->many(['short', 'date', 'ever'])));
        $this->store()->put('least', 1, 0);
        self::assertSame(1, $this->cache()->get('least'), 'the store itself gives a second');
        Wait::until(fn(): bool => $this->cache()->get('least') === null, 'the end of that second');
    }

    public function testTouchChangesTheTimeToLiveAlone(): void
    {
        $this->cache()->tags('t')->put('k', 'tagged', 1);
        $this->cache()->put('k', ['v'], 1);
        $this->cache()->forever('ever', 'v');
        $item = $this->cache()->tags('t')->taggedItemKey('k');
        self::assertTrue($this->store()->touch('k', 60));
        self::assertTrue($this->store()->touch($item, 60));
        self::assertTrue($this->store()->touch('ever', 1));
        self::assertFalse($this->store()->touch('missing', 60));
        Wait::until(fn(): bool => $this->cache()->get('ever') === null, 'the end of a second');
        self::assertSame(['v'], $this->cache()->get('k'));
        self::assertSame('tagged', $this->elsewhere()->tags('t')->get('k'));
        $this->cache()->tags('t')->flush();
        self::assertNull($this->elsewhere()->tags('t')->get('k'), 'its tag is still there');
    }

    public function testAddStoresWhereNothingIs(): void
    {
        self::assertTrue($this->cache()->add('k', 'first', 60));
        self::assertFalse($this->elsewhere()->add('k', 'second', 60));
        self::assertSame('first', $this->cache()->get('k'));
        self::assertFalse($this->cache()->add('other', 1, 0));
        self::assertTrue($this->cache()->add('ever', 1));
        self::assertFalse($this->cache()->add('ever', 2));
    }

    public function testCounters(): void
    {
        self::assertSame(1, $this->cache()->increment('n'));
        self::assertSame(4, $this->elsewhere()->increment('n', 3));
        self::assertSame(2, $this->cache()->decrement('n', 2));
        self::assertSame(-1, $this->cache()->decrement('other'));
        $this->cache()->put('text', '5', 60);
        self::assertSame(6, $this->cache()->increment('text'));
        $this->cache()->put('word', 'five', 60);
        self::assertFalse($this->cache()->increment('word'));
        self::assertSame('five', $this->cache()->get('word'));
        $this->cache()->put('short', 1, 1);
        self::assertSame(2, $this->cache()->increment('short'));
        Wait::until(fn(): bool => $this->cache()->get('short') === null, 'the end of a second, which increment() does not move');
    }

    public function testForgetAndFlush(): void
    {
        $this->cache()->forever('a', 1);
        $this->cache()->forever('b', 2);
        self::assertTrue($this->cache()->forget('a'));
        self::assertNull($this->elsewhere()->get('a'));
        self::assertSame(2, $this->cache()->pull('b'));
        self::assertNull($this->cache()->get('b'));
        $other = $this->app->make('cache')->build(['driver' => 'larder', 'dsn' => $this->app->make('config')->get('larder.dsn'), 'prefix' => 'blog-']);
        $other->forever('a', 'theirs');
        $this->cache()->forever('a', 'ours');
        self::assertSame('theirs', $other->get('a'));
        $this->cache()->tags('t')->forever('a', 'tagged');
        self::assertTrue($this->cache()->clear());
        self::assertNull($this->elsewhere()->get('a'));
        self::assertNull($this->elsewhere()->tags('t')->get('a'));
        self::assertSame('theirs', $other->get('a'), 'another application\'s');
    }

    public function testATaggedItemIsFoundUnderItsTagsOnly(): void
    {
        $this->cache()->tags(['people', 'authors'])->put('Ada', 1, 60);
        self::assertSame(1, $this->elsewhere()->tags(['people', 'authors'])->get('Ada'));
        self::assertSame(1, $this->elsewhere()->tags('people', 'authors')->get('Ada'));
        self::assertNull($this->cache()->get('Ada'));
        foreach ([['people'], ['authors'], ['authors', 'people'], ['people', 'authors', 'x'], ['peopleauthors'], ['people|authors'], ['6:people']] as $tags) {
            self::assertNull($this->cache()->tags($tags)->get('Ada'), \implode(' ', $tags));
        }
    }

    public function testAFlushOfATagLeavesNothingThatHadIt(): void
    {
        $both = $this->cache()->tags(['people', 'authors']);
        $both->put('put', 1, 60);
        $both->forever('forever', 1);
        $both->add('add', 1, 60);
        $both->putMany(['many' => 1, 'more' => 1], 60);
        $both->increment('up');
        $both->decrement('down');
        $both->remember('remember', 60, static fn(): int => 1);
        $both->rememberForever('sear', static fn(): int => 1);
        $both->flexible('flexible', [30, 60], static fn(): int => 1);
        $keys = ['put', 'forever', 'add', 'many', 'more', 'up', 'down', 'remember', 'sear', 'flexible'];
        $this->cache()->tags('people')->put('only', 1, 60);
        $this->cache()->put('put', 'untagged', 60);
        self::assertSame([1, 1, 1, 1, 1, 1, -1, 1, 1, 1], \array_values($this->elsewhere()->tags(['people', 'authors'])->many($keys)));

        self::assertTrue($this->cache()->tags('authors')->flush());
        self::assertSame(\array_fill_keys($keys, null), $this->cache()->tags(['people', 'authors'])->many($keys));
        self::assertSame(\array_fill_keys($keys, null), $this->elsewhere()->tags(['people', 'authors'])->many($keys));
        self::assertSame(1, $this->elsewhere()->tags('people')->get('only'));
        self::assertSame('untagged', $this->elsewhere()->get('put'));

        self::assertSame(1, $both->increment('up'), 'it begins anew');
        self::assertSame(2, $both->increment('up'));
        $this->cache()->tags('people')->flush();
        self::assertNull($this->elsewhere()->tags(['people', 'authors'])->get('up'), 'and has its tags again');
    }

    /** The same calls over Laravel's array store and over Larder, and the events that each fires. */
    public function testItFiresLaravelsEvents(): void
    {
        $fired = [];
        foreach (['array', 'larder'] as $name) {
            $seen = [];
            $this->app->make('events')->listen('Illuminate\Cache\Events\*', static function (string $event, array $data) use (&$seen): void {
                \assert(\is_object($data[0]));
                $seen[] = \basename(\strtr($event, '\\', '/')) . ' ' . \json_encode(\array_diff_key(\get_object_vars($data[0]), ['storeName' => 0]));
            });
            $cache = $this->cache($name);
            foreach ([$cache, $cache->tags(['x', 'y'])] as $each) {
                $each->get('a');
                $each->put('a', 1, 60);
                $each->get('a');
                $each->many(['a', 'b']);
                $each->putMany(['a' => 1, 'b' => 2], 60);
                $each->forever('c', 3);
                $each->remember('r', 60, static fn(): string => 'r');
                $each->remember('r', 60, static fn(): string => 'not computed');
                $each->remember('for ever', null, static fn(): string => 'r');
                $each->rememberForever('s', static fn(): string => 's');
                $each->sear('s', static fn(): string => 'not computed');
                $each->remember('closure', static fn(string $value): int => \strlen($value), static fn(): string => 'four');
                $each->pull('c');
                $each->forget('a');
                $each->put('b', 0, 0);
            }
            $cache->tags(['x', 'y'])->flush();
            $cache->clear();
            $this->app->make('events')->forget('Illuminate\Cache\Events\*');
            $fired[$name] = $seen;
        }
        self::assertGreaterThan(80, \count($fired['array']));
        self::assertSame(\implode("\n", $fired['array']), \implode("\n", $fired['larder']));
    }

    public function testRememberComputesOnceAndKeepsWhatLaravelKeeps(): void
    {
        $cache = $this->cache();
        $calls = 0;
        $compute = static function () use (&$calls): int {
            return ++$calls;
        };
        self::assertSame(1, $cache->remember('k', 60, $compute));
        self::assertSame(1, $cache->remember('k', 60, $compute));
        self::assertSame(1, $this->elsewhere()->rememberForever('k', $compute));
        self::assertSame(2, $cache->remember('none', 0, $compute));
        self::assertSame(3, $cache->remember('none', 0, $compute), 'what lives for no second is not kept');
        self::assertNull($cache->remember('null', 60, static fn(): mixed => null));
        self::assertSame(4, $cache->remember('null', 60, $compute), 'nor is null');
        try {
            $cache->remember('throws', 60, static fn(): never => throw new \LogicException('no'));
            self::fail();
        } catch (\LogicException) {
            self::assertSame(5, $cache->remember('throws', 60, $compute));
        }
        $nested = $cache->remember('outer', 60, static fn(): array => [$cache->remember('inner', 60, $compute), $cache->tags('t')->remember('inner', 60, $compute)]);
        self::assertSame([6, 7], $nested);
        self::assertSame([6, 7], $this->elsewhere()->get('outer'));
        $cache->remember('closure', static fn(int $value): int => $value === 8 ? 1 : 60, $compute);
        self::assertSame(8, $this->elsewhere()->get('closure'));
        Wait::until(fn(): bool => $cache->get('closure') === null, 'the second that the closure gave', 10.0);
        self::assertSame([9, false], $cache->rememberWithWarmth('warm', 60, $compute));
        self::assertSame([9, true], $cache->rememberWithWarmth('warm', 60, $compute));
    }

    public function testAnEnumOfIntegersIsAKey(): void
    {
        foreach ([$this->cache(), $this->cache()->tags('a')] as $cache) {
            self::assertSame('computed', $cache->remember(Shelf::Upper, 60, static fn(): string => 'computed'));
            self::assertSame('computed', $cache->get(Shelf::Upper));
            self::assertSame('computed', $cache->get('7'));
            self::assertTrue($cache->forget(Shelf::Upper));
            self::assertSame('flexible', $cache->flexible(Shelf::Upper, [30, 60], static fn(): string => 'flexible'));
        }
    }

    public function testACounterStopsAtSixtyFourBits(): void
    {
        foreach ([$this->cache(), $this->cache()->tags('a')] as $cache) {
            $cache->forever('n', \PHP_INT_MAX);
            self::assertFalse($cache->increment('n'));
            self::assertSame(\PHP_INT_MAX, $cache->get('n'));
            self::assertSame(\PHP_INT_MAX - 1, $cache->decrement('n'));
        }
    }

    public function testARememberedValueDoesNotBuryANewerOne(): void
    {
        $other = $this->elsewhere();
        self::assertSame('old', $this->cache()->remember('k', 60, static function () use ($other): string {
            $other->put('k', 'new', 60);

            return 'old';
        }));
        self::assertSame('new', $this->elsewhere()->get('k'));
        self::assertSame('old', $this->cache()->remember('gone', 60, static function () use ($other): string {
            $other->forget('gone');

            return 'old';
        }));
        self::assertNull($this->elsewhere()->get('gone'));
        $this->cache()->remember('life', static fn(): int => 60, static function () use ($other): string {
            $other->forget('life');

            return 'old';
        });
        self::assertNull($this->elsewhere()->get('life'));
    }

    public function testFlexibleRenewsAfterTheResponse(): void
    {
        $calls = 0;
        $compute = static function () use (&$calls): string {
            return 'value ' . ++$calls;
        };
        $later = $this->app->make(DeferredCallbackCollection::class);
        $this->app->instance(DeferredCallbackCollection::class, $later);
        foreach ([$this->cache(), $this->cache()->tags('t')] as $cache) {
            $calls = 0;
            self::assertSame('value 1', $cache->flexible('f', [1, 600], $compute));
            self::assertSame('value 1', $cache->flexible('f', [1, 600], $compute));
            self::assertCount(0, $later);
            Wait::until(static fn(): bool => $cache->flexible('f', [1, 600], $compute) === 'value 1' && \count($later) === 1, 'the end of a second');
            self::assertSame('value 1', $cache->get('f'), 'nobody waits');
            $later->invoke();
            self::assertSame(2, $calls);
            self::assertSame('value 2', $cache->flexible('f', [600, 1200], $compute));
            self::assertSame('value 2', $cache->get('f'));
            self::assertCount(0, $later);
        }
    }

    public function testWhatIsNoClosureIsTheValueOfFlexible(): void
    {
        self::assertSame('strtolower', $this->cache()->flexible('k', [30, 60], 'strtolower'));
        self::assertSame('strtolower', $this->elsewhere()->get('k'));
    }

    public function testAStoreMayGetAnotherPrefix(): void
    {
        $this->cache()->forever('k', 'ours');
        self::assertTrue($this->cache()->lock('l', 60)->get());
        $this->store()->setPrefix('tenant-');
        self::assertSame('tenant-', $this->store()->getPrefix());
        self::assertNull($this->cache()->get('k'));
        self::assertTrue($this->cache()->lock('l', 60)->get());
        $this->cache()->forever('k', 'theirs');
        $this->cache()->tags('t')->forever('k', 'tagged');
        $this->store()->setPrefix('shop-');
        self::assertSame('ours', $this->cache()->get('k'));
        self::assertNull($this->cache()->tags('t')->get('k'));
        $this->store()->setPrefix('');
        self::assertNull($this->cache()->get('k'));
        $this->store()->setPrefix('tenant-');
        self::assertSame('theirs', $this->cache()->get('k'));
        self::assertSame('tagged', $this->cache()->tags('t')->get('k'));
    }

    public function testAMemoizedStore(): void
    {
        $memo = $this->app->make('cache')->memo();
        $memo->put('k', 1, 60);
        self::assertSame(1, $memo->get('k'));
        self::assertTrue($memo->lock('l', 10)->get());
        self::assertFalse($this->cache()->lock('l', 10)->get());
    }

    public function testLocks(): void
    {
        $lock = $this->cache()->lock('import', 60);
        self::assertFalse($lock->isLocked());
        self::assertTrue($lock->get());
        self::assertTrue($lock->isLocked());
        self::assertTrue($lock->isOwnedByCurrentProcess());
        $other = $this->elsewhere()->lock('import', 60);
        self::assertFalse($other->get());
        self::assertFalse($other->release());
        self::assertFalse($other->refresh());
        self::assertFalse($other->isOwnedByCurrentProcess());
        self::assertTrue($other->isOwnedBy($lock->owner()));
        self::assertTrue($lock->refresh());
        self::assertTrue($lock->refresh(30));
        self::assertTrue($this->elsewhere()->restoreLock('import', $lock->owner())->release());
        self::assertFalse($lock->release());
        self::assertFalse($lock->isLocked());

        self::assertSame('done', $other->get(static fn(): string => 'done'));
        self::assertFalse($other->isLocked());
        try {
            $other->get(static fn(): never => throw new \LogicException());
        } catch (\LogicException) {
            self::assertFalse($other->isLocked());
        }
    }

    public function testALockForcedOpen(): void
    {
        self::assertTrue($this->cache()->lock('k', 0, 'me & you 5')->get());
        $other = $this->elsewhere()->lock('k', 0, 'me');
        self::assertFalse($other->release(), 'an owner whose name begins like another\'s');
        self::assertTrue($other->isOwnedBy('me & you 5'));
        $other->forceRelease();
        self::assertFalse($other->isLocked());
        $other->forceRelease();
        self::assertTrue($other->get());
    }

    public function testWhoWaitsForALock(): void
    {
        $lock = $this->cache()->lock('k', 1);
        self::assertTrue($lock->get());
        $other = $this->elsewhere()->lock('k', 60)->betweenBlockedAttemptsSleepFor(10);
        self::assertTrue($other->block(30), 'it ends by itself');
        self::assertFalse($lock->release());
        $this->expectException(LockTimeoutException::class);
        $lock->betweenBlockedAttemptsSleepFor(10)->block(0);
    }

    public function testLocksOfAnyName(): void
    {
        $names = ['', '0', "\0", \str_repeat('n', 250), \str_repeat('n', 251), 'a b', '{x}', '*'];
        foreach ($names as $name) {
            self::assertTrue($this->cache()->lock($name, 60)->get(), $name);
        }
        foreach ($names as $name) {
            self::assertFalse($this->elsewhere()->lock($name, 60)->get(), $name);
        }
    }

    public function testFlushLocksReleasesThisApplicationsAlone(): void
    {
        $config = ['driver' => 'larder', 'dsn' => $this->app->make('config')->get('larder.dsn')];
        $other = $this->app->make('cache')->build(['prefix' => 'sh*-'] + $config);
        self::assertTrue($other->lock('theirs', 60)->get());
        self::assertTrue($this->cache()->lock('ours', 60)->get());
        self::assertTrue($this->cache()->lock('ours too', 60)->get());
        self::assertTrue($this->store()->hasSeparateLockStore());
        $this->cache()->clear();
        self::assertFalse($this->cache()->lock('ours', 60)->get(), 'clear() leaves locks');
        $other->getStore()->flushLocks();
        self::assertFalse($this->cache()->lock('ours', 60)->get());
        self::assertTrue($other->lock('theirs', 60)->get());
        self::assertTrue($this->store()->flushLocks());
        self::assertTrue($this->cache()->lock('ours', 60)->get());
        self::assertTrue($this->cache()->lock('ours too', 60)->get());
        self::assertFalse($other->lock('theirs', 60)->get());
    }

    public function testTheRateLimiter(): void
    {
        $limiter = new RateLimiter($this->cache());
        for ($i = 1; $i <= 3; ++$i) {
            self::assertFalse($limiter->tooManyAttempts('k', 3));
            self::assertSame($i, $limiter->hit('k', 60));
        }
        self::assertTrue((new RateLimiter($this->elsewhere()))->tooManyAttempts('k', 3));
        self::assertSame(0, $limiter->remaining('k', 3));
        self::assertSame(5, $limiter->increment('k', 60, 2));
        self::assertGreaterThan(50, $limiter->availableIn('k'));
        $limiter->clear('k');
        self::assertFalse($limiter->tooManyAttempts('k', 3));
        self::assertSame(1, $limiter->hit('short', 1));
        Wait::until(static fn(): bool => !$limiter->tooManyAttempts('short', 1), 'the end of a second');
        self::assertSame(1, $limiter->hit('short', 60));
    }

    public function testAFunnel(): void
    {
        $inner = $this->cache()->funnel('f')->limit(2)->block(0);
        $results = $this->cache()->funnel('f')->limit(2)->then(fn(): array => [
            $inner->then(fn(): string => $inner->then(static fn(): string => 'three', static fn(): string => 'full')),
            $inner->then(static fn(): string => 'two'),
        ]);
        self::assertSame(['full', 'two'], $results);
    }
}
