<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

use Larder\Cache;
use Larder\Psr\CacheItemPool;
use Larder\Psr\SimpleCache;
use PHPUnit\Framework\Attributes\DataProviderExternal;
use PHPUnit\Framework\Attributes\Test;
use Psr\Cache\CacheItemInterface;
use Psr\Cache\CacheItemPoolInterface;
use Psr\Cache\InvalidArgumentException;

/** The part of PSR-6's rules that speaks of data, of errors, and of the pool. */
trait CacheItemPoolDataRules
{
    abstract protected function cache(): Cache;

    abstract protected function pool(?Cache $cache = null, bool $databaseBehind = false): CacheItemPool;

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
        self::assertFalse($pool->hasItem('later'));
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
}
