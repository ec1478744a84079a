<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Cache;
use Larder\Computation;
use Larder\Psr\CacheItemPool;
use Larder\Psr\SimpleCache;
use Larder\Request\InvalidKey;
use Larder\System\InvalidInterval;
use Larder\Tests\Support\HookedStore;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** Times to live, soft expiries and tags, wherever Cache takes some, and where a group has them. */
final class TimesTest extends TestCase
{
    private HookedStore $store;
    private Cache $cache;

    protected function setUp(): void
    {
        $this->store = new HookedStore();
        $this->cache = $this->store->cache();
        $this->cache->set('replaced', 'old');
        $this->cache->group('g', ttl: 1)->set('replaced', 'old', 0);
    }

    /** @return iterable<string, array{\Closure(Cache, null|int|\DateInterval): mixed, string}> a call that stores the key "k" or "replaced" */
    public static function calls(): iterable
    {
        yield 'set' => [static fn(Cache $cache, int|\DateInterval|null $ttl): bool => $cache->set('k', 'v', $ttl), 'k'];
        yield 'setMultiple' => [static fn(Cache $cache, int|\DateInterval|null $ttl): bool => $cache->setMultiple(['k' => 'v'], $ttl), 'k'];
        yield 'add' => [static fn(Cache $cache, int|\DateInterval|null $ttl): bool => $cache->add('k', 'v', $ttl), 'k'];
        yield 'replace' => [static fn(Cache $cache, int|\DateInterval|null $ttl): bool => $cache->replace('replaced', 'v', $ttl), 'replaced'];
        yield 'fill' => [static fn(Cache $cache, int|\DateInterval|null $ttl): bool => $cache->fill('k', 'v', $ttl), 'k'];
        yield 'remember' => [static fn(Cache $cache, int|\DateInterval|null $ttl): mixed => $cache->remember('k', static fn(): string => 'v', $ttl), 'k'];
        yield 'a computation' => [static fn(Cache $cache, int|\DateInterval|null $ttl): mixed => $cache->remember('k', static fn(Computation $computation): string => $computation->ttl($ttl)::class), 'k'];
        yield 'increment' => [static fn(Cache $cache, int|\DateInterval|null $ttl): int|false => $cache->increment('k', ttl: $ttl), 'k'];
        yield 'decrement' => [static fn(Cache $cache, int|\DateInterval|null $ttl): int|false => $cache->decrement('k', ttl: $ttl), 'k'];
        yield 'set in a transaction' => [static fn(Cache $cache, int|\DateInterval|null $ttl): bool => $cache->transaction(static fn(): bool => $cache->set('k', 'v', $ttl)), 'k'];
        yield 'setMultiple in a transaction' => [static fn(Cache $cache, int|\DateInterval|null $ttl): bool => $cache->transaction(static fn(): bool => $cache->setMultiple(['k' => 'v'], $ttl)), 'k'];
    }

    /** @param \Closure(Cache, null|int|\DateInterval): mixed $call */
    #[DataProvider('calls')]
    public function testItTakesSecondsAnIntervalOrNothing(\Closure $call, string $key): void
    {
        $earlier = new \DateInterval('PT1H');
        $earlier->invert = 1;
        $fraction = new \DateInterval('PT0S');
        $fraction->f = 0.2;
        foreach ([[90, 90.0], [new \DateInterval('PT90S'), 90.0], [$fraction, 1.0], [null, null], [0, null], [new \DateInterval('PT0S'), null]] as [$ttl, $expected]) {
            $this->setUp();
            self::assertNotFalse($call($this->cache, $ttl));
            $this->cache->writeFills();
            self::assertLives($expected, $this->store->cache(), $key);
        }
        foreach ([-1, $earlier] as $ttl) {
            $this->setUp();
            $call($this->cache, $ttl);
            $this->cache->writeFills();
            self::assertFalse($this->store->cache()->has($key));
        }
    }

