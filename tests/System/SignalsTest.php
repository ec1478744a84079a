<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\Cache;
use Larder\System\Signals;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Reentrancy\Waking;
use Larder\Tests\Support\HookedStore;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** Handlers of asynchronous signals that throw, as a job's time-out does, at any moment. */
#[RequiresPhpExtension('pcntl')]
final class SignalsTest extends TestCase
{
    use Forks;

    protected const FORKS = true;

    private bool $async = false;

    protected function setUp(): void
    {
        $this->async = \pcntl_async_signals();
    }

    protected function tearDown(): void
    {
        // The sender first: what it sends would end this process.
        $this->endChildren();
        \pcntl_async_signals($this->async);
        \pcntl_signal(\SIGUSR1, \SIG_IGN);
        \pcntl_signal(\SIGCHLD, \SIG_DFL);
    }

    /**
     * Seen to fail: PHP leaves a finally out where a handler throws on the way into it, and from then on calls of engines
     * were interrupted.
     */
    #[TestWith([1])]
    #[TestWith([2])]
    #[TestWith([3])]
    public function testAHandlerThatThrowsAsAComputationReturnsLetsNoLaterOneIn(int $times): void
    {
        $cache = Cache::open(['dsn' => 'memory://', 'lease' => 60.0]);
        $left = $times;
        $handler = static function () use (&$left): void {
            if (--$left > 0) {
                // It is due as soon as this one has ended.
                self::raise();
            }
            throw new \DomainException('time is up');
        };
        \pcntl_signal(\SIGUSR1, $handler);
        \pcntl_signal(\SIGCHLD, $handler);
        \pcntl_async_signals(true);
        try {
            $cache->remember('computed', static function (): string {
                // PHP closes it when it leaves this function, after the last of its own looks for signals here.
                $child = \popen('exec cat', 'w');

                return \is_resource($child) ? 'v' : '';
            });
            self::fail('The handler was not called.');
        } catch (\DomainException) {
        }
        $left = 1;
        Waking::$does = self::raise(...);
        try {
            $cache->set('k', new Waking('whole'));
            self::fail('The handler was not called.');
        } catch (\DomainException) {
            // After the call, and not in the middle of it.
        } finally {
            Waking::$does = null;
        }
        $there = $cache->get('k');
        self::assertInstanceOf(Waking::class, $there);
        self::assertSame('whole', $there->text);
        self::assertTrue(\pcntl_async_signals());
    }

    public function testTheyAreLetInWhileWorkRunsAndKeptOutAfterIt(): void
    {
        $seen = [];
        \pcntl_signal(\SIGUSR1, static function () use (&$seen): void {
            $seen[] = 'handler';
        });
        \pcntl_async_signals(true);
        (static function () use (&$seen): void {
            $held = Signals::hold();
            self::raise();
            $seen[] = 'held';
            Signals::letIn(static function () use (&$seen): void {
                $seen[] = 'let in';
                self::raise();
            });
            $seen[] = 'held again';
            self::raise();
            $seen[] = 'end';
        })();
        self::assertSame(['held', 'handler', 'let in', 'handler', 'held again', 'end', 'handler'], $seen);
    }

    private static function raise(): void
    {
        \posix_kill(\posix_getpid(), \SIGUSR1);
    }

    // Seen to fail: the handler threw between two of the markers that are read again, and the second was not.
    public function testTheyWaitUntilAllMarkersOfStandingIntentsAreReadAgain(): void
    {
        $store = new HookedStore();
        $store->cache()->set('one', 1, 0, ['a']);
        $store->cache()->set('two', 2, 0, ['b']);
        $writer = $store->cache();
        $writer->begin();
        $writer->invalidateTags('a', 'b');
        $reader = $store->cache();
        self::assertSame([null, null], [$reader->get('one'), $reader->get('two')]);
        \pcntl_signal(\SIGUSR1, static fn() => throw new \DomainException('time is up'));
        \pcntl_async_signals(true);
        $read = [];
        $store->after = static function (string $call, array $keys) use (&$read): void {
            $read[] = $keys[0];
            self::raise();
        };
        try {
            $reader->learn();
            self::fail('The handler was not called.');
        } catch (\DomainException) {
        } finally {
            $store->after = null;
        }
        self::assertSame(['t::a', 't::b'], $read);
    }

    // Seen to fail: a lock stayed taken for all processes, and a lease to its end.
    #[TestWith(['file'])]
    #[TestWith(['sqlite'])]
    #[TestWith(['memory'])]
    public function testWhatTheyInterruptIsWholeAfterwards(string $scheme): void
    {
        $directory = new TemporaryDirectory();
        $dsn = $scheme === 'memory' ? 'memory://' : "$scheme://$directory->path/cache";
        $cache = Cache::open(['dsn' => $dsn, 'lease' => 60.0]);
        $isOn = $thrown = $rounds = 0;
        \pcntl_signal(\SIGUSR1, static function () use (&$isOn, &$thrown): void {
            if ($isOn === 1) {
                $isOn = 0;
                $thrown++;
                throw new \DomainException('time is up');
            }
        });
        \pcntl_async_signals(true);
        $parent = \posix_getpid();
        $this->fork(static function () use ($parent): never {
            while (\posix_kill($parent, \SIGUSR1)) {
                \usleep(\random_int(50, 1000));
            }
            exit;
        });
        for ($end = \hrtime(true) + 500_000_000; \hrtime(true) < $end || $thrown < 6; $rounds++) {
            try {
                $isOn = 1;
                $cache->set("k$rounds", 'v');
                $cache->add("lock$rounds", 1, 60);
                $cache->increment('count');
                $cache->remember("r$rounds", static fn(): string => 'computed');
                $cache->delete("k$rounds");
                $cache->refresh();
                $isOn = 0;
            } catch (\DomainException) {
                // It has put itself out.
            }
            // Nobody waits, least of all for itself.
            $start = \hrtime(true);
            self::assertTrue($cache->set('k', $rounds));
            self::assertTrue($cache->add("another$rounds", 1, 60));
            self::assertSame('computed', $cache->remember("r$rounds", static fn(): string => 'computed'));
            self::assertLessThan(10, (\hrtime(true) - $start) / 1e9);
        }
        if ($scheme !== 'memory') {
            self::assertTrue(Cache::open($dsn)->set('another process', 'may write'));
        }
        self::assertTrue(\pcntl_async_signals());
    }
}
