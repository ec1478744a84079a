<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Psr\Cache\CacheItemInterface;
use Symfony\Component\Cache\Adapter\AdapterInterface;
use Symfony\Component\Cache\CacheItem;
use Symfony\Contracts\Cache\ItemInterface;
use Symfony\Contracts\Cache\NamespacedPoolInterface;

/**
 * What is done to a pool, and all that it answers: for a test that lays the answers of two adapters side by side.
 *
 * Each scene gets a maker of pools over one place, by their default lifetime.
 *
 * @phpstan-type Maker \Closure(int): (AdapterInterface&\Symfony\Contracts\Cache\CacheInterface&NamespacedPoolInterface)
 */
final class PoolScenes
{
    /** @param Maker $make */
    public static function items(\Closure $make): \Generator
    {
        $pool = $make(0);
        $item = $pool->getItem('key');
        yield [$item->getKey(), $item->isHit(), $item->get(), $item->getMetadata(), $item->set('value') === $item, $item->get(), $item->isHit()];
        yield [$pool->save($item), $item->isHit(), $pool->hasItem('key'), $make(0)->hasItem('key'), $make(0)->getItem('key')->get(), $pool->getItem('key')->isHit()];
        foreach ([null, false, 0, '', 1.5, [], [[1], ['t' => 'u']], new \ArrayObject([1]), "\0\xff", '12', \PHP_INT_MAX] as $value) {
            yield [$pool->save($pool->getItem('type')->set($value)), $make(0)->hasItem('type'), $make(0)->getItem('type')->isHit(), \serialize($make(0)->getItem('type')->get()), $pool->get('type', static fn(): string => 'computed') == $value];
        }
        yield [$pool->deleteItem('type'), $pool->deleteItem('type'), $pool->delete('none'), $pool->deleteItems(['key', 'none']), $pool->deleteItems([]), $pool->hasItem('key')];
        $object = new \ArrayObject([1]);
        $pool->save($pool->getItem('object')->set($object));
        $object[] = 2;
        $first = $pool->getItem('object')->get();
        yield [\count($first)];
        $first[] = 3;
        yield [\count($pool->getItem('object')->get())];
        $foreign = new class implements CacheItemInterface {
            public function getKey(): string
            {
                return 'foreign';
            }

            public function get(): mixed
            {
                return 1;
            }

            public function isHit(): bool
            {
                return true;
            }

            public function set(mixed $value): static
            {
                return $this;
            }

            public function expiresAt(?\DateTimeInterface $expiration): static
            {
                return $this;
            }

            public function expiresAfter(int|\DateInterval|null $time): static
            {
                return $this;
            }
        };
        yield [$pool->save($foreign), $pool->saveDeferred($foreign), $pool->commit(), $pool->hasItem('foreign')];
        yield [$pool->clear(), $pool->hasItem('object'), $pool->clear()];
    }

    /** @param Maker $make */
    public static function lists(\Closure $make): \Generator
    {
        $pool = $make(0);
        $pool->save($pool->getItem('b')->set(1));
        $pool->save($pool->getItem('12')->set(2));
        $pool->save($pool->getItem('0')->set(3));
        foreach ([[], ['a', '12', 'b', '0'], ['b', 'a', 'b'], ['x' => 'b', 'y' => 'none']] as $keys) {
            yield self::read($make(0)->getItems($keys));
        }
        $pool->saveDeferred($pool->getItem('late')->set(4));
        yield self::read($pool->getItems(['late', 'b']));
        yield [$make(0)->hasItem('late')];
    }

