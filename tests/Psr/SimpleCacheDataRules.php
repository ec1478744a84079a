<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

use Larder\Cache;
use Larder\Psr\CacheItemPool;
use Larder\Psr\SimpleCache;
use PHPUnit\Framework\Attributes\DataProviderExternal;
use PHPUnit\Framework\Attributes\Test;
use Psr\SimpleCache\InvalidArgumentException;

/** The part of PSR-16's rules that speaks of data (1.4) and of the collection (2.1). */
trait SimpleCacheDataRules
{
    abstract protected function cache(): Cache;

    abstract protected function simple(?Cache $cache = null, bool $databaseBehind = false): SimpleCache;

    /** "MUST be returned exactly as passed. That includes the variable type." */
    #[Test]
    #[DataProviderExternal(Samples::class, 'values')]
    public function valuesComeBackAsTheyWere(mixed $value): void
    {
        $cache = $this->simple();
        self::assertTrue($cache->set('one', $value));
        self::assertTrue($cache->setMultiple(['two' => $value, '3' => $value]));
        self::assertSameValue($value, $cache->get('one', 'miss'));
        self::assertTrue($cache->has('one'));
        $other = $this->simple();
        self::assertSameValue($value, $other->get('one', 'miss'));
        foreach ([$cache, $other] as $reader) {
            foreach ($reader->getMultiple(['one', 'two', '3'], 'miss') as $found) {
                self::assertSameValue($value, $found);
            }
        }
    }

    /** "Strings of arbitrary size" */
    #[Test]
    public function largeValuesComeBack(): void
    {
        $cache = $this->simple();
        foreach ([\random_bytes(2 << 20), \str_repeat('x', 2 << 20), \array_fill(0, 50_000, 'row of a large table')] as $value) {
            self::assertTrue($cache->set('large', $value));
            self::assertTrue($value === $cache->get('large'));
            self::assertTrue($value === $this->simple()->get('large'), 'by another cache');
        }
    }

    /** 2.1 "must be serializable"; setMultiple: "MUST be thrown if ... any of the $values are not a legal value" */
    #[Test]
    #[DataProviderExternal(Samples::class, 'unserializable')]
    public function valuesThatCannotBeSerializedAreRefused(\Closure $make): void
    {
        $cache = $this->simple();
        $cache->set('key', 'old');
        $value = $make();
        foreach ([
            static fn(): bool => $cache->set('key', $value),
            static fn(): bool => $cache->set('key', ['deep' => [$value]], 10),
            static fn(): bool => $cache->setMultiple(['first' => 1, 'key' => $value]),
        ] as $call) {
            try {
                $call();
                self::fail('It was accepted.');
            } catch (InvalidArgumentException $e) {
                self::assertNotSame('', $e->getMessage());
            }
        }
        self::assertSame('old', $cache->get('key'));
        self::assertFalse($cache->has('first'));
    }

    /** "If it is not possible to return the exact saved value ... MUST respond with a cache miss rather than corrupted data" */
    #[Test]
    public function aValueThatCannotBeRestoredIsAMiss(): void
    {
        $this->simple()->set('key', new Unrestorable());
        $cache = $this->simple();
        self::assertSame('miss', $cache->get('key', 'miss'));
        self::assertSame(['miss'], self::valuesOf($cache->getMultiple(['key'], 'miss')));
    }

    /** "returned exactly as passed": an object changed after set() is not the one that was passed */
    #[Test]
    public function objectsAreStoredAsTheyWereAtSet(): void
    {
        $cache = $this->simple();
        $object = (object) ['name' => 'before'];
        $cache->set('key', $object);
        $cache->setMultiple(['list' => [$object]]);
        $object->name = 'after';
        self::assertEquals((object) ['name' => 'before'], $cache->get('key'));
        self::assertEquals([(object) ['name' => 'before']], $cache->get('list'));
        $got = $cache->get('key');
        self::assertInstanceOf(\stdClass::class, $got);
        $got->name = 'mine';
        self::assertEquals((object) ['name' => 'before'], $cache->get('key'));
    }

