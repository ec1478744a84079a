<?php

declare(strict_types=1);

namespace Larder\Tests\Testing;

use Larder\Codec\NotStorable;
use Larder\Computation;
use Larder\Config\InvalidConfiguration;
use Larder\Testing\CacheAssertions;
use Larder\Testing\TestCache;
use PHPUnit\Framework\AssertionFailedError;
use PHPUnit\Framework\TestCase;

final class TestCacheTest extends TestCase
{
    use CacheAssertions;

    public function testTimePassesOnlyAsFarAsTheTestSays(): void
    {
        $test = new TestCache();
        $other = $test->request();
        $group = $test->cache->group('g', ttl: 30);
        $test->cache->set('minute', ['v'], 60);
        $test->cache->set('ever', 'v');
        $group->set('half', 'v');
        self::assertSame(['v'], $other->get('minute'));
        $test->pass(25);
        foreach ([$test->cache, $other] as $cache) {
            self::assertCached($cache, 'minute', ['v']);
            self::assertCached($cache->group('g'), 'half', 'v');
        }
        $test->pass(4.999);
        self::assertCached($group, 'half');
        $test->pass(0.001);
        self::assertNotCached($group, 'half');
        self::assertNotCached($other->group('g'), 'half');
        self::assertCached($other, 'minute');
        $test->pass(new \DateInterval('PT30S'));
        foreach ([$test->cache, $other, $test->request()] as $cache) {
            self::assertNotCached($cache, 'minute');
            self::assertCached($cache, 'ever', 'v');
        }
        self::assertTrue($other->add('minute', 'new', 60));
        self::assertSame('new', $test->request()->get('minute'));
    }

    // Seen to fail: the store's own clock went on.
    public function testTimeStandsStillHoweverLongTheTestTakes(): void
    {
        $test = new TestCache();
        $test->cache->set('k', ['v'], 1);
        $test->cache->group('g', ttl: 1)->set('k', 'v');
        \usleep(1_600_000);
        foreach ([$test->cache, $test->request()] as $cache) {
            self::assertCached($cache, 'k', ['v']);
            self::assertCached($cache->group('g'), 'k', 'v');
        }
        $test->pass(1);
        self::assertNotCached($test->cache, 'k');
        self::assertNotCached($test->cache->group('g'), 'k');
    }

    public function testPastTheSoftExpiryTheNextCallerRenews(): void
    {
        $test = new TestCache();
        $count = 0;
        $compute = static function () use (&$count): int {
            return ++$count;
        };
        $ask = static fn(): mixed => $test->cache->remember('k', $compute, 600, soft: 60);
        self::assertSame([1, 1], [$ask(), $ask()]);
        self::assertComputedOnce($test, 'k');
        $test->pass(50);
        self::assertSame(1, $ask());
        $test->pass(11);
        self::assertSame([2, 2], [$ask(), $ask()]);
        self::assertComputed(2, $test, 'k');
        $test->pass(601);
        self::assertSame(3, $ask());
    }

    public function testALeaseEndsInThatTimeToo(): void
    {
        $test = new TestCache(['lease' => 30]);
        $other = $test->request();
        $test->cache->remember('k', static function () use ($test, $other): string {
            $test->pass(31);
            $other->remember('k', static fn(): string => 'by another');

            return 'too late';
        });
        self::assertCached($test->request(), 'k', 'by another');
    }

    public function testACacheApartSeesTheTimeWithItsNextRequest(): void
    {
        $test = new TestCache();
        $apart = $test->cache->apart();
        $test->cache->set('k', 'v', 60);
        self::assertCached($apart, 'k');
        $test->pass(60);
        $apart->refresh();
        self::assertNotCached($apart, 'k');
        $apart->set('k', 'v', 1);
        $test->pass(0.999);
        $apart->refresh();
        self::assertCached($apart, 'k');
    }