    /** @param Maker $make */
    public static function refusals(\Closure $make): \Generator
    {
        $pool = $make(0);
        foreach (['', 'a:b', 'a/b', 'a{', 'a}', 'a(', 'a)', 'a@b', 'a\\b', null, 12, 1.5, true, [], 'ok', 'ö', ' ', "\0", '.', 'a-b_c.d'] as $key) {
            yield [\var_export($key, true),
                self::refused(static fn() => $pool->getItem($key)), self::refused(static fn() => [...$pool->getItems(['ok', $key])]), self::refused(static fn() => $pool->hasItem($key)),
                self::refused(static fn() => $pool->deleteItem($key)), self::refused(static fn() => $pool->deleteItems(['ok', $key]))];
            if (\is_string($key)) {
                yield [self::refused(static fn() => $pool->get($key, static fn(): int => 1)), self::refused(static fn() => $pool->delete($key)), self::refused(static fn() => $pool->withSubNamespace($key))];
            }
        }
        yield [self::refused(static fn() => $pool->get('key', static fn(): int => 1, -0.5))];
        yield [self::refused(static fn() => \serialize($pool)), self::refused(static fn() => $pool->getItem('key')->expiresAfter('soon'))];
    }

    /** @param Maker $make */
    public static function lifetimes(\Closure $make): \Generator
    {
        $times = [
            'none' => static fn(CacheItem $item) => $item, 'null' => static fn(CacheItem $item) => $item->expiresAfter(null), 'zero' => static fn(CacheItem $item) => $item->expiresAfter(0), 'minus' => static fn(CacheItem $item) => $item->expiresAfter(-1),
            'hour' => static fn(CacheItem $item) => $item->expiresAfter(3_600), 'interval' => static fn(CacheItem $item) => $item->expiresAfter(new \DateInterval('PT1H')),
            'at' => static fn(CacheItem $item) => $item->expiresAt(new \DateTimeImmutable('+1 hour')), 'past' => static fn(CacheItem $item) => $item->expiresAt(new \DateTime('-1 second')),
            'never' => static fn(CacheItem $item) => $item->expiresAt(null), 'epoch' => static fn(CacheItem $item) => $item->expiresAt(new \DateTimeImmutable('@0')), 'centuries' => static fn(CacheItem $item) => $item->expiresAfter(\PHP_INT_MAX >> 4),
        ];
        foreach ([0, 60, -1] as $lifetime) {
            foreach ($times as $name => $set) {
                $pool = $make($lifetime);
                yield [$lifetime, $name, $pool->save($set($pool->getItem($name)->set(1))), $pool->hasItem($name), $make(0)->getItem($name)->isHit()];
                // It removes what is there.
                $pool->save($pool->getItem('over')->set(1)->expiresAfter(60));
                yield [$pool->saveDeferred($set($pool->getItem('over')->set(2))), $pool->commit(), $make(0)->getItem('over')->get()];
                yield [$pool->get("get_$name", static fn(ItemInterface $item): int => $set($item)->get() ?? 3), $make(0)->hasItem("get_$name")];
                yield [$pool->clear()];
            }
        }
    }

