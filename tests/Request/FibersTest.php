<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;
use Revolt\EventLoop;

/** Each fiber is a request of its own: what it has read, its copies, fills, intents and leases. */
#[RequiresPhpExtension('pdo_sqlite')]
final class FibersTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    private function cache(string $near = 'none'): Cache
    {
        return Cache::open(['dsn' => $this->dsn(), 'near' => $near]);
    }

    private function dsn(): string
    {
        return "sqlite://{$this->directory->path}/cache";
    }

    /** @return iterable<string, array{string}> */
    public static function nears(): iterable
    {
        yield 'none' => ['none'];
        yield 'apcu' => ['apcu'];
        if (\extension_loaded('larder')) {
            yield 'segment' => ['segment'];
        }
    }

    // Seen to fail: the refresh moved the view of all fibers.
    #[DataProvider('nears')]
    public function testARefreshConcernsTheCallingFiberOnly(string $near): void
    {
        foreach (['a fiber', 'the main program'] as $who) {
            $cache = $this->cache($near);
            $a = new \Fiber(static function () use ($cache): bool {
                self::assertNull($cache->get('price'));
                \Fiber::suspend();

                return $cache->fill('price', 1);
            });
            $a->start();
            $other = $this->cache($near);
            $other->intend('price');
            $other->delete('price');
            $refresh = static fn() => $cache->refresh();
            $who === 'a fiber' ? (new \Fiber($refresh))->start() : $refresh();
            $a->resume();
            self::assertFalse($a->getReturn(), $who);
            $cache->refresh();
            self::assertNull($cache->get('price'));
        }
    }

    // Seen to fail: a set of one fiber counted as the other's own.
    #[DataProvider('nears')]
    public function testTheOlderOfTwoFibersViewsNeverWins(string $near): void
    {
        $cache = $this->cache($near);
        $set = static fn(int $value): \Fiber => new \Fiber(static function () use ($cache, $value): void {
            $cache->refresh();
            \Fiber::suspend();
            $cache->set('price', $value);
        });
        [$older, $newer] = [$set(1), $set(2)];
        $older->start();
        $newer->start();
        $newer->resume();
        $older->resume();
        self::assertNull($this->cache($near)->get('price'));
    }

    // Seen to fail: the view began with the set, after what others had changed.
    #[DataProvider('nears')]
    public function testAFiberThatSetsWithoutHavingReadIsJudgedFromTheBeginningOfTheMainProgram(string $near): void
    {
        $cache = $this->cache($near);
        $fiber = new \Fiber(static function () use ($cache): void {
            // What it sets it has read from the database here.
            \Fiber::suspend();
            self::assertTrue($cache->set('price', 'old'));
            self::assertTrue($cache->group('g')->set('price', 'old'));
            self::assertTrue($cache->set('tagged', 'old', 0, ['t']));
            self::assertTrue($cache->set('other', 'kept'));
        });
        $fiber->start();
        $other = $this->cache($near);
        $other->delete('price');
        $other->group('g')->flush();
        $other->invalidateTags('t');
        $fiber->resume();
        $next = $this->cache($near);
        self::assertSame([null, null, null, 'kept'], [$next->get('price'), $next->group('g')->get('price'), $next->get('tagged'), $next->get('other')]);

        // One that has read it is judged from there, whether the value lay before or after.
        $next->set('price', 'new');
        (new \Fiber(static function () use ($cache): void {
            self::assertSame('new', $cache->get('price'));
            $cache->set('price', 'newer');
            $cache->refresh();
            $cache->set('other', 'newer');
        }))->start();
        self::assertSame(['newer', 'newer'], [$this->cache($near)->get('price'), $this->cache($near)->get('other')]);
    }

    #[DataProvider('nears')]
    public function testEachFiberHasCopiesOfItsOwn(string $near): void
    {
        $cache = $this->cache($near);
        $cache->set('k', 'old');
        self::assertSame('old', $cache->get('k'));
        $a = new \Fiber(static function () use ($cache): array {
            $seen = [$cache->get('k'), \Fiber::suspend(), $cache->get('k')];
            $cache->refresh();

            return [...$seen, $cache->get('k'), $cache->has('k'), $cache->getMultiple(['k'])];
        });
        $a->start();
        $this->cache($near)->set('k', 'new');
        $late = new \Fiber(static fn(): mixed => $cache->get('k'));
        $late->start();
        self::assertSame('new', $late->getReturn(), 'one that begins later sees it');
        self::assertSame('old', $cache->get('k'), 'the main program keeps its view');
        $a->resume();
        self::assertSame(['old', null, 'old', 'new', true, ['k' => 'new']], $a->getReturn());
    }

    #[DataProvider('nears')]
    public function testWhatAFiberLeavesEndsWithIt(string $near): void
    {
        foreach (['ends', 'is destroyed', 'ends, and the main program refreshes'] as $how) {
            $cache = $this->cache($near);
            $cache->flush();
            $fiber = new \Fiber(static function () use ($cache, $how): void {
                $cache->get('f');
                $cache->fill('f', 'filled');
                $cache->intend('i');
                $how === 'is destroyed' && \Fiber::suspend();
            });
            $fiber->start();
            if ($how === 'ends, and the main program refreshes') {
                $cache->refresh();
            } else {
                unset($fiber);
            }
            $next = $this->cache($near);
            self::assertSame('filled', $next->get('f'), $how);
            self::assertNull($next->get('i'));
            self::assertTrue($next->fill('i', 1));
            $next->writeFills();
            self::assertSame(1, $this->cache($near)->get('i'), "$how: its intent");
        }
    }

    // Seen to fail: with Revolt loaded, what had been noted of a fiber that has ended was not found.
    public function testWhatAFiberLeavesEndsWithItBesideAnEventLoop(): void
    {
        self::assertTrue(\class_exists(EventLoop::class));
        $this->testWhatAFiberLeavesEndsWithIt('none');
    }

    public function testStatisticsAddUp(): void
    {
        $cache = $this->cache();
        $cache->set('k', 'v');
        $before = $cache->stats(false);
        $work = static function () use ($cache): void {
            $cache->refresh();
            $cache->get('k');
            $cache->get('k');
            $cache->getMultiple(['k', 'l']);
            $cache->remember('k', static fn(): int => 0);
            $cache->has('k');
        };
        $keep = [];
        for ($i = 0; $i < 20; $i++) {
            $fiber = new \Fiber($work);
            $fiber->start();
            $i < 10 && $keep[] = $fiber;
            $i % 4 === 0 && $work();
        }
        $after = $cache->stats(false);
        self::assertSame([25 * 5, 25 * 2], [$after['request']['hits'] + $after['request']['misses'] - $before['request']['hits'] - $before['request']['misses'] - 25, $after['request']['misses'] - $before['request']['misses']]);
        self::assertSame([25, 25], [$after['disk']['hits'] - $before['disk']['hits'], $after['disk']['misses'] - $before['disk']['misses']]);
    }

    public function testAFibersTransactionIsItsOwn(): void
    {
        $cache = $this->cache();
        $cache->set('k', 'committed');
        $fiber = new \Fiber(static function () use ($cache): void {
            $cache->refresh();
            $cache->transaction(static function () use ($cache): void {
                $cache->set('k', 'in it');
                \Fiber::suspend();
            });
        });
        $fiber->start();
        $cache->refresh();
        self::assertNull($cache->get('k'), 'an intent stands');
        // It may have been read by the same database connection.
        self::assertSame('computed', $cache->remember('r', static fn(): string => 'computed'));
        self::assertNull($this->cache()->get('r'));
        $cache->get('f');
        self::assertFalse($cache->fill('f', 'computed'));
        self::assertTrue($cache->set('outside', 1));
        $fiber->resume();
        self::assertSame(['in it', 1], [$this->cache()->get('k'), $this->cache()->get('outside')]);
    }

    public function testFibersOfAnEventLoopComputeOnce(): void
    {
        $cache = $this->cache();
        $calls = 0;
        $compute = static function () use (&$calls): int {
            \Amp\delay(0.02);

            return ++$calls;
        };
        $futures = \array_map(static fn(int $i): \Amp\Future => \Amp\async(static fn(): mixed => $cache->remember('k', $compute)), \range(1, 8));
        \Amp\delay(0);
        // The main program waits too, while the loop goes on.
        self::assertSame(1, $cache->remember('k', $compute));
        self::assertSame([1], \array_unique(\array_values(\Amp\Future\await($futures))));
        self::assertSame(1, $calls);
    }

    public function testTwoComputationsThatWaitForEachOtherGetOn(): void
    {
        $cache = $this->cache();
        $nested = static fn(string $outer, string $inner): \Amp\Future => \Amp\async(static fn(): mixed => $cache->remember($outer, static function () use ($cache, $inner): mixed {
            \Amp\delay(0.001);

            return $cache->remember($inner, static fn(): string => $inner);
        }));
        $start = \hrtime(true);
        \Amp\Future\await([$nested('a', 'b'), $nested('b', 'a')]);
        self::assertLessThan(25e9, \hrtime(true) - $start, 'a lease of 30 s was waited for');
    }

    public function testWhoWaitsGetsOnWhenTheComputingFiberIsDestroyed(): void
    {
        $cache = $this->cache();
        EventLoop::queue(static function () use ($cache): void {
            $cache->remember('k', static fn(): mixed => EventLoop::getSuspension()->suspend());
        });
        $waits = \Amp\async(static fn(): mixed => $cache->remember('k', static fn(): string => 'computed'));
        \Amp\delay(0.005);
        self::assertFalse($waits->isComplete());
        // Nobody holds its suspension.
        \gc_collect_cycles();
        self::assertSame('computed', $waits->await());
    }

    public function testAnEventLoopGoesOnWhileAFiberWaitsForAnotherProcess(): void
    {
        $other = Process::php(__DIR__ . '/Fibers/holder.php', [$this->dsn()]);
        $other->expect('computing');
        $cache = $this->cache();
        $waits = \Amp\async(static fn(): mixed => $cache->remember('k', static fn(): string => 'here'));
        \Amp\delay(0.005);
        // Only code that runs while the fiber waits can end the wait.
        self::assertFalse($waits->isComplete());
        $other->write("now\n");
        self::assertSame('of the other process', $waits->await());
    }

    // Seen to fail: once the main program had waited, the loop said that it runs, and fibers that it does not resume waited.
    public function testPlainFibersNeverWaitForEachOther(): void
    {
        \Amp\delay(0);
        $cache = $this->cache();
        $calls = 0;
        $fibers = [];
        $start = \hrtime(true);
        for ($i = 0; $i < 8; $i++) {
            $fibers[$i] = new \Fiber(static function () use ($cache, &$calls): mixed {
                return $cache->remember('k', static function () use (&$calls): string {
                    $calls++;
                    \Fiber::suspend();

                    return 'v';
                });
            });
            $fibers[$i]->start();
        }
        foreach ($fibers as $fiber) {
            $fiber->resume();
            self::assertSame('v', $fiber->getReturn());
        }
        self::assertSame(8, $calls);
        self::assertLessThan(25e9, \hrtime(true) - $start, 'a lease of 30 s was waited for');
    }

    public function testATaskInAFiberThatServedAnotherBeginsAnew(): void
    {
        $cache = $this->cache();
        $cache->set('k', 'old');
        $see = static fn(): array => [\spl_object_id((object) \Fiber::getCurrent()), $cache->get('k')];
        $first = \Amp\async($see)->await();
        $this->cache()->set('k', 'new');
        self::assertSame([[$first[0], 'old'], [$first[0], 'new']], [$first, \Amp\async($see)->await()]);
    }

    public function testSwoolesCoroutinesHaveViewsOfTheirOwn(): void
    {
        $process = Process::php(__DIR__ . '/Fibers/swoole.php', [$this->dsn()]);
        self::assertSame('[null,false,null,["old","old","old","new","old","old"],9]' . "\n", $process->output());
        self::assertSame('', $process->errors());
    }

    #[Group('slow')]
    public function testShortFibersLeaveNothingBehind(): void
    {
        $cache = $this->cache();
        $group = $cache->group('g');
        $work = static function () use ($cache, $group): void {
            $cache->get('k');
            $group->get('k');
        };
        for ($i = 0; $i < 100_000; $i++) {
            (new \Fiber($work))->start();
            if ($i === 1000) {
                $before = \memory_get_usage();
            }
        }
        self::assertLessThan(100_000, \memory_get_usage() - ($before ?? 0));
    }

    /** @return iterable<string, array{string, string, int}> */
    public static function plays(): iterable
    {
        foreach (['plain', 'react', 'revolt', 'amp'] as $loop) {
            foreach (self::nears() as $near => $_) {
                yield "$loop, near=$near" => [$loop, $near, 100];
            }
        }
    }

    /** @return iterable<string, array{string, string, int}> */
    public static function longPlays(): iterable
    {
        foreach (self::plays() as $name => [$loop, $near]) {
            yield $name => [$loop, $near, 10_000];
        }
    }

    #[DataProvider('plays')]
    #[Group('slow')]
    public function testNoInterleavingLeavesAnOldValue(string $loop, string $near, int $count): void
    {
        // Who waits for the output is the watchdog.
        $process = Process::php(__DIR__ . '/Fibers/play.php', [$this->dsn(), $near, $loop, (string) $count]);
        $output = $process->output(540.0);
        self::assertSame('', $process->errors());
        /** @var array{stale: list<string>, most: int, computed: int, refused: int} $seen */
        $seen = \json_decode($output, true, 512, \JSON_THROW_ON_ERROR);
        self::assertSame([], $seen['stale'], $output);
        self::assertGreaterThan(0, $seen['refused'], $output);
        self::assertLessThanOrEqual(\in_array($loop, ['revolt', 'amp'], true) ? 1 : 8, $seen['most'], $output);
    }

    #[Group('long')]
    #[DataProvider('longPlays')]
    public function testNoneOfTenThousandInterleavingsLeavesAnOldValue(string $loop, string $near, int $count): void
    {
        $this->testNoInterleavingLeavesAnOldValue($loop, $near, $count);
    }
}
