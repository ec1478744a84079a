<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

use Larder\Cache;
use Larder\Psr\CacheItem;
use Larder\Psr\CacheItemPool;
use Larder\Psr\SimpleCache;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\DataProviderExternal;
use PHPUnit\Framework\Attributes\Test;
use Psr\Cache\CacheItemInterface;
use Psr\Cache\CacheItemPoolInterface;
use Psr\Cache\InvalidArgumentException;

/** The rules of PSR-6 3.0, one a method, with the text's heading and wording. */
abstract class CacheItemPoolRules extends PsrTestCase
{
    protected function pool(?Cache $cache = null, bool $databaseBehind = false): CacheItemPool
    {
        return new CacheItemPool($cache ?? $this->cache(), $databaseBehind);
    }

    /** Definitions: "MUST provide classes which implement the CacheItemPoolInterface and CacheItemInterface interfaces" */
    #[Test]
    public function itImplementsTheInterfaces(): void
    {
        $pool = $this->pool();
        self::assertInstanceOf(CacheItemPoolInterface::class, $pool);
        self::assertInstanceOf(CacheItemInterface::class, $pool->getItem('key'));
    }

    // Definitions: Key

    /** "MUST support keys consisting of the characters A-Z, a-z, 0-9, _, and . in any order ... up to 64 characters" */
    #[Test]
    #[DataProviderExternal(Samples::class, 'legalKeys')]
    public function legalKeysAreSupported(string $key): void
    {
        $pool = $this->pool();
        self::assertFalse($pool->hasItem($key));
        self::assertFalse($pool->getItem($key)->isHit());
        self::assertTrue($pool->save($pool->getItem($key)->set('value')));
        self::assertTrue($pool->hasItem($key));
        self::assertSame('value', $this->pool()->getItem($key)->get());
        self::assertTrue($pool->saveDeferred($pool->getItem($key)->set('deferred')));
        self::assertSame('deferred', $pool->getItem($key)->get());
        self::assertTrue($pool->commit());
        self::assertSame('deferred', $this->pool()->getItem($key)->get());
        self::assertTrue($pool->deleteItem($key));
        self::assertFalse($pool->hasItem($key));
    }

    /** "MUST be able to return the original unmodified key string" */
    #[Test]
    #[DataProviderExternal(Samples::class, 'legalKeys')]
    public function keysComeBackUnmodifiedAndAsStrings(string $key): void
    {
        $pool = $this->pool();
        self::assertSame($key, $pool->getItem($key)->getKey());
        $pool->save($pool->getItem($key)->set('value'));
        $items = $pool->getItems([$key, 'other']);
        self::assertSame([$key, 'other'], self::keysOf($items));
        foreach ($items as $found => $item) {
            self::assertSame($found, $item->getKey());
            self::assertSame($found === $key ? 'value' : null, $item->get());
        }
    }

