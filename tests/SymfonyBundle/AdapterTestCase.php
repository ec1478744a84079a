<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\Cache;
use Larder\Computation;
use Larder\ComputationEnded;
use Larder\SymfonyBundle\Cache\LarderAdapter;
use Larder\Tests\Bridge\Frameworks;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Psr\Cache\CacheItemInterface;
use Psr\Cache\InvalidArgumentException;
use Symfony\Component\Cache\CacheItem;
use Symfony\Contracts\Cache\ItemInterface;

/** What the interfaces of Symfony Cache promise, over one engine. */
abstract class AdapterTestCase extends TestCase
{
    protected TemporaryDirectory $root;

    /** @return string|array<string, mixed> as of Cache::open(); each test has a cache of its own */
    abstract protected function source(): string|array;

    protected function setUp(): void
    {
        Frameworks::prefer();
        $this->root = new TemporaryDirectory();
    }

    public function testAMissAndAHit(): void
    {
        $pool = $this->pool();
        $item = $pool->getItem('key');
        self::assertSame(['key', false, null, []], [$item->getKey(), $item->isHit(), $item->get(), $item->getMetadata()]);
        self::assertTrue($pool->save($item->set('value')));
        self::assertFalse($item->isHit());
        $found = $this->other()->getItem('key');
        self::assertSame(['key', true, 'value', ['tags' => []]], [$found->getKey(), $found->isHit(), $found->get(), $found->getMetadata()]);
        self::assertTrue($this->other()->hasItem('key'));
        self::assertFalse($this->other()->hasItem('other'));
    }

    #[DataProvider('values')]
    public function testTypesSurvive(mixed $value): void
    {
        $pool = $this->pool();
        self::assertTrue($pool->save($pool->getItem('key')->set($value)));
        self::assertEquals($value, $this->other()->getItem('key')->get());
        self::assertSame(\get_debug_type($value), \get_debug_type($this->other()->getItem('key')->get()));
        self::assertTrue($this->other()->getItem('key')->isHit());
        self::assertEquals($value, $this->other()->get('key', static fn() => self::fail('It is there.')));
    }

    /** @return iterable<array{mixed}> */
    public static function values(): iterable
    {
        yield from [[null], [false], [0], [''], [1.5], [[]], [['x', 'value' => ['12' => 'y']]], [[['x'], ['tag']]], [new \ArrayObject([1])], ["\0\xff"]];
    }

    public function testAnItemIsASnapshot(): void
    {
        $pool = $this->pool();
        $object = new \ArrayObject([1]);
        $pool->save($pool->getItem('key')->set($object));
        $object[] = 2;
        $first = $pool->getItem('key')->get();
        self::assertEquals(new \ArrayObject([1]), $first);
        self::assertInstanceOf(\ArrayObject::class, $first);
        $first[] = 3;
        self::assertEquals(new \ArrayObject([1]), $pool->getItem('key')->get());
    }