    /** @param Maker $make */
    public static function deferred(\Closure $make): \Generator
    {
        $pool = $make(0);
        $item = $pool->getItem('a')->set(1);
        yield [$pool->saveDeferred($item), $item->isHit(), $make(0)->hasItem('a'), $pool->hasItem('a'), $pool->getItem('a')->get()];
        yield [$pool->saveDeferred($pool->getItem('b')->set(1)), $pool->save($pool->getItem('b')->set(2)), $pool->commit(), $make(0)->getItem('b')->get()];
        $late = $pool->getItem('c')->set(1);
        yield [$pool->saveDeferred($late), $late->set(5)->get(), $pool->commit(), $make(0)->getItem('c')->get()];
        yield [$pool->saveDeferred($pool->getItem('d')->set(1)), $pool->deleteItem('d'), $pool->commit(), $make(0)->hasItem('d')];
        yield [$pool->saveDeferred($pool->getItem('e')->set(1)), $pool->clear(), $pool->commit(), $make(0)->hasItem('e')];
        yield [$pool->saveDeferred($pool->getItem('foo1')->set(1)), $pool->clear('foo'), $pool->commit(), $make(0)->hasItem('foo1')];
        yield [$pool->saveDeferred($pool->getItem('f')->set(1)), $pool->get('f', static fn(): int => 2), $make(0)->hasItem('f')];
        yield [$pool->saveDeferred($pool->getItem('g')->set(1)->expiresAfter(-1)), $pool->hasItem('g'), $pool->getItem('g')->isHit()];
        yield [$pool->saveDeferred($pool->getItem('h')->set(static fn() => 1)), $pool->saveDeferred($pool->getItem('i')->set(2)), $pool->commit(), $make(0)->hasItem('h'), $make(0)->getItem('i')->get()];
        yield [$pool->save($pool->getItem('j')->set(static fn() => 1)), $pool->hasItem('j'), \is_callable($pool->get('j', static fn() => static fn() => 1)), $make(0)->hasItem('j')];
        $sub = $pool->withSubNamespace('sub');
        yield [$sub->saveDeferred($sub->getItem('k')->set(1)), $pool->commit(), $make(0)->withSubNamespace('sub')->hasItem('k'), $sub->commit(), $make(0)->withSubNamespace('sub')->hasItem('k')];
        $pool->saveDeferred($pool->getItem('end')->set(1));
        unset($pool, $sub);
        \gc_collect_cycles();
        yield [$make(0)->hasItem('end')];
    }

    /** @param Maker $make */
    public static function prefixes(\Closure $make): \Generator
    {
        $pool = $make(0);
        foreach (['foo', 'foo1', 'foobar', 'bar', 'fo'] as $key) {
            $pool->save($pool->getItem($key)->set(1));
        }
        $left = static fn(): array => \array_column(self::read($make(0)->getItems(['foo', 'foo1', 'foobar', 'bar', 'fo'])), 2, 0);
        foreach (['none', 'foo1', 'foo', 'f', ''] as $prefix) {
            yield [$prefix, $pool->clear($prefix), $left()];
        }
    }

    /** @param Maker $make */
    public static function namespaces(\Closure $make): \Generator
    {
        $pool = $make(0);
        $one = $pool->withSubNamespace('one');
        $deep = $one->withSubNamespace('two');
        $other = $pool->withSubNamespace('other');
        $pools = ['root' => $pool, 'one' => $one, 'two' => $deep, 'other' => $other];
        $fill = static function () use ($pools): void {
            foreach ($pools as $name => $each) {
                $each->save($each->getItem('key')->set($name));
            }
        };
        $seen = static fn(): array => [$make(0)->getItem('key')->get(), $make(0)->withSubNamespace('one')->getItem('key')->get(), $make(0)->withSubNamespace('one')->withSubNamespace('two')->getItem('key')->get(), $make(0)->withSubNamespace('other')->getItem('key')->get()];
        $fill();
        yield $seen();
        yield [$pool::class === $one::class, $one->getItem('key')->getKey(), $one->deleteItem('key'), ...$seen()];
        $fill();
        yield [$other->clear(), ...$seen()];
        $fill();
        yield [$deep->clear(), ...$seen()];
        $fill();
        yield [$pool->clear(), ...$seen()];
    }