    /** "The following characters are reserved ... and MUST NOT be supported: {}()/\@:", "at least one character" */
    #[Test]
    #[DataProvider('callsWithAKey')]
    public function illegalKeysAreRefused(\Closure $call): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('key1')->set('untouched'));
        foreach (Samples::illegalKeys() as $name => $key) {
            try {
                $call($pool, $key);
                self::fail("$name was accepted.");
            } catch (InvalidArgumentException $e) {
                self::assertStringContainsString('key', $e->getMessage());
                self::assertInstanceOf(\InvalidArgumentException::class, $e);
            }
        }
        self::assertSame('untouched', $pool->getItem('key1')->get());
    }

    /** @return iterable<string, array{\Closure(CacheItemPool, mixed): mixed}> */
    public static function callsWithAKey(): iterable
    {
        yield 'getItem' => [static fn(CacheItemPool $pool, mixed $key): mixed => $pool->getItem($key)];
        yield 'getItems' => [static fn(CacheItemPool $pool, mixed $key): mixed => $pool->getItems(['key1', $key, 'key2'])];
        yield 'hasItem' => [static fn(CacheItemPool $pool, mixed $key): mixed => $pool->hasItem($key)];
        yield 'deleteItem' => [static fn(CacheItemPool $pool, mixed $key): mixed => $pool->deleteItem($key)];
        yield 'deleteItems' => [static fn(CacheItemPool $pool, mixed $key): mixed => $pool->deleteItems(['key1', $key, 'key2'])];
    }

    // Definitions: Hit, Miss

    /** getItem(): "must always return a CacheItemInterface object, even in case of a cache miss" */
    #[Test]
    public function aMissIsAnItemToo(): void
    {
        $item = $this->pool()->getItem('key');
        self::assertSame('key', $item->getKey());
        self::assertFalse($item->isHit());
        self::assertNull($item->get());
    }

    /** "Null is a legitimate cached value, so the isHit() method SHOULD be used to differentiate" */
    #[Test]
    public function aStoredNullIsAHit(): void
    {
        $pool = $this->pool();
        self::assertTrue($pool->save($pool->getItem('key')->set(null)));
        foreach ([$pool, $this->pool()] as $reader) {
            self::assertTrue($reader->hasItem('key'));
            self::assertTrue($reader->getItem('key')->isHit());
            self::assertNull($reader->getItem('key')->get());
            self::assertSame([true, false], \array_map(
                static fn(CacheItem $item): bool => $item->isHit(),
                \array_values(self::pairs($reader->getItems(['key', 'other']))),
            ));
        }
    }

    /** get(): "If isHit() returns false, this method MUST return null"; so after set(), whose value get() gives, it is a hit */
    #[Test]
    public function anItemThatWasSetIsAHit(): void
    {
        $pool = $this->pool();
        $item = $pool->getItem('key')->set('value');
        self::assertSame('value', $item->get());
        self::assertTrue($item->isHit());
        self::assertFalse($pool->hasItem('key'), 'Nothing was saved.');
        self::assertFalse($pool->getItem('key')->isHit());
    }

    /** isHit(): "MUST NOT have a race condition between calling isHit() and calling get()" */
    #[Test]
    public function anItemIsASnapshot(): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('key')->set('value'));
        $hit = $pool->getItem('key');
        $miss = $pool->getItem('other');
        $pool->clear();
        $pool->save($pool->getItem('other')->set('late'));
        self::assertTrue($hit->isHit());
        self::assertSame('value', $hit->get());
        self::assertFalse($miss->isHit());
        self::assertNull($miss->get());
    }

    /** set(), expiresAt(), expiresAfter(): "@return static The invoked object." */
    #[Test]
    public function settersReturnTheItem(): void
    {
        $item = $this->pool()->getItem('key');
        self::assertSame($item, $item->set('value'));
        self::assertSame($item, $item->expiresAfter(2));
        self::assertSame($item, $item->expiresAfter(null));
        self::assertSame($item, $item->expiresAt(new \DateTime('+2 hours')));
        self::assertSame($item, $item->expiresAt(null));
    }

    // Definitions: TTL, Expiration

    /** "MUST interpret that as a request to cache the item forever" */
    #[Test]
    #[DataProvider('endless')]
    public function withoutAnExpirationItemsStay(\Closure $expire): void
    {
        $pool = $this->pool();
        $item = $pool->getItem('key')->set('value')->expiresAfter(-5);
        $expire($item);
        self::assertTrue($pool->save($item));
        self::assertTrue($pool->getItem('key')->isHit());
        self::assertSame('value', $this->pool()->getItem('key')->get());
    }

    /** @return iterable<string, array{\Closure(CacheItem): mixed}> */
    public static function endless(): iterable
    {
        yield 'expiresAfter(null)' => [static fn(CacheItem $item): mixed => $item->expiresAfter(null)];
        yield 'expiresAt(null)' => [static fn(CacheItem $item): mixed => $item->expiresAt(null)];
        yield 'in two hours' => [static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTime('+2 hours'))];
        yield 'in a year' => [static fn(CacheItem $item): mixed => $item->expiresAfter(366 * 86400)];
        yield 'in a month' => [static fn(CacheItem $item): mixed => $item->expiresAfter(new \DateInterval('P1M'))];
        yield 'in a millennium' => [static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTimeImmutable('+1000 years'))];
        yield 'as late as can be' => [static fn(CacheItem $item): mixed => $item->expiresAfter(\PHP_INT_MAX)];
        yield 'as late as a date can be' => [static fn(CacheItem $item): mixed => $item->expiresAt((new \DateTime())->setTimestamp(\PHP_INT_MAX))];
    }

    /** "An expired value MUST always be considered a cache miss." */
    #[Test]
    public function itemsExpire(): void
    {
        $pool = $this->pool();
        $expirations = [
            'seconds' => static fn(CacheItem $item): mixed => $item->expiresAfter(1),
            'interval' => static fn(CacheItem $item): mixed => $item->expiresAfter(new \DateInterval('PT1S')),
            'time' => static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTimeImmutable('+1 second')),
            'long' => static fn(CacheItem $item): mixed => $item->expiresAfter(3600),
        ];
        foreach ($expirations as $key => $expire) {
            $item = $pool->getItem($key)->set('value');
            $expire($item);
            self::assertTrue($pool->save($item));
            $item = $pool->getItem("deferred.$key")->set('value');
            $expire($item);
            self::assertTrue($pool->saveDeferred($item));
            self::assertTrue($pool->getItem($key)->isHit(), $key);
            self::assertTrue($pool->getItem("deferred.$key")->isHit(), $key);
        }
        // Fetched, changed and saved again without an expiration: "stored permanently".
        $pool->save($pool->getItem('seconds.again')->set('value')->expiresAfter(1));
        $pool->save($pool->getItem('seconds.again')->set('for ever'));
        \usleep(1_200_000);
        foreach (['', 'deferred.'] as $prefix) {
            foreach (['seconds', 'interval', 'time'] as $key) {
                self::assertFalse($pool->hasItem($prefix . $key), $prefix . $key);
                self::assertFalse($pool->getItem($prefix . $key)->isHit(), $prefix . $key);
                self::assertNull($pool->getItem($prefix . $key)->get(), $prefix . $key);
            }
            self::assertTrue($pool->getItem($prefix . 'long')->isHit());
        }
        self::assertSame('for ever', $pool->getItem('seconds.again')->get());
        self::assertTrue($pool->commit());
        self::assertFalse($this->pool()->hasItem('deferred.seconds'));
        self::assertTrue($this->pool()->hasItem('deferred.long'));
    }

    /** Saving what has expired leaves the key a miss, also where something was stored. */
    #[Test]
    #[DataProvider('over')]
    public function anExpiredItemIsNotStored(\Closure $expire): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('key')->set('old'));
        $pool->save($pool->getItem('12')->set('old'));
        $item = $pool->getItem('key')->set('new');
        $expire($item);
        self::assertTrue($pool->save($item));
        self::assertFalse($pool->hasItem('key'));
        self::assertFalse($this->pool()->getItem('key')->isHit());

        $item = $pool->getItem('12')->set('new');
        $expire($item);
        self::assertTrue($pool->saveDeferred($item));
        self::assertFalse($pool->hasItem('12'));
        self::assertFalse($pool->getItem('12')->isHit());
        self::assertNull($pool->getItem('12')->get());
        self::assertTrue($pool->commit());
        self::assertFalse($pool->hasItem('12'));
        self::assertFalse($this->pool()->hasItem('12'));
    }

    /** @return iterable<string, array{\Closure(CacheItem): mixed}> */
    public static function over(): iterable
    {
        $back = new \DateInterval('P1D');
        $back->invert = 1;
        yield 'zero seconds' => [static fn(CacheItem $item): mixed => $item->expiresAfter(0)];
        yield 'negative seconds' => [static fn(CacheItem $item): mixed => $item->expiresAfter(-1)];
        yield 'the least seconds' => [static fn(CacheItem $item): mixed => $item->expiresAfter(\PHP_INT_MIN)];
        yield 'an interval backwards' => [static fn(CacheItem $item): mixed => $item->expiresAfter($back)];
        yield 'a second ago' => [static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTime('-1 second'))];
        yield 'now' => [static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTime())];
        yield 'in 1970' => [static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTimeImmutable('@0'))];
        yield 'before 1970' => [static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTimeImmutable('1066-10-14'))];
        yield 'as early as a date can be' => [static fn(CacheItem $item): mixed => $item->expiresAt((new \DateTime())->setTimestamp(\PHP_INT_MIN))];
    }

    /** InvalidArgumentException: "Any time an invalid argument is passed into a method it must throw an exception class which implements" it */
    #[Test]
    #[DataProvider('illegalExpirations')]
    public function otherExpirationsAreRefused(\Closure $call): void
    {
        $item = $this->pool()->getItem('key');
        $this->expectException(InvalidArgumentException::class);
        $call($item);
    }

    /** @return iterable<array{\Closure(CacheItem): mixed}> */
    public static function illegalExpirations(): iterable
    {
        foreach (['', 'tomorrow', '10', 2.5, true, new \stdClass(), [1], new \DateTime()] as $time) {
            yield [static fn(CacheItem $item): mixed => $item->expiresAfter($time)];
        }
        foreach (['', 'tomorrow', 10, 2.5, true, new \stdClass(), [1], new \DateInterval('P1D')] as $time) {
            yield [static fn(CacheItem $item): mixed => $item->expiresAt($time)];
        }
    }

    // Data

    /** "MUST be returned exactly as passed. That includes the variable type." */
    #[Test]
    #[DataProviderExternal(Samples::class, 'values')]
    public function valuesComeBackAsTheyWere(mixed $value): void
    {
        $pool = $this->pool();
        self::assertTrue($pool->save($pool->getItem('key')->set($value)));
        self::assertTrue($pool->saveDeferred($pool->getItem('later')->set($value)));
        $other = $this->pool();
        self::assertSameValue($value, $pool->getItem('later')->get());
        self::assertTrue($pool->commit());
        foreach ([$pool, $other, $this->pool()] as $reader) {
            self::assertTrue($reader->getItem('key')->isHit());
            self::assertSameValue($value, $reader->getItem('key')->get());
        }
        self::assertTrue($pool->hasItem('later'));
        self::assertSameValue($value, $this->pool()->getItem('later')->get());
    }

    /** "Character strings of arbitrary size" */
    #[Test]
    public function largeValuesComeBack(): void
    {
        $pool = $this->pool();
        $value = \random_bytes(2 << 20);
        self::assertTrue($pool->save($pool->getItem('key')->set($value)));
        self::assertTrue($value === $this->pool()->getItem('key')->get());
        self::assertTrue($pool->saveDeferred($pool->getItem('key')->set([$value])));
        self::assertTrue($pool->commit());
        self::assertTrue([$value] === $this->pool()->getItem('key')->get());
    }

    /** "If it is not possible to return the exact saved value ... MUST respond with a cache miss rather than corrupted data" */
    #[Test]
    public function aValueThatCannotBeRestoredIsAMiss(): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('key')->set(new Unrestorable()));
        $pool->saveDeferred($pool->getItem('later')->set(new Unrestorable()));
        self::assertFalse($pool->getItem('later')->isHit());
        $pool->commit();
        foreach (['key', 'later'] as $key) {
            self::assertFalse($this->pool()->getItem($key)->isHit());
            self::assertNull($this->pool()->getItem($key)->get());
        }
    }

    /** "The Value MAY be changed at any time", which is the item's own affair until it is saved */
    #[Test]
    public function objectsAreStoredAsTheyWereAtSave(): void
    {
        $pool = $this->pool();
        $object = (object) ['name' => 'before'];
        $pool->save($pool->getItem('key')->set($object));
        $pool->saveDeferred($pool->getItem('later')->set([$object]));
        $object->name = 'after';
        self::assertEquals((object) ['name' => 'before'], $pool->getItem('key')->get());
        self::assertEquals([(object) ['name' => 'before']], $pool->getItem('later')->get());
        foreach (['key', 'later'] as $key) {
            $got = $pool->getItem($key)->get();
            $got = \is_array($got) ? $got[0] : $got;
            self::assertInstanceOf(\stdClass::class, $got);
            $got->name = 'mine';
        }
        $pool->commit();
        self::assertEquals((object) ['name' => 'before'], $pool->getItem('key')->get());
        self::assertEquals([(object) ['name' => 'before']], $pool->getItem('later')->get());
    }

    // Error handling

    /** "MUST NOT throw exceptions other than those defined by the interface"; save(): "False if there was an error" */
    #[Test]
    #[DataProviderExternal(Samples::class, 'unserializable')]
    public function valuesThatCannotBeSerializedAreNotSaved(\Closure $make): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('key')->set('old'));
        $pool->saveDeferred($pool->getItem('later')->set('old'));
        self::assertFalse($pool->save($pool->getItem('key')->set($make())));
        self::assertFalse($pool->saveDeferred($pool->getItem('later')->set(['deep' => $make()])));
        self::assertSame('old', $pool->getItem('key')->get());
        self::assertSame('old', $pool->getItem('later')->get());
        self::assertTrue($pool->commit());
        self::assertSame('old', $this->pool()->getItem('later')->get());
    }

    /** "it MUST NOT be considered an error condition if the specified key does not exist" */
    #[Test]
    public function deletingWhatIsNotThereIsTrue(): void
    {
        $pool = $this->pool();
        self::assertTrue($pool->deleteItem('key'));
        self::assertTrue($pool->deleteItems([]));
        self::assertTrue($pool->deleteItems(['key', '12']));
        self::assertTrue($pool->clear());
    }

    // CacheItemPoolInterface

    /** getItems(): "A Cache item will be returned for each key, even if that key is not found." */
    #[Test]
    public function getItemsReturnsEveryKey(): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('b')->set('saved'));
        $pool->saveDeferred($pool->getItem('c')->set('deferred'));
        $items = self::pairs($pool->getItems(['a', 'b', 'c', 'b']));
        self::assertSame(['a', 'b', 'c'], \array_keys($items));
        self::assertSame([false, true, true], [$items['a']->isHit(), $items['b']->isHit(), $items['c']->isHit()]);
        self::assertSame([null, 'saved', 'deferred'], [$items['a']->get(), $items['b']->get(), $items['c']->get()]);
    }

    /** getItems(): "if no keys are specified then an empty traversable MUST be returned instead" */
    #[Test]
    public function getItemsWithoutKeysIsEmpty(): void
    {
        self::assertSame([], self::pairs($this->pool()->getItems([])));
        self::assertSame([], self::pairs($this->pool()->getItems()));
    }

    /** deleteItem(): "True if the item was successfully removed" */
    #[Test]
    public function deletedItemsAreGone(): void
    {
        $pool = $this->pool();
        foreach (['foo', 'bar', 'baz', '7'] as $key) {
            $pool->save($pool->getItem($key)->set($key));
        }
        self::assertTrue($pool->deleteItem('foo'));
        self::assertFalse($pool->hasItem('foo'));
        self::assertTrue($pool->deleteItems(['bar', '7', 'biz']));
        foreach (['foo' => false, 'bar' => false, 'baz' => true, '7' => false] as $key => $there) {
            self::assertSame($there, $pool->getItem((string) $key)->isHit());
            self::assertSame($there, $this->pool()->hasItem((string) $key));
        }
    }

    /** clear(): "Deletes all items in the pool." */
    #[Test]
    public function clearRemovesAllItems(): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('one')->set(1));
        $pool->save($pool->getItem('2')->set(2));
        self::assertTrue($pool->clear());
        self::assertFalse($pool->hasItem('one'));
        self::assertFalse($pool->getItem('2')->isHit());
        self::assertFalse($this->pool()->hasItem('one'));
        self::assertTrue($pool->save($pool->getItem('one')->set('new')));
        self::assertTrue($pool->hasItem('one'));
    }

    /** "All interaction with the whole universe of cached objects happens through the Pool": saved by one, seen by another */
    #[Test]
    public function equalCachesShareTheirItems(): void
    {
        $pool = $this->pool();
        self::assertTrue($pool->save($pool->getItem('key')->set('value')));
        self::assertSame('value', $this->pool()->getItem('key')->get());
        self::assertTrue($this->pool()->deleteItem('key'));
        self::assertFalse($this->pool()->hasItem('key'));
    }

    /** "The pool is a logical Repository of all items it contains": of no others */
    #[Test]
    public function otherPoolsAreIndependent(): void
    {
        $cache = $this->cache();
        $pool = $this->pool($cache);
        $database = $this->pool($cache, databaseBehind: true);
        $group = $this->pool($cache->group('other'));
        $simple = new SimpleCache($cache);
        $cache->set('key', 'native');
        $simple->set('key', 'simple');
        $pool->save($pool->getItem('key')->set('pool'));
        $database->save($database->getItem('key')->set('database'));
        $group->save($group->getItem('key')->set('group'));
        $values = static fn(): array => [
            $cache->get('key'), $simple->get('key'), $pool->getItem('key')->get(), $database->getItem('key')->get(), $group->getItem('key')->get(),
        ];
        self::assertSame(['native', 'simple', 'pool', 'database', 'group'], $values());
        self::assertTrue($pool->clear());
        self::assertSame(['native', 'simple', null, 'database', 'group'], $values());
        self::assertTrue($group->clear());
        self::assertTrue($database->clear());
        self::assertSame(['native', 'simple', null, null, null], $values());
    }

    /** CacheItemInterface: "Calling Libraries SHOULD NOT assume that an Item ... is compatible with a Pool from another" */
    #[Test]
    public function itemsOfOtherLibrariesAreRefused(): void
    {
        $foreign = self::createStub(CacheItemInterface::class);
        $pool = $this->pool();
        foreach ([static fn(): bool => $pool->save($foreign), static fn(): bool => $pool->saveDeferred($foreign)] as $call) {
            try {
                $call();
                self::fail('It was accepted.');
            } catch (InvalidArgumentException $e) {
                self::assertStringContainsString('getItem', $e->getMessage());
            }
        }
    }

    /** save(): "Persists a cache item immediately." An item may be saved more than once. */
    #[Test]
    public function anItemMayBeSavedAgain(): void
    {
        $pool = $this->pool();
        $item = $pool->getItem('key')->set('first');
        self::assertTrue($pool->save($item));
        self::assertTrue($pool->save($item->set('second')));
        self::assertSame('second', $pool->getItem('key')->get());
        self::assertTrue($pool->deleteItem('key'));
        self::assertTrue($pool->save($item));
        self::assertSame('second', $this->pool()->getItem('key')->get());
    }

    // Definitions: Deferred

    /** "Requests for a cache item that has been deferred MUST return the deferred but not-yet-persisted item." */
    #[Test]
    public function deferredItemsAreSeenInTheirPool(): void
    {
        $pool = $this->pool();
        self::assertTrue($pool->saveDeferred($pool->getItem('key')->set('value')));
        self::assertTrue($pool->saveDeferred($pool->getItem('12')->set(null)));
        self::assertTrue($pool->hasItem('key'));
        self::assertTrue($pool->getItem('key')->isHit());
        self::assertSame('value', $pool->getItem('key')->get());
        self::assertTrue($pool->getItem('12')->isHit());
        self::assertSame(['key', '12'], self::keysOf($pool->getItems(['key', '12'])));
    }

    /** commit(): "True if all not-yet-saved items were successfully saved or there were none." */
    #[Test]
    public function commitPersistsDeferredItems(): void
    {
        $pool = $this->pool();
        self::assertTrue($pool->commit());
        $pool->saveDeferred($pool->getItem('a')->set(1));
        $pool->saveDeferred($pool->getItem('b')->set(2)->expiresAfter(60));
        $pool->saveDeferred($pool->getItem('12')->set(3)->expiresAfter(3600));
        $pool->saveDeferred($pool->getItem('gone')->set(4)->expiresAfter(0));
        self::assertTrue($pool->commit());
        self::assertSame(
            [1, 2, 3, null],
            \array_map(static fn(CacheItem $item): mixed => $item->get(), self::valuesOfItems($this->pool()->getItems(['a', 'b', '12', 'gone']))),
        );
        self::assertTrue($pool->commit());
    }

    /** "MUST ensure that any deferred cache items are eventually persisted": here, by the pool's destructor */
    #[Test]
    public function theDestructorPersistsDeferredItems(): void
    {
        $cache = $this->cache();
        $pool = $this->pool($cache);
        $pool->saveDeferred($pool->getItem('key')->set('value'));
        unset($pool);
        self::assertSame('value', $this->pool($cache)->getItem('key')->get());
        self::assertSame('value', $this->pool()->getItem('key')->get());
    }

    /** The same where the process ends without a word. */
    #[Test]
    public function theEndOfAProcessPersistsDeferredItems(): void
    {
        foreach (['$keep = [$cache, $pool];', 'exit(0);', '$GLOBALS["ring"] = [$pool]; $ring = &$GLOBALS["ring"]; $ring[] = &$ring;'] as $number => $end) {
            $this->elsewhere(<<<PHP
                \$cache = \\Larder\\Cache::open(json_decode(\$argv[1], true));
                \$pool = new \\Larder\\Psr\\CacheItemPool(\$cache);
                \$pool->saveDeferred(\$pool->getItem('key$number')->set('value'));
                $end
                PHP);
            self::assertSame('value', $this->pool()->getItem("key$number")->get(), $end);
        }
    }

    /** A deferred item is the one that was deferred: what is done to the item object later does not count. */
    #[Test]
    public function changingADeferredItemChangesNothing(): void
    {
        $pool = $this->pool();
        $item = $pool->getItem('key')->set('value');
        $pool->saveDeferred($item);
        $item->set('other')->expiresAfter(-1);
        $pool->getItem('key')->set('yet another');
        self::assertSame('value', $pool->getItem('key')->get());
        $pool->commit();
        self::assertSame('value', $pool->getItem('key')->get());
    }

    #[Test]
    public function theLastDeferredItemCounts(): void
    {
        $pool = $this->pool();
        $pool->saveDeferred($pool->getItem('key')->set('one'));
        $pool->saveDeferred($pool->getItem('key')->set('two'));
        self::assertSame('two', $pool->getItem('key')->get());
        $pool->commit();
        self::assertSame('two', $pool->getItem('key')->get());
    }

    /** A deferred item must not bury what was saved after it. */
    #[Test]
    public function aLaterSaveReplacesADeferredItem(): void
    {
        $pool = $this->pool();
        $pool->saveDeferred($pool->getItem('key')->set('deferred'));
        self::assertTrue($pool->save($pool->getItem('key')->set('saved')));
        self::assertSame('saved', $pool->getItem('key')->get());
        $pool->commit();
        self::assertSame('saved', $pool->getItem('key')->get());
        self::assertSame('saved', $this->pool()->getItem('key')->get());
    }

    /** deleteItem(), deleteItems(): "Removes the item from the pool", a deferred one too */
    #[Test]
    public function deferredItemsCanBeDeleted(): void
    {
        $pool = $this->pool();
        foreach (['a', 'b', '12'] as $key) {
            $pool->save($pool->getItem($key)->set('saved'));
            $pool->saveDeferred($pool->getItem($key)->set('deferred'));
        }
        self::assertTrue($pool->deleteItem('a'));
        self::assertTrue($pool->deleteItems(['b', '12']));
        foreach (['a', 'b', '12'] as $key) {
            self::assertFalse($pool->hasItem($key));
            self::assertFalse($pool->getItem($key)->isHit());
        }
        self::assertTrue($pool->commit());
        foreach (['a', 'b', '12'] as $key) {
            self::assertFalse($pool->hasItem($key));
            self::assertFalse($this->pool()->hasItem($key));
        }
    }

    /** clear(): "Deletes all items in the pool", deferred ones too */
    #[Test]
    public function clearDropsDeferredItems(): void
    {
        $pool = $this->pool();
        $pool->saveDeferred($pool->getItem('key')->set('value'));
        self::assertTrue($pool->clear());
        self::assertFalse($pool->hasItem('key'));
        $pool->commit();
        self::assertFalse($pool->getItem('key')->isHit());
        self::assertFalse($this->pool()->hasItem('key'));
    }

    /** A child does not save what its parent deferred, neither by commit() nor by its end. */
    #[Test]
    public function aForkedChildDoesNotSaveItsParentsItems(): void
    {
        self::assertSame("null\n\"child\"\n\"parent\"", $this->elsewhere(<<<'PHP'
            $options = json_decode($argv[1], true);
            $read = static fn(string $key): mixed
                => (new \Larder\Psr\CacheItemPool(\Larder\Cache::open($options)))->getItem($key)->get();
            $pool = new \Larder\Psr\CacheItemPool(\Larder\Cache::open($options));
            $pool->saveDeferred($pool->getItem('key')->set('parent'));
            $child = pcntl_fork();
            if ($child === 0) {
                $seen = $pool->getItem('key')->isHit();
                $pool->saveDeferred($pool->getItem('own')->set($seen ? 'saw it' : 'child'));
                exit($pool->commit() ? 0 : 1);
            }
            pcntl_waitpid($child, $status);
            echo json_encode($read('key')), "\n", json_encode($read('own')), "\n";
            $pool->commit();
            echo json_encode($read('key')), "\n";
            PHP));
    }

    /** A pool made from foreign bytes would write to the cache. */
    #[Test]
    public function aPoolIsNotSerialized(): void
    {
        $pool = $this->pool();
        try {
            \serialize($pool);
            self::fail('It was serialized.');
        } catch (\LogicException) {
        }
        $this->expectException(\LogicException::class);
        \unserialize('O:24:"Larder\\Psr\\CacheItemPool":0:{}');
    }

    /** All the rules above hold with a database behind, too; the essential ones. */
    #[Test]
    public function withADatabaseBehindTheRulesAreTheSame(): void
    {
        $pool = $this->pool(databaseBehind: true);
        self::assertFalse($pool->getItem('key')->isHit());
        self::assertTrue($pool->save($pool->getItem('key')->set('one')));
        self::assertTrue($pool->saveDeferred($pool->getItem('key')->set('two')->expiresAfter(60)));
        self::assertTrue($pool->commit());
        self::assertSame('two', $pool->getItem('key')->get());
        self::assertSame('two', $this->pool(databaseBehind: true)->getItem('key')->get());
        self::assertTrue($pool->deleteItem('key'));
        self::assertFalse($pool->hasItem('key'));
        self::assertTrue($pool->clear());
    }

    /** What save(), commit(), deleteItem() and clear() have done when they return, other processes see. */
    #[Test]
    public function otherProcessesSeeEachChange(): void
    {
        $read = <<<'PHP'
            $pool = new \Larder\Psr\CacheItemPool(\Larder\Cache::open(json_decode($argv[1], true)));
            echo json_encode([$pool->hasItem('key'), $pool->getItem('key')->get()]), "\n";
            PHP;
        $pool = $this->pool();
        $pool->save($pool->getItem('key')->set(['n' => 1.5]));
        self::assertSame('[true,{"n":1.5}]', $this->elsewhere($read));
        $pool->deleteItem('key');
        self::assertSame('[false,null]', $this->elsewhere($read));
        $pool->saveDeferred($pool->getItem('key')->set('deferred'));
        $pool->commit();
        self::assertSame('[true,"deferred"]', $this->elsewhere($read));
        $pool->clear();
        self::assertSame('[false,null]', $this->elsewhere($read));
    }

    /**
     * @param iterable<string, CacheItem> $items
     *
     * @return list<CacheItem>
     */
    private static function valuesOfItems(iterable $items): array
    {
        return \array_values(self::pairs($items));
    }
}