    public function testGetItemsKeepsOrderAndKeys(): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('b')->set(1));
        $pool->save($pool->getItem('12')->set(2));
        $seen = [];
        foreach ($this->other()->getItems(['a', '12', 'b']) as $key => $item) {
            $seen[] = [$key, $item->getKey(), $item->isHit(), $item->get()];
        }
        self::assertSame([['a', 'a', false, null], ['12', '12', true, 2], ['b', 'b', true, 1]], $seen);
        self::assertSame([], [...$pool->getItems()]);
    }

    #[DataProvider('illegal')]
    public function testIllegalKeysAreRefused(mixed $key): void
    {
        $pool = $this->pool();
        $calls = [
            static fn() => $pool->getItem($key), static fn() => $pool->getItems(['ok', $key]), static fn() => $pool->hasItem($key),
            static fn() => $pool->deleteItem($key), static fn() => $pool->deleteItems(['ok', $key]),
        ];
        if (\is_string($key)) {
            $calls[] = static fn() => $pool->get($key, static fn() => 1);
            $calls[] = static fn() => $pool->invalidateTags([$key]);
            $calls[] = static fn() => $pool->withSubNamespace($key);
        }
        foreach ($calls as $call) {
            try {
                $call();
                self::fail('It was taken.');
            } catch (InvalidArgumentException) {
            }
        }
        self::assertFalse($pool->hasItem('ok'));
    }

    /** @return iterable<array{mixed}> */
    public static function illegal(): iterable
    {
        yield from [[''], ['a:b'], ['a/b'], ['{a'], ['a@b'], ['a\\b'], ['(a)'], [null], [12], [[]]];
    }

    public function testALongKey(): void
    {
        $pool = $this->pool();
        $key = \str_repeat('k', 60_000);
        self::assertTrue($pool->save($pool->getItem($key)->set(1)));
        self::assertTrue($this->other()->hasItem($key));
        $this->expectException(InvalidArgumentException::class);
        $pool->getItem($key . $key);
    }

    public function testLifetimes(): void
    {
        $pool = $this->pool(60);
        foreach (['usual' => null, 'soon' => 1, 'date' => new \DateTimeImmutable('+1 hour'), 'over' => -1, 'now' => 0, 'past' => new \DateTimeImmutable('-1 second')] as $key => $time) {
            $item = $pool->getItem($key)->set($key);
            $time instanceof \DateTimeInterface ? $item->expiresAt($time) : ($time === null ?: $item->expiresAfter($time));
            self::assertTrue($pool->save($item));
        }
        self::assertSame(['usual', 'soon', 'date'], \array_keys(\array_filter([...$this->other()->getItems(['usual', 'soon', 'date', 'over', 'now', 'past'])], static fn(CacheItem $item): bool => $item->isHit())));
        self::assertEqualsWithDelta(60, $this->left($pool, 'usual'), 2);
        self::assertEqualsWithDelta(3600, $this->left($pool, 'date'), 2);
        Wait::until(fn(): bool => !$this->other()->hasItem('soon'), 'an item to expire');
        self::assertFalse($this->other()->getItem('soon')->isHit());
    }

    public function testSavingWhatHasEndedRemovesIt(): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('key')->set(1));
        $pool->save($pool->getItem('key')->set(2)->expiresAfter(-1));
        self::assertFalse($this->other()->hasItem('key'));
        $pool->save($pool->getItem('key')->set(1));
        $pool->saveDeferred($pool->getItem('key')->set(2)->expiresAfter(-1));
        self::assertTrue($pool->commit());
        self::assertFalse($this->other()->hasItem('key'));
    }

    public function testDeferredItemsAreStoredByCommit(): void
    {
        $pool = $this->pool();
        $pool->saveDeferred($pool->getItem('a')->set(1)->tag('x'));
        $pool->saveDeferred($pool->getItem('b')->set(2)->tag(['x', 'y'])->expiresAfter(60));
        $pool->saveDeferred($pool->getItem('c')->set(3));
        self::assertFalse($this->other()->hasItem('a'));
        self::assertTrue($pool->commit());
        self::assertSame(['x' => 'x', 'y' => 'y'], $this->other()->getItem('b')->getMetadata()['tags']);
        self::assertEqualsWithDelta(60, $this->left($pool, 'b'), 2);
        self::assertTrue($this->other()->invalidateTags(['y']));
        $hits = \array_map(static fn(CacheItem $item): bool => $item->isHit(), [...$this->other()->getItems(['a', 'b', 'c'])]);
        self::assertSame(['a' => true, 'b' => false, 'c' => true], $hits);
    }

    public function testADeferredItemIsSeenByItsPool(): void
    {
        $pool = $this->pool();
        foreach (['getItem', 'getItems', 'hasItem', 'get'] as $method) {
            $pool->saveDeferred($pool->getItem($method)->set('later'));
            $seen = match ($method) {
                'getItem' => $pool->getItem($method)->get(),
                'getItems' => [...$pool->getItems([$method])][$method]->get(),
                'hasItem' => $pool->hasItem($method) ? 'later' : null,
                'get' => $pool->get($method, static fn() => 'computed'),
            };
            self::assertSame('later', $seen, $method);
        }
    }

    public function testADeferredItemIsLostByDeleteAndClearOnly(): void
    {
        $pool = $this->pool();
        $pool->saveDeferred($pool->getItem('a')->set(1));
        $pool->deleteItem('a');
        $pool->commit();
        self::assertFalse($this->other()->hasItem('a'));
        $pool->saveDeferred($pool->getItem('a')->set(1));
        $pool->clear();
        $pool->commit();
        self::assertFalse($this->other()->hasItem('a'));
        $pool->saveDeferred($pool->getItem('a')->set(1));
        $pool->reset();
        self::assertTrue($this->other()->hasItem('a'));
        $pool->saveDeferred($pool->getItem('b')->set(1));
        unset($pool);
        self::assertTrue($this->other()->hasItem('b'));
    }

    public function testWhatCannotBeStoredIsNot(): void
    {
        $pool = $this->pool();
        $log = new Lines();
        $pool->setLogger($log);
        self::assertFalse($pool->save($pool->getItem('a')->set(static fn() => 1)));
        self::assertStringContainsString('Failed to save key "{key}": This value cannot be stored: it is a Closure', $log->lines[0]);
        self::assertFalse($pool->save($pool->getItem('a')->set(['user' => ['file' => static fn() => 1]])));
        self::assertStringContainsString("stored: ['user']['file'] is a Closure", $log->lines[1]);
        $pool->saveDeferred($pool->getItem('a')->set(static fn() => 1));
        $pool->saveDeferred($pool->getItem('b')->set(2));
        self::assertFalse($pool->commit());
        self::assertSame([false, true], [$this->other()->hasItem('a'), $this->other()->hasItem('b')]);
        self::assertInstanceOf(\Closure::class, $pool->get('a', static fn() => static fn() => 1));
        self::assertFalse($pool->hasItem('a'));
        $foreign = $this->createStub(CacheItemInterface::class);
        self::assertSame([false, false], [$pool->save($foreign), $pool->saveDeferred($foreign)]);
    }

    public function testDeletes(): void
    {
        $pool = $this->pool();
        foreach (['a', 'b', 'c', 'd'] as $key) {
            $pool->save($pool->getItem($key)->set(1));
        }
        self::assertTrue($pool->deleteItem('a'));
        self::assertTrue($pool->deleteItems(['b', 'missing']));
        self::assertTrue($pool->delete('c'));
        self::assertTrue($pool->deleteItems([]));
        self::assertSame(['a' => false, 'b' => false, 'c' => false, 'd' => true], \array_map(static fn(CacheItem $item): bool => $item->isHit(), [...$this->other()->getItems(['a', 'b', 'c', 'd'])]));
    }

    public function testPoolsOfOneCacheAreApart(): void
    {
        $cache = Cache::open($this->source());
        $one = new LarderAdapter($cache, 'one');
        $two = new LarderAdapter($cache, 'two');
        foreach ([$one, $two] as $pool) {
            $pool->save($pool->getItem('key')->set($pool === $one ? 1 : 2)->tag('t'));
        }
        self::assertSame([1, 2], [$one->getItem('key')->get(), $two->getItem('key')->get()]);
        $one->invalidateTags(['t']);
        self::assertSame([false, true], [$one->hasItem('key'), $two->hasItem('key')]);
        $two->clear();
        self::assertFalse($two->hasItem('key'));
        self::assertTrue($one->clear());
    }

    public function testTags(): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('a')->set(1)->tag(['x', '12']));
        $pool->save($pool->getItem('b')->set(2)->tag('y'));
        self::assertSame(['x' => 'x', 12 => '12'], $this->other()->getItem('a')->getMetadata()['tags']);
        self::assertTrue($this->other()->invalidateTags(['12', 'unknown']));
        self::assertSame([false, true], [$this->other()->hasItem('a'), $this->other()->hasItem('b')]);
        $pool = $this->pool();
        $pool->save($pool->getItem('a')->set(1)->tag(['x', '12']));
        self::assertTrue($this->other()->hasItem('a'));
        self::assertTrue($pool->invalidateTags([]));
        self::assertTrue($this->other()->hasItem('a'));
    }

    public function testAnItemKeepsTheTagsThatItsLastSaveGave(): void
    {
        $pool = $this->pool();
        $item = $pool->getItem('a')->set(1)->tag('x');
        $pool->save($item);
        self::assertSame(['x' => 'x'], $item->getMetadata()['tags']);
        $pool->save($pool->getItem('a')->set(2)->tag('y'));
        $pool->invalidateTags(['x']);
        self::assertSame(2, $this->other()->getItem('a')->get());
        $pool->save($pool->getItem('a')->set(3));
        $pool->invalidateTags(['y']);
        self::assertSame(3, $this->other()->getItem('a')->get());
    }

    public function testTagsAreValidatedAsSymfonyDoes(): void
    {
        $item = $this->pool()->getItem('a');
        foreach (['', 'a:b', '{'] as $tag) {
            try {
                $item->tag($tag);
                self::fail('It was taken.');
            } catch (InvalidArgumentException) {
            }
        }
        self::assertSame([], $item->getMetadata());
    }

    public function testSubNamespaces(): void
    {
        $pool = $this->pool();
        $sub = $pool->withSubNamespace('one');
        $deep = $sub->withSubNamespace('two');
        foreach (['root' => $pool, 'one' => $sub, 'two' => $deep] as $name => $each) {
            self::assertSame($name, $each->get('key', static function (ItemInterface $item) use ($name): string {
                $item->tag($name === 'one' ? ['t', 'u'] : 't');

                return $name;
            }));
        }
        self::assertSame(['root', 'one', 'two'], [$pool->getItem('key')->get(), $sub->getItem('key')->get(), $deep->getItem('key')->get()]);
        self::assertSame(['u' => 'u', 't' => 't'], \array_reverse($sub->getItem('key')->getMetadata()['tags'], true));
        // Tags are the pool's, whatever the sub-namespace.
        $pool->invalidateTags(['u']);
        self::assertSame([true, false, true], [$pool->hasItem('key'), $sub->hasItem('key'), $deep->hasItem('key')]);
        $sub->save($sub->getItem('key')->set(1));
        $deep->clear();
        self::assertSame([true, true, false], [$pool->hasItem('key'), $sub->hasItem('key'), $deep->hasItem('key')]);
        $deep->save($deep->getItem('key')->set(1));
        $sub->clear();
        self::assertSame([true, false, false], [$pool->hasItem('key'), $sub->hasItem('key'), $deep->hasItem('key')]);
        $deep->save($deep->getItem('key')->set(1));
        $pool->clear();
        self::assertSame([false, false], [$pool->hasItem('key'), $deep->hasItem('key')]);
    }

    public function testClearByPrefix(): void
    {
        $pool = $this->pool();
        $sub = $pool->withSubNamespace('foo');
        foreach (['foo1', 'foo2', 'bar'] as $key) {
            $pool->save($pool->getItem($key)->set(1));
            $sub->save($sub->getItem($key)->set(1));
        }
        self::assertTrue($pool->clear('foo'));
        self::assertSame([false, false, true], [$pool->hasItem('foo1'), $pool->hasItem('foo2'), $pool->hasItem('bar')]);
        self::assertTrue($sub->clear('foo'));
        self::assertSame([false, true], [$sub->hasItem('foo1'), $sub->hasItem('bar')]);
        self::assertTrue($pool->clear('nothing'));
        // Symfony's adapters lose all that was deferred.
        $pool->saveDeferred($pool->getItem('foo1')->set(1));
        $pool->saveDeferred($pool->getItem('other')->set(1));
        self::assertTrue($pool->clear('foo') && $pool->commit());
        self::assertSame([false, true], [$pool->hasItem('foo1'), $pool->hasItem('other')]);
    }

    public function testGetComputesOnce(): void
    {
        $pool = $this->pool();
        $calls = 0;
        $compute = static function (ItemInterface $item, bool &$save) use (&$calls): int {
            self::assertSame(['key', true], [$item->getKey(), $save]);
            $item->expiresAfter(60)->tag('t');

            return ++$calls;
        };
        self::assertSame([1, 1], [$pool->get('key', $compute), $this->other()->get('key', $compute)]);
        $pool->invalidateTags(['t']);
        self::assertSame(2, $this->other()->get('key', $compute));
        self::assertEqualsWithDelta(60, $this->left($pool, 'key'), 2);
    }

    public function testGetTellsMetadata(): void
    {
        $pool = $this->pool();
        $compute = static function (ItemInterface $item): string {
            $item->expiresAfter(100)->tag('t');
            \usleep(20_000);

            return 'value';
        };
        foreach ([$pool, $this->other()] as $each) {
            $metadata = null;
            $each->get('key', $compute, null, $metadata);
            self::assertIsArray($metadata);
            self::assertSame(['t' => 't'], $metadata[CacheItem::METADATA_TAGS]);
            self::assertGreaterThanOrEqual(20, $metadata[CacheItem::METADATA_CTIME]);
            self::assertEqualsWithDelta(\time() + 100, $metadata[CacheItem::METADATA_EXPIRY], 2);
        }
        self::assertSame($metadata, $this->other()->getItem('key')->getMetadata());
    }

    public function testACallbackMayRefuseToStore(): void
    {
        $pool = $this->pool();
        $value = $pool->get('key', static function (ItemInterface $item, bool &$save): string {
            $save = false;

            return 'not this time';
        });
        self::assertSame(['not this time', false], [$value, $pool->hasItem('key')]);
        self::assertSame('over', $pool->get('key', static fn(ItemInterface $item): string => ['over', $item->expiresAfter(0)][0]));
        self::assertFalse($pool->hasItem('key'));
        try {
            $pool->get('key', static fn() => throw new \DomainException('no'));
            self::fail('It was not thrown.');
        } catch (\DomainException) {
        }
        self::assertSame('then', $pool->get('key', static fn(): string => 'then'));
    }

    public function testACallbackMayTakeLardersComputation(): void
    {
        $pool = $this->pool(50);
        $sub = $pool->withSubNamespace('sub');
        $kept = null;
        foreach ([$pool, $sub] as $each) {
            self::assertSame('value', $each->get('key', static function (Computation $computation) use (&$kept): string {
                $kept = $computation->ttl(new \DateInterval('PT1H'))->tags('t', 'u')->soft(1);

                return 'value';
            }, null, $metadata));
            self::assertSame(['t' => 't', 'u' => 'u'], $metadata[CacheItem::METADATA_TAGS]);
        }
        self::assertEqualsWithDelta(3600, $this->left($pool, 'key'), 2);
        self::assertSame('value', $this->other()->getItem('key')->get());
        try {
            $kept->ttl(5);
            self::fail('It has ended.');
        } catch (ComputationEnded) {
        }
        // Past its soft expiry a caller renews it.
        Wait::until(fn(): bool => $this->other()->get('key', static fn(ItemInterface $item): string => 'renewed ' . $item->get()) === 'renewed value', 'the soft expiry');
        $pool->invalidateTags(['u']);
        self::assertFalse($sub->hasItem('key'));

        $pool->get('usual', static fn(Computation $computation): int => 1);
        $pool->get('for_ever', static fn(?Computation $computation): int => $computation->ttl(0) === $computation ? 1 : 0);
        self::assertEqualsWithDelta(50, $this->left($pool, 'usual'), 2);
        self::assertSame([true, -1.0], [$pool->hasItem('for_ever'), $this->left($pool, 'for_ever')]);
        self::assertSame(2, $pool->get('no', static fn(Computation $computation): int => $computation->doNotStore() === $computation ? 2 : 0));
        self::assertSame(3, $pool->get('over', static fn(Computation $computation): int => $computation->ttl(-1) === $computation ? 3 : 0));
        self::assertSame([false, false], [$pool->hasItem('no'), $pool->hasItem('over')]);
        self::assertSame(4, $pool->get('usual', static fn(Computation $computation): int => $computation->ttl(500) === $computation ? 4 : 0, \INF));
        self::assertEqualsWithDelta(500, $this->left($pool, 'usual'), 2);
    }

    public function testBeta(): void
    {
        $pool = $this->pool();
        $calls = 0;
        $compute = static function (ItemInterface $item) use (&$calls): int {
            $item->expiresAfter(3);
            \usleep(20_000);

            return ++$calls;
        };
        self::assertSame(1, $pool->get('key', $compute));
        self::assertSame(2, $pool->get('key', $compute, \INF));
        self::assertSame(2, $this->other()->get('key', $compute));
        // One second before its end one caller renews it, and no one who says 0.
        $end = $pool->getItem('key')->getMetadata()[CacheItem::METADATA_EXPIRY];
        Wait::until(static fn(): bool => \microtime(true) > $end - 0.9, 'the end to be near');
        self::assertSame(2, $this->other()->get('key', $compute, 0.0));
        self::assertSame(3, $this->other()->get('key', $compute));
        self::assertSame(3, $this->other()->get('key', $compute));
        $this->expectException(InvalidArgumentException::class);
        $pool->get('key', $compute, -1.0);
    }

    public function testComputationsOfOtherKeysInside(): void
    {
        $pool = $this->pool();
        self::assertSame('outer inner', $pool->get('outer', static fn(): string => 'outer ' . $pool->get('inner', static fn(): string => 'inner')));
        self::assertSame(['outer inner', 'inner'], [$this->other()->getItem('outer')->get(), $this->other()->getItem('inner')->get()]);
    }

    public function testWhatIsComputedFromAnOlderViewIsNotStored(): void
    {
        $pool = $this->pool();
        $other = $this->other();
        self::assertSame('old', $pool->get('key', static function () use ($other): string {
            $other->deleteItem('key');

            return 'old';
        }));
        self::assertFalse($this->other()->hasItem('key'));
    }

    public function testTheWrapperSeesTheOldValueWhileItIsRenewed(): void
    {
        $pool = $this->pool();
        $seen = [];
        $pool->setCallbackWrapper(static function (callable $callback, CacheItem $item, bool &$save) use (&$seen): mixed {
            $seen[] = [$item->isHit(), $item->get()];

            return $callback($item, $save);
        });
        $pool->get('key', static fn(): int => 1);
        $pool->get('key', static fn(): int => 2, \INF);
        self::assertSame([[false, null], [true, 1]], $seen);
        self::assertSame(2, $pool->getItem('key')->get());
    }

    public function testPruneAndReset(): void
    {
        $pool = $this->pool();
        $pool->saveDeferred($pool->getItem('key')->set(1));
        self::assertTrue($pool->prune());
        self::assertTrue($this->other()->hasItem('key'));
    }

    public function testAPoolIsNotSerialized(): void
    {
        $pool = $this->pool();
        try {
            \serialize($pool);
            self::fail('It was.');
        } catch (\BadMethodCallException) {
        }
        $this->expectException(\BadMethodCallException::class);
        \unserialize(\sprintf('O:%d:"%s":0:{}', \strlen(LarderAdapter::class), LarderAdapter::class));
    }

    protected function pool(int $lifetime = 0): LarderAdapter
    {
        return new LarderAdapter(Cache::open($this->source()), 'pool', $lifetime);
    }

    /** Another request, which sees what is stored. */
    private function other(): LarderAdapter
    {
        return $this->pool();
    }

    private function left(LarderAdapter $pool, string $key): float
    {
        return Cache::open($this->source())->group('pool')->inspect($key)[1]['ttl'] ?? -1.0;
    }
}
