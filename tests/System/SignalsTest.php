<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\Cache;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** Handlers of asynchronous signals that throw, as a job's time-out does, at any moment. */
#[Group('long')]
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
        for ($end = \hrtime(true) + 1_500_000_000; \hrtime(true) < $end; $rounds++) {
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
        self::assertGreaterThan(5, $thrown);
        if ($scheme !== 'memory') {
            self::assertTrue(Cache::open($dsn)->set('another process', 'may write'));
        }
        self::assertTrue(\pcntl_async_signals());
    }
}