    // 2.1 CacheInterface

    /** delete(): "True if the item was successfully removed"; nothing to remove is no error (PSR-6, Error handling) */
    #[Test]
    public function deletingWhatIsNotThereIsTrue(): void
    {
        $cache = $this->simple();
        self::assertTrue($cache->delete('key'));
        self::assertTrue($cache->deleteMultiple([]));
        self::assertTrue($cache->deleteMultiple(['key', '12']));
        self::assertTrue($cache->clear());
    }

    /** clear(): "Wipes clean the entire cache's keys" */
    #[Test]
    public function clearRemovesAllKeys(): void
    {
        $cache = $this->simple();
        $cache->setMultiple(['one' => 1, '2' => 2]);
        self::assertTrue($cache->clear());
        self::assertFalse($cache->has('one'));
        self::assertSame([null, null], self::valuesOf($cache->getMultiple(['one', '2'])));
        self::assertNull($this->simple()->get('one'));
        self::assertTrue($cache->set('one', 'new'));
        self::assertSame('new', $cache->get('one'));
    }

    /** getMultiple(): "Cache keys that do not exist or are stale will have $default as value" */
    #[Test]
    public function getMultipleReturnsEveryKey(): void
    {
        $cache = $this->simple();
        $cache->set('b', 'value');
        $cache->set('stale', 'value');
        $cache->set('stale', 'value', -1);
        self::assertSame(['a' => null, 'b' => 'value', 'stale' => null], self::pairs($cache->getMultiple(['a', 'b', 'stale'])));
        $default = new \stdClass();
        self::assertSame(['stale' => $default, 'b' => 'value'], self::pairs($cache->getMultiple(['stale', 'b', 'stale'], $default)));
        self::assertSame([], self::pairs($cache->getMultiple([])));
    }

    /** "iterable<string> $keys": their own keys mean nothing */
    #[Test]
    public function keysMayComeFromAnyTraversable(): void
    {
        $cache = $this->simple();
        $cache->setMultiple(['a' => 1, 'b' => 2]);
        $generator = static function (): \Generator {
            yield 1 => 'a';
            yield 1 => 'b';
            yield 'x' => '7';
        };
        self::assertSame([1, 2, null], self::valuesOf($cache->getMultiple($generator())));
        self::assertSame(['a', 'b', '7'], self::keysOf($cache->getMultiple($generator())));
        self::assertSame([2], self::valuesOf($cache->getMultiple(new \ArrayIterator(['b']))));
        self::assertTrue($cache->deleteMultiple($generator()));
        self::assertSame([null, null], self::valuesOf($cache->getMultiple(['a', 'b'])));
    }

    /** setMultiple(): "A list of key => value pairs" */
    #[Test]
    public function setMultipleStoresAllPairs(): void
    {
        $cache = $this->simple();
        self::assertTrue($cache->setMultiple(['key0' => 'value0', '1' => 'value1', 'null' => null]));
        self::assertSame('value0', $cache->get('key0'));
        self::assertSame('value1', $cache->get('1'));
        self::assertNull($cache->get('null', 'miss'));
        self::assertTrue($cache->setMultiple([]));
        self::assertTrue($cache->setMultiple([], 0));
    }

    #[Test]
    public function pairsMayComeFromAnyTraversable(): void
    {
        $cache = $this->simple();
        self::assertTrue($cache->setMultiple((static function (): \Generator {
            yield 'key' => 'first';
            yield '5' => 'five';
            yield 6 => 'six';
            yield 'key' => 'last';
        })()));
        self::assertSame(['key' => 'last', '5' => 'five', '6' => 'six'], self::pairs($cache->getMultiple(['key', '5', '6'])));
        self::assertTrue($cache->setMultiple(new \ArrayObject(['key' => 'object'])));
        self::assertSame('object', $cache->get('key'));
    }