    // Seen to fail: pass() that drops the main program's copies only.
    public function testTimePassesInFibersToo(): void
    {
        $test = new TestCache();
        $test->cache->set('k', ['v'], 60);
        $test->cache->group('g', ttl: 60)->set('k', 'v');
        $fiber = new \Fiber(static function () use ($test): void {
            self::assertCached($test->cache, 'k', ['v']);
            self::assertCached($test->cache->group('g'), 'k', 'v');
            \Fiber::suspend();
            self::assertNull($test->cache->get('k'));
            self::assertNull($test->cache->group('g')->get('k'));
        });
        $fiber->start();
        $test->pass(60);
        $fiber->resume();
        self::assertTrue($fiber->isTerminated());
    }

    public function testRequestsOverlapAsThoseOfProcessesDo(): void
    {
        $test = new TestCache();
        $other = $test->request();
        self::assertNull($test->cache->get('k'));
        $other->set('k', 'newer');
        self::assertFalse($test->cache->fill('k', 'computed before'));
        self::assertCached($test->request(), 'k', 'newer');
        self::assertNotCached((new TestCache())->cache, 'k');
    }

    public function testItCountsWhatIsStoredUnderAKey(): void
    {
        $test = new TestCache();
        $group = $test->cache->group('g');
        $group->remember('k', static fn(): int => 1, tags: ['t']);
        $group->remember('k', static fn(): int => 2);
        $test->cache->fill('filled', 1);
        self::assertComputed(0, $test, 'filled');
        $test->cache->writeFills();
        $test->cache->remember('nowhere', static fn(Computation $computation): string => $computation->doNotStore()::class);
        $test->cache->transaction(static fn(): bool => $test->cache->set('set', 'v'));
        $test->cache->delete('set');
        self::assertComputedOnce($test, 'k', $group);
        self::assertTagged($group, 'k', 't');
        foreach (['k' => 0, 'filled' => 1, 'nowhere' => 0, 'set' => 1] as $key => $times) {
            self::assertComputed($times, $test, $key);
        }
    }

    // Seen to fail: pass() that takes any number.
    public function testTimeThatCannotPassIsSaid(): void
    {
        $test = new TestCache();
        $test->cache->set('k', 'v', 60);
        foreach ([-1, -0.001, \NAN, \INF, -\INF, 1e300, \PHP_INT_MAX, \DateInterval::createFromDateString('1 second ago')] as $time) {
            try {
                $test->pass($time);
                self::fail('It passed.');
            } catch (\InvalidArgumentException $refusal) {
                self::assertStringContainsString('cannot pass', $refusal->getMessage());
            }
        }
        self::assertCached($test->request(), 'k');
        $test->pass(0);
        // In a float 2.007 times 1,000 is more than 2,007.
        $test->pass(2.007);
        $test->pass(57.992);
        self::assertCached($test->request(), 'k');
        $test->pass(0.0001);
        self::assertNotCached($test->request(), 'k');
        $test->cache->set('k', 'v', 600);
        $test->pass(315_360_000_000);
        self::assertNotCached($test->request(), 'k');
    }

    // Seen to fail: assertNotCached() that calls has().
    public function testAnAbsenceThatIsAssertedIsNoMiss(): void
    {
        $test = new TestCache();
        $figures = static fn(): array => \array_map(static fn(array $tier): array => \array_intersect_key($tier, ['hits' => 0, 'misses' => 0]), $test->cache->stats());
        self::assertNull($test->cache->get('k'));
        $before = $figures();
        self::assertNotCached($test->cache, 'k');
        self::assertNotCached($test->cache, 'another');
        self::assertSame($before, $figures());
        // The program has not missed it: what somebody else has set since stands against it.
        $test->request()->set('another', 'newer');
        $test->cache->set('another', 'older');
        self::assertNull($test->request()->get('another'), 'neither is kept');
        $test->cache->fill('pending', 'v');
        $failed = 0;
        try {
            self::assertNotCached($test->cache, 'pending');
        } catch (AssertionFailedError) {
            ++$failed;
        }
        self::assertSame(1, $failed);
        // Of these two nobody knows which is the older one.
        $test = new TestCache();
        self::assertNull($test->cache->get('k'));
        $test->request()->set('k', 1);
        $test->cache->set('k', 2);
        self::assertCached($test->request(), 'k', 2);
        $test->pass(10);
        self::assertNotCached($test->request(), 'k');
    }