    /** @param \Closure(Cache, null|int|\DateInterval): mixed $call */
    #[DataProvider('calls')]
    public function testAnIntervalThatOverflowsIsRefusedAndNothingChanges(\Closure $call, string $key): void
    {
        $interval = new \DateInterval('P1D');
        $interval->d = \PHP_INT_MAX;
        try {
            $call($this->cache, $interval);
            self::fail('It was taken.');
        } catch (InvalidInterval $invalid) {
            self::assertStringContainsString('10,000 years', $invalid->getMessage());
        }
        $this->cache->writeFills();
        self::assertSame($key === 'k' ? null : 'old', $this->store->cache()->get($key));
        self::assertTrue($this->cache->set('k', 'works on'));
        self::assertSame([], \preg_grep('/^l/', \array_keys(\iterator_to_array($this->store->each()))), 'no lease is left');
    }

    /** @param \Closure(Cache, null|int|\DateInterval): mixed $call */
    #[DataProvider('calls')]
    public function testAGroupsOwnTimeCountsWhereNoneIsGiven(\Closure $call, string $key): void
    {
        $group = static fn(Cache $cache): Cache => $cache->group('g', ttl: new \DateInterval('PT90S'));
        foreach ([[null, 90.0], [30, 30.0], [0, null]] as [$ttl, $expected]) {
            $this->setUp();
            self::assertNotFalse($call($group($this->cache), $ttl));
            $this->cache->writeFills();
            self::assertLives($expected, $this->store->cache()->group('g'), $key);
        }
        $this->setUp();
        $call($this->cache->group('g', ttl: -1), null);
        $this->cache->writeFills();
        self::assertFalse($this->store->cache()->group('g')->has($key), 'A negative one has expired.');
        // It is the object's, and not the group's in the store.
        $this->setUp();
        $group($this->cache);
        $call($this->cache->group('g'), null);
        $this->cache->writeFills();
        self::assertLives(null, $this->store->cache()->group('g'), $key);
    }

    public function testAGroupInAGroupHasItsTimesUnlessItHasItsOwn(): void
    {
        $group = $this->cache->group('outer', ttl: 90, soft: 10);
        $group->group('inner')->set('k', 'v');
        $group->group('inner')->group('innermost', ttl: 30)->set('k', 'v');
        $group->group('for ever', ttl: 0)->set('k', 'v');
        $group->apart()->set('apart', 'v');
        $group->internals()->within(['inner', 'within'])->set('k', 'v');
        self::assertLives(90.0, $group->group('inner'), 'k');
        self::assertLives(90.0, $group->group('inner')->group('within'), 'k');
        self::assertLives(30.0, $group->group('inner')->group('innermost'), 'k');
        self::assertLives(null, $group->group('for ever'), 'k');
        self::assertLives(90.0, $group, 'apart');
        $this->store->ahead = 11_000;
        $outer = $this->store->cache()->group('outer');
        foreach ([$outer->group('inner'), $outer->group('inner')->group('within')] as $renewed) {
            self::assertSame('new', $renewed->remember('k', static fn(): string => 'new'));
        }
    }

    /** @return iterable<string, array{\Closure(Cache, array{}|array{soft: int|\DateInterval}): mixed}> */
    public static function softCalls(): iterable
    {
        yield 'set' => [static fn(Cache $cache, array $soft): bool => $cache->set('k', 'v', 60, ['t'], ...$soft)];
        yield 'setMultiple' => [static fn(Cache $cache, array $soft): bool => $cache->setMultiple(['k' => 'v'], 60, ['t'], ...$soft)];
        yield 'add' => [static fn(Cache $cache, array $soft): bool => $cache->add('k', 'v', 60, ['t'], ...$soft)];
        yield 'replace' => [static fn(Cache $cache, array $soft): bool => $cache->set('k', 'old') && $cache->replace('k', 'v', 60, ['t'], ...$soft)];
        yield 'fill' => [static fn(Cache $cache, array $soft): bool => $cache->fill('k', 'v', 60, ['t'], ...$soft)];
        yield 'remember' => [static fn(Cache $cache, array $soft): mixed => $cache->remember('k', static fn(): string => 'v', 60, ['t'], ...$soft)];
        yield 'set in a transaction' => [static fn(Cache $cache, array $soft): bool => $cache->transaction(static fn(): bool => $cache->set('k', 'v', 60, ['t'], ...$soft))];
        yield 'setMultiple in a transaction' => [static fn(Cache $cache, array $soft): bool => $cache->transaction(static fn(): bool => $cache->setMultiple(['k' => 'v'], 60, ['t'], ...$soft))];
    }

