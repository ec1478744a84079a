<?php

declare(strict_types=1);

namespace Larder\Testing;

use Larder\Cache;
use PHPUnit\Framework\Assert;

/** What tests say of a cache, for a test case of PHPUnit. A group is a Cache too. */
// @phpstan-ignore trait.unused (by Larder itself)
trait CacheAssertions
{
    /**
     * Reads as the program does, which counts as a hit.
     *
     * @param mixed $expected the value; left out: any. Scalars must be identical. Arrays and objects must have the same serialized
     *                        form: the same types, classes, private properties and order of keys. An object is not the same one,
     *                        since objects come out as copies
     */
    public static function assertCached(Cache $cache, string $key, mixed $expected = null): void
    {
        $missed = new \stdClass();
        $value = $cache->get($key, $missed);
        Assert::assertNotSame($missed, $value, "The cache has no value for \"$key\".");
        if (\func_num_args() > 2) {
            \is_scalar($expected) || $expected === null || [$expected, $value] = [\serialize($expected), \serialize($value)];
            Assert::assertSame($expected, $value, "The cache has another value for \"$key\".");
        }
    }

    /** Where no tier has a value this counts no miss, and the program has not read the key by it. */
    public static function assertNotCached(Cache $cache, string $key): void
    {
        // A tier may still hold what no get answers any more: a value whose bounded life is over.
        $isFound = \in_array(true, \array_column($cache->inspect($key), 'found'), true) && $cache->has($key);
        Assert::assertFalse($isFound, "The cache has a value for \"$key\".");
    }

    /** That an invalidation of each of these tags would end the value. */
    public static function assertTagged(Cache $cache, string $key, string ...$tags): void
    {
        self::assertCached($cache, $key);
        $cache->writeFills();
        $tiers = $cache->inspect($key);
        Assert::assertSame([], \array_values(\array_diff($tags, \end($tiers)['tags'] ?? [])), "The value for \"$key\" does not have these tags.");
    }

    /** That a value was stored under the key once since the beginning, as after several calls of remember(). */
    public static function assertComputedOnce(TestCache $test, string $key, ?Cache $group = null): void
    {
        self::assertComputed(1, $test, $key, $group);
    }

    /** That a value was stored under the key so often since the beginning; what a computation does not store is not counted. */
    public static function assertComputed(int $times, TestCache $test, string $key, ?Cache $group = null): void
    {
        Assert::assertSame($times, $test->stored($key, $group), "So often was a value stored for \"$key\".");
    }
}
