<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Codec\NotStorable;
use Larder\Tests\Support\HookedStore;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

/** Many values at once, each with tags and a life of its own, over a store that may lose markers. */
#[CoversClass(Cache::class)]
final class SetMultipleTest extends TestCase
{
    private HookedStore $store;

    protected function setUp(): void
    {
        $this->store = new HookedStore();
        $this->store->forgets = true;
    }

    public function testEachValueHasItsTagsAndItsLife(): void
    {
        $cache = $this->store->cache();
        $cache->set('over', 'old');
        self::assertTrue($cache->setEach(['a' => 1, 'b' => 2, '3' => 3, 'over' => 4, 'none' => 5], ['a' => 100, 'b' => 7, 3 => 100, 'over' => -1, 'none' => 0], ['a' => ['x'], 'b' => ['x', 'y'], 3 => ['y']]));
        $other = $this->store->cache();
        self::assertSame(['a' => 1, 'b' => 2, 3 => 3, 'none' => 5], $other->getMultiple(['a', 'b', '3', 'over', 'none']));
        $lives = \array_map(static fn(string $key): ?float => $other->inspect($key)[1]['ttl'], ['a', 'b', 'none']);
        self::assertEqualsWithDelta(100, $lives[0], 1);
        self::assertEqualsWithDelta(7, $lives[1], 1);
        self::assertNull($lives[2]);
        $other->invalidateTags('y');
        self::assertSame(['a' => 1, 'none' => 5], $this->store->cache()->getMultiple(['a', 'b', '3', 'none']));
        self::assertTrue($cache->setMultiple(['a' => 1], -1));
        self::assertFalse($this->store->cache()->has('a'));
    }

    public function testNewTagsTakeOneReadAndOneWrite(): void
    {
        $values = $tags = [];
        for ($i = 0; $i < 175; ++$i) {
            $values["key $i"] = $i;
            $tags["key $i"] = ["tag $i", 'all'];
        }
        $cache = $this->store->cache();
        // The flush marker of the space is made once.
        $cache->set('other', 1);
        $calls = $this->counted();
        self::assertTrue($cache->setEach($values, [], $tags));
        self::assertSame(['read' => 1, 'write' => 1], $calls->getArrayCopy());
        self::assertSame($values, $cache->getMultiple(\array_keys($values)));
        self::assertSame($values, $this->store->cache()->getMultiple(\array_keys($values)));

        // Known ones, one write.
        $calls->exchangeArray([]);
        self::assertTrue($cache->setEach($values, [], $tags));
        self::assertSame(['write' => 1], $calls->getArrayCopy());
        $cache->invalidateTags('tag 7');
        unset($values['key 7']);
        self::assertSame($values, $this->store->cache()->getMultiple(["key 7", ...\array_keys($values)]));
        $this->store->cache()->invalidateTags('all');
        self::assertSame([], $this->store->cache()->getMultiple(\array_keys($values)));
    }

    public function testAnotherProcessMakesATagInBetween(): void
    {
        $cache = $this->store->cache();
        $other = $this->store->cache();
        $this->between('write', static fn() => $other->set('other', 'o', 0, ['x']));
        self::assertTrue($cache->setEach(['a' => 1, 'b' => 2], [], ['a' => ['x'], 'b' => ['y']]));
        self::assertSame(['a' => 1, 'b' => 2, 'other' => 'o'], $this->store->cache()->getMultiple(['a', 'b', 'other']));
        self::assertSame(['a' => 1, 'b' => 2, 'other' => 'o'], $cache->getMultiple(['a', 'b', 'other']));
        $cache->invalidateTags('x');
        self::assertSame(['b' => 2], $this->store->cache()->getMultiple(['a', 'b', 'other']));
    }

    public function testAnInvalidationInBetweenCountsAgainstWhatItCovers(): void
    {
        $cache = $this->store->cache();
        $cache->getMultiple(['a', 'b']);
        $other = $this->store->cache();
        $this->between('write', static fn() => $other->invalidateTags('x'));
        self::assertTrue($cache->setEach(['a' => 1, 'b' => 2], [], ['a' => ['x'], 'b' => ['y']]));
        self::assertSame(['b' => 2], $this->store->cache()->getMultiple(['a', 'b']));
    }

    public function testNothingIsStoredIfOneCannotBe(): void
    {
        $cache = $this->store->cache();
        try {
            $cache->setEach(['a' => 1, 'b' => static fn() => 1], [], ['a' => ['x']]);
            self::fail('It was stored.');
        } catch (NotStorable) {
        }
        self::assertSame([], $this->store->cache()->getMultiple(['a', 'b']));
    }

    /** @return \ArrayObject<string, int> calls of the store from now on */
    private function counted(): \ArrayObject
    {
        $calls = new \ArrayObject();
        $this->store->before = static function (string $call) use ($calls): void {
            $calls[$call] = ($calls[$call] ?? 0) + 1;
        };

        return $calls;
    }

    private function between(string $call, \Closure $do): void
    {
        $this->store->before = function (string $name) use ($call, $do): void {
            if ($name === $call) {
                $this->store->before = null;
                $do();
            }
        };
    }
}