    // Seen to fail: assertEquals().
    public function testWhatIsCachedMustBeOfTheSameTypes(): void
    {
        $test = new TestCache();
        $date = new \DateTimeImmutable('2026-01-01 12:00', new \DateTimeZone('UTC'));
        foreach (['list' => [1, 2.0, [null]], 'date' => $date, 'class' => (object) ['a' => 1], 'true' => true, 'text' => 'a:0:{}'] as $key => $value) {
            $test->cache->set($key, $value);
            self::assertCached($test->cache, $key, $value);
        }
        foreach ([
            ['list', ['1', 2, [null]]], ['list', [1, 2.0, [false]]], ['list', [2 => [null], 1 => 2.0, 0 => 1]], ['list', 1], ['list', null],
            ['date', $date->setTimezone(new \DateTimeZone('+02:00'))], ['date', new \DateTime('2026-01-01 12:00', new \DateTimeZone('UTC'))],
            ['class', (object) ['a' => '1']], ['class', (object) ['a' => true]], ['class', ['a' => 1]], ['class', 'O:8:"stdClass":1:{s:1:"a";i:1;}'], ['true', 1], ['true', [1]], ['text', []], ['true', $date],
        ] as $i => [$key, $expected]) {
            try {
                self::assertCached($test->cache, $key, $expected);
            } catch (AssertionFailedError) {
                continue;
            }
            self::fail("Number $i does not fail.");
        }
    }

    public function testTheAssertionsFailWhereTheyShould(): void
    {
        $test = new TestCache();
        $test->cache->set('null', null, tags: ['t']);
        $test->cache->set('object', (object) ['a' => 1]);
        $test->cache->set('again', 1);
        $test->cache->set('again', 2);
        self::assertCached($test->cache, 'null', null);
        self::assertCached($test->cache, 'null');
        self::assertCached($test->cache, 'object', (object) ['a' => 1]);
        foreach ([
            static fn() => self::assertCached($test->cache, 'nothing'),
            static fn() => self::assertCached($test->cache, 'nothing', null),
            static fn() => self::assertCached($test->cache, 'null', false),
            static fn() => self::assertCached($test->cache, 'again', '2'),
            static fn() => self::assertCached($test->cache, 'again', null),
            static fn() => self::assertCached($test->cache, 'object', (object) ['a' => 2]),
            static fn() => self::assertNotCached($test->cache, 'null'),
            static fn() => self::assertTagged($test->cache, 'null', 't', 'other'),
            static fn() => self::assertTagged($test->cache, 'nothing', 't'),
            static fn() => self::assertComputedOnce($test, 'again'),
            static fn() => self::assertComputedOnce($test, 'nothing'),
        ] as $i => $assertion) {
            try {
                $assertion();
            } catch (AssertionFailedError) {
                continue;
            }
            self::fail("Number $i does not fail.");
        }
    }

    public function testItTakesTheOptionsOfACache(): void
    {
        $test = new TestCache(['classes' => false]);
        try {
            $test->cache->set('k', new \stdClass());
            self::fail('It was stored.');
        } catch (NotStorable) {
            self::assertNotCached($test->cache, 'k');
        }
        $test = new TestCache(['near_budget' => '1M']);
        for ($i = 0; $i < 50; $i++) {
            $test->cache->set("k$i", \str_repeat("$i", 50_000));
        }
        self::assertNull($test->request()->get('k0'), 'It keeps its budget.');
        $test = new TestCache(['secret' => 'hunter-2']);
        self::assertStringNotContainsString('hunter-2', \print_r($test, true) . \print_r((array) $test, true));
        foreach ([['far' => 'redis://localhost'], ['dsn' => 'redis://localhost'], ['disk' => 'sqlite:///tmp'], ['none' => 1]] as $options) {
            try {
                new TestCache($options);
                self::fail('It has no such tier.');
            } catch (InvalidConfiguration) {
            }
        }
    }
}