    /** An iterable that fails half-way has set nothing. */
    #[Test]
    public function anInterruptedListChangesNothing(): void
    {
        $cache = $this->simple();
        try {
            $cache->setMultiple((static function (): \Generator {
                yield 'key' => 'value';
                throw new \DomainException('mine');
            })());
            self::fail('The exception was swallowed.');
        } catch (\DomainException) {
            self::assertFalse($cache->has('key'));
        }
    }

    /** 2.1 "corresponds to a single collection": the same one for whoever opens it again */
    #[Test]
    public function equalCachesShareTheirItems(): void
    {
        $this->simple()->set('key', 'value');
        $other = $this->simple();
        self::assertSame('value', $other->get('key'));
        self::assertTrue($other->delete('key'));
        self::assertFalse($this->simple()->has('key'));
    }

    /** 2.1 "Different CacheInterface instances MAY be backed by the same datastore, but MUST be logically independent." */
    #[Test]
    public function otherInstancesAreIndependent(): void
    {
        $cache = $this->cache();
        $simple = $this->simple($cache);
        $database = $this->simple($cache, databaseBehind: true);
        $pool = new CacheItemPool($cache);
        $group = $this->simple($cache->group('other'));

        $cache->set('key', 'native');
        $simple->set('key', 'simple');
        $database->set('key', 'database');
        $pool->save($pool->getItem('key')->set('pool'));
        $group->set('key', 'group');
        self::assertSame(
            ['native', 'simple', 'database', 'pool', 'group'],
            [$cache->get('key'), $simple->get('key'), $database->get('key'), $pool->getItem('key')->get(), $group->get('key')],
        );

        self::assertTrue($simple->clear());
        self::assertSame(
            ['native', null, 'database', 'pool', 'group'],
            [$cache->get('key'), $simple->get('key'), $database->get('key'), $pool->getItem('key')->get(), $group->get('key')],
        );
        self::assertTrue($database->clear());
        self::assertTrue($group->clear());
        self::assertSame(
            ['native', null, null, 'pool', null],
            [$cache->get('key'), $simple->get('key'), $database->get('key'), $pool->getItem('key')->get(), $group->get('key')],
        );
        self::assertTrue($cache->flush(), 'the native flush covers all of them');
        self::assertFalse($pool->getItem('key')->isHit());
    }

    /** All the rules above hold with a database behind, too; the essential ones. */
    #[Test]
    public function withADatabaseBehindTheRulesAreTheSame(): void
    {
        $cache = $this->simple(databaseBehind: true);
        self::assertNull($cache->get('key'));
        self::assertTrue($cache->set('key', 'one'));
        self::assertTrue($cache->set('key', 'two', 60));
        self::assertSame('two', $cache->get('key'));
        self::assertSame('two', $this->simple(databaseBehind: true)->get('key'));
        self::assertTrue($cache->set('key', 'three', 0));
        self::assertFalse($cache->has('key'));
        self::assertTrue($cache->setMultiple(['1' => 'a']));
        self::assertSame(['1'], self::keysOf($cache->getMultiple(['1'])));
        self::assertTrue($cache->clear());
        self::assertFalse($cache->has('1'));
    }

    /** What set(), delete() and clear() have done when they return, other processes see. */
    #[Test]
    public function otherProcessesSeeEachChange(): void
    {
        $read = <<<'PHP'
            $cache = new \Larder\Psr\SimpleCache(\Larder\Cache::open(json_decode($argv[1], true)));
            echo json_encode($cache->get('key', 'miss')), "\n";
            $cache->set('back', 'from the other');
            PHP;
        $cache = $this->simple();
        $cache->set('key', ['n' => 1.5]);
        self::assertSame('{"n":1.5}', $this->elsewhere($read));
        self::assertSame('from the other', $this->simple()->get('back'));
        $cache->delete('key');
        self::assertSame('"miss"', $this->elsewhere($read));
        $cache->set('key', 'again');
        self::assertSame('"again"', $this->elsewhere($read));
        $cache->clear();
        self::assertSame('"miss"', $this->elsewhere($read));
    }
}