    /** @param \Closure(Cache, array{}|array{soft: int|\DateInterval}): mixed $call */
    #[DataProvider('softCalls')]
    public function testPastTheSoftExpiryOneRenewsWhatWasStored(\Closure $call): void
    {
        foreach ([[['soft' => 10], false], [['soft' => new \DateInterval('PT10S')], false], [[], true], [['soft' => 0], false]] as $i => [$soft, $isGroups]) {
            $this->store = new HookedStore();
            $cache = $this->store->cache();
            $open = static fn(Cache $cache): Cache => $cache->group('g', soft: $isGroups ? 10 : null);
            $call($open($cache), $soft);
            $cache->writeFills();
            $this->store->ahead = 9_000;
            self::assertSame('v', $this->store->cache()->group('g')->remember('k', static fn(): string => 'too soon'));
            $this->store->ahead = 11_000;
            self::assertSame('v', $this->store->cache()->group('g')->get('k'), 'It is there until its end.');
            $expected = $i === 3 ? 'v' : 'new';
            self::assertSame($expected, $this->store->cache()->group('g')->remember('k', static fn(): string => 'new'));
        }
    }

    public function testATouchWithoutATimeGivesTheGroups(): void
    {
        $this->cache->group('g')->set('k', 'v');
        self::assertTrue($this->cache->group('g', ttl: 90)->touch('k', null));
        self::assertLives(90.0, $this->store->cache()->group('g'), 'k');
        self::assertTrue($this->cache->group('g')->touch('k'));
        self::assertLives(null, $this->store->cache()->group('g'), 'k');
    }

    public function testANewCounterHasItsGroupsSoftExpiry(): void
    {
        self::assertSame(1, $this->cache->group('g', ttl: 90, soft: 10)->increment('k'));
        $this->store->ahead = 11_000;
        self::assertSame(2, $this->store->cache()->group('g')->increment('k'), 'It counts on until its end.');
        self::assertSame(0, $this->store->cache()->group('g')->remember('k', static fn(): int => 0));
    }

    public function testSetMultipleTakesTags(): void
    {
        $this->cache->setMultiple(['a' => 1, 'b' => 2], tags: ['t', 'u']);
        $this->cache->set('c', 3);
        self::assertSame(['t', 'u'], $this->cache->inspect('b')[1]['tags']);
        $this->store->cache()->invalidateTags('u');
        self::assertSame(['c' => 3], $this->store->cache()->getMultiple(['a', 'b', 'c']));
        $this->expectException(InvalidKey::class);
        $this->cache->setMultiple(['a' => 1], tags: ['']);
    }

    public function testAnAdapterOfAGroupHasItsTimes(): void
    {
        $group = $this->cache->group('g', ttl: 90);
        $simple = new SimpleCache($group);
        $simple->set('k', 'v');
        $simple->setMultiple(['many' => 'v']);
        $simple->set('never', 'v', \PHP_INT_MAX);
        $pool = new CacheItemPool($group);
        $pool->save($pool->getItem('k')->set('v'));
        $pool->saveDeferred($pool->getItem('deferred')->set('v'));
        $pool->save($pool->getItem('never')->set('v')->expiresAfter(\PHP_INT_MAX));
        $pool->save($pool->getItem('at')->set('v')->expiresAt(new \DateTimeImmutable('@' . \PHP_INT_MAX)));
        $pool->commit();
        foreach (['psr-16' => ['k' => 90.0, 'many' => 90.0], 'psr-6' => ['k' => 90.0, 'deferred' => 90.0]] as $name => $expected) {
            foreach ($expected as $key => $ttl) {
                self::assertLives($ttl, $group->group($name), $key);
            }
        }
        foreach ([['psr-16', 'never'], ['psr-6', 'never'], ['psr-6', 'at']] as [$name, $key]) {
            self::assertGreaterThan(9e9, $group->group($name)->inspect($key)[1]['ttl']);
        }
    }

    private static function assertLives(?float $expected, Cache $cache, string $key): void
    {
        $tiers = $cache->inspect($key);
        $truth = \end($tiers);
        self::assertIsArray($truth);
        self::assertTrue($truth['found']);
        $expected === null ? self::assertNull($truth['ttl']) : self::assertEqualsWithDelta($expected, $truth['ttl'], $expected > 10 ? 8 : 1);
    }
}