    /** @param Maker $make */
    public static function computations(\Closure $make): \Generator
    {
        $pool = $make(0);
        $calls = 0;
        $compute = static function (ItemInterface $item, bool &$save) use (&$calls): int {
            $save = $item->getKey() !== 'not' && $save;

            return ++$calls;
        };
        yield [$pool->get('a', $compute), $pool->get('a', $compute), $make(0)->get('a', $compute), $pool->get('a', $compute, \INF), $make(0)->get('a', $compute, 0.0)];
        yield [$pool->get('not', $compute), $pool->hasItem('not'), $pool->get('not', $compute)];
        yield [self::refused(static fn() => $pool->get('thrown', static fn() => throw new \DomainException())), $pool->hasItem('thrown')];
        yield [$pool->get('outer', static fn(): string => 'o' . $pool->get('inner', static fn(): string => 'i')), $make(0)->getItem('inner')->get(), $make(0)->getItem('outer')->get()];
        yield [$pool->get('a', static fn(ItemInterface $item): array => [$item->isHit(), $item->get()], \INF)];
        foreach ([$pool, $make(0)] as $each) {
            $metadata = null;
            $each->get('meta', static function (ItemInterface $item): int {
                $item->expiresAfter(3_000);
                // So long that it is more than no millisecond.
                \usleep(5_000);

                return 1;
            }, null, $metadata);
            yield [isset($metadata[CacheItem::METADATA_CTIME], $metadata[CacheItem::METADATA_EXPIRY]), $metadata[CacheItem::METADATA_CTIME] >= 5, \abs($metadata[CacheItem::METADATA_EXPIRY] - \time() - 3_000) < 3];
        }
        yield [\array_diff_key($make(0)->getItem('meta')->getMetadata(), $metadata) === []];
    }

    /** @param Maker $make of a pool that keeps tags */
    public static function tags(\Closure $make): \Generator
    {
        $pool = $make(0);
        $pool->save($pool->getItem('a')->set(1)->tag(['x', '12']));
        $pool->save($pool->getItem('b')->set(2)->tag('y')->tag('x'));
        $pool->save($pool->getItem('c')->set(3));
        $hits = static fn(): array => self::read($make(0)->getItems(['a', 'b', 'c']));
        yield [$hits()];
        foreach (['a', 'b', 'c'] as $key) {
            $tags = $make(0)->getItem($key)->getMetadata()[CacheItem::METADATA_TAGS] ?? [];
            \ksort($tags);
            yield [$key, \array_map(\strval(...), $tags)];
        }
        yield [$pool->invalidateTags(['12']), $hits()];
        $pool->save($pool->getItem('b')->set(3)->tag('z'));
        yield [$pool->invalidateTags(['x']), $hits()];
        $pool->save($pool->getItem('b')->set(4));
        yield [$pool->invalidateTags(['z']), $hits()];
        yield [$pool->invalidateTags([]), $pool->invalidateTags(['unknown']), $hits()];
        yield [self::refused(static fn() => $pool->invalidateTags([''])), self::refused(static fn() => $pool->invalidateTags(['a:b'])), self::refused(static fn() => $pool->getItem('t')->tag('')), self::refused(static fn() => $pool->getItem('t')->tag('a{'))];
        yield [$pool->get('get', static fn(ItemInterface $item): int => $item->tag(['g'])->set(7)->get() ?? 0), $pool->invalidateTags(['g']), $make(0)->hasItem('get')];
        $sub = $pool->withSubNamespace('sub');
        $sub->save($sub->getItem('a')->set(1)->tag('s'));
        yield [$pool->invalidateTags(['s']), $make(0)->withSubNamespace('sub')->hasItem('a')];
        $sub->save($sub->getItem('a')->set(1)->tag('s'));
        yield [$sub->invalidateTags(['s']), $make(0)->withSubNamespace('sub')->hasItem('a')];
        $pool->saveDeferred($pool->getItem('a')->set(1)->tag('d'));
        yield [$pool->invalidateTags(['d']), $pool->commit(), $make(0)->hasItem('a')];
    }

    /**
     * @param iterable<string, CacheItem> $items
     *
     * @return list<array{string, string, bool, mixed}> in the order of their keys: Symfony's adapters have others
     */
    private static function read(iterable $items): array
    {
        $read = [];
        foreach ($items as $key => $item) {
            $read[] = [$key, $item->getKey(), $item->isHit(), $item->get()];
        }
        \sort($read);

        return $read;
    }

    private static function refused(\Closure $call): string
    {
        try {
            $call();

            return '';
        } catch (\Throwable $refusal) {
            return $refusal::class;
        }
    }
}
