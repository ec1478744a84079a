<?php

declare(strict_types=1);

namespace Larder\Tests\RateLimiter;

use Larder\RateLimiter;
use Larder\RateLimiter\Decision;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** What rate limits promise, over whatever keeps them. */
abstract class RateLimiterRules extends TestCase
{
    abstract protected function open(): RateLimiter;

    /** @return iterable<string, array{\Closure(RateLimiter, string, int, float, int=): Decision}> */
    public static function kinds(): iterable
    {
        yield 'fixed window' => [static fn(RateLimiter $limiter, string $key, int $limit, float $seconds, int $cost = 1): Decision => $limiter->fixedWindow($key, $limit, $seconds, $cost)];
        yield 'sliding window' => [static fn(RateLimiter $limiter, string $key, int $limit, float $seconds, int $cost = 1): Decision => $limiter->slidingWindow($key, $limit, $seconds, $cost)];
        yield 'token bucket' => [static fn(RateLimiter $limiter, string $key, int $limit, float $seconds, int $cost = 1): Decision => $limiter->tokenBucket($key, $limit, $limit, $seconds, $cost)];
    }

    /** @param \Closure(RateLimiter, string, int, float, int=): Decision $ask */
    #[DataProvider('kinds')]
    public function testItAllowsUpToTheLimitAndSaysWhenToComeAgain(\Closure $ask): void
    {
        $limiter = $this->open();
        for ($left = 2; $left >= 0; $left--) {
            $decision = $ask($limiter, 'k', 3, 600);
            self::assertTrue($decision->isAllowed);
            self::assertSame($left, $decision->remaining);
            self::assertSame(0.0, $decision->retryAfter);
            self::assertGreaterThan(0.0, $decision->resetAfter);
        }
        foreach ([1, 3] as $cost) {
            $decision = $ask($this->open(), 'k', 3, 600, $cost);
            self::assertFalse($decision->isAllowed);
            self::assertSame(0, $decision->remaining);
            self::assertGreaterThan(0.0, $decision->retryAfter);
            self::assertLessThanOrEqual(600.0, $decision->retryAfter);
            self::assertLessThanOrEqual($decision->resetAfter, $decision->retryAfter);
        }
        self::assertTrue($ask($limiter, 'another', 3, 600)->isAllowed);
        $limiter->clear('k');
        self::assertSame(2, $ask($limiter, 'k', 3, 600)->remaining);
    }

    /** @param \Closure(RateLimiter, string, int, float, int=): Decision $ask */
    #[DataProvider('kinds')]
    public function testWhatIsNotAllowedAndWhatOnlyAsksIsNotCounted(\Closure $ask): void
    {
        $limiter = $this->open();
        for ($i = 0; $i < 5; $i++) {
            self::assertTrue($ask($limiter, 'k', 3, 600, 0)->isAllowed);
            self::assertSame(3, $ask($limiter, 'k', 3, 600, 0)->remaining);
        }
        self::assertSame(1, $ask($limiter, 'k', 3, 600, 2)->remaining);
        for ($i = 0; $i < 5; $i++) {
            self::assertFalse($ask($limiter, 'k', 3, 600, 2)->isAllowed);
        }
        self::assertTrue($ask($limiter, 'k', 3, 600)->isAllowed);
        self::assertTrue($ask($limiter, 'k', 3, 600, 0)->isAllowed, 'It only asks.');
    }

    /** @param \Closure(RateLimiter, string, int, float, int=): Decision $ask */
    #[DataProvider('kinds')]
    public function testItAllowsAgainWhenItHasSaid(\Closure $ask): void
    {
        $limiter = $this->open();
        for ($round = 0; $round < 3; $round++) {
            self::assertTrue($ask($limiter, 'k', 4, 0.2, 4)->isAllowed, "round $round");
            $decision = $ask($limiter, 'k', 4, 0.2, 4);
            if (!$decision->isAllowed) {
                // A thousandth more, since times are whole thousandths.
                \usleep((int) (($decision->retryAfter + 0.001) * 1e6));
            }
        }
    }

    public function testABucketFillsEvenly(): void
    {
        $limiter = $this->open();
        self::assertTrue($limiter->tokenBucket('k', 100, 10, 600, 100)->isAllowed);
        $decision = $limiter->tokenBucket('k', 100, 10, 600);
        self::assertFalse($decision->isAllowed);
        self::assertGreaterThan(30.0, $decision->retryAfter);
        self::assertLessThanOrEqual(60.0, $decision->retryAfter);
        self::assertGreaterThan(5_000.0, $decision->resetAfter);
        self::assertLessThanOrEqual(6_000.0, $decision->resetAfter);
    }

    /** @param \Closure(RateLimiter, string, int, float, int=): Decision $ask */
    #[DataProvider('kinds')]
    public function testTenProcessesAreAllowedExactlyTheLimit(\Closure $ask): void
    {
        $this->open()->clear('k');
        $children = [];
        for ($i = 0; $i < 10; $i++) {
            $pid = \pcntl_fork();
            if ($pid === 0) {
                $allowed = 255;
                try {
                    $limiter = $this->open();
                    for ($allowed = $n = 0; $n < 20; $n++) {
                        $allowed += $ask($limiter, 'k', 77, 3_600)->isAllowed ? 1 : 0;
                    }
                } finally {
                    // Without what the test has to clean up.
                    \pcntl_exec('/bin/sh', ['-c', "exit $allowed"]);
                }
            }
            $children[] = $pid;
        }
        $sum = 0;
        foreach ($children as $pid) {
            \pcntl_waitpid($pid, $status);
            $sum += \pcntl_wexitstatus($status);
        }
        self::assertSame(77, $sum);
    }

    public function testKeysAndKindsAreApart(): void
    {
        $limiter = $this->open();
        $keys = ['a', 'A', "a\0", '0', '{x}', '}', "\xff", ' ', '*', \str_repeat('k', RateLimiter::LONGEST_KEY)];
        foreach (self::kinds() as [$ask]) {
            foreach ($keys as $key) {
                self::assertSame(0, $ask($limiter, $key, 1, 600)->remaining, \bin2hex($key));
            }
        }
    }

    // Seen to fail: a state's name without the window, and a bucket's without its size or its filling.
    public function testWhatCountsOtherwiseWithTheSameKeyIsApart(): void
    {
        $limiter = $this->open();
        foreach (self::kinds() as $kind => [$ask]) {
            self::assertTrue($ask($limiter, 'k', 5, 3_600, 5)->isAllowed);
            // A short window that ends again and again must not take what the long one has counted with it.
            for ($i = 0; $i < 3; $i++) {
                $ask($limiter, 'k', 5, 0.001);
                \usleep(3_000);
            }
            self::assertFalse($ask($limiter, 'k', 5, 3_600)->isAllowed, $kind);
            self::assertSame(4, $ask($limiter, 'k', 5, 600)->remaining, $kind);
        }
        $slow = static fn(): bool => $limiter->tokenBucket('bucket', 5, 1, 3_600)->isAllowed;
        self::assertTrue($limiter->tokenBucket('bucket', 5, 1, 3_600, 5)->isAllowed);
        // One that fills fast must not fill the other one.
        for ($i = 0; $i < 3; $i++) {
            $limiter->tokenBucket('bucket', 5, 3_600_000_000, 3_600);
            \usleep(3_000);
        }
        self::assertFalse($slow());
        self::assertSame(99, $limiter->tokenBucket('bucket', 100, 1, 3_600)->remaining);
        self::assertSame(98, $limiter->tokenBucket('bucket', 100, 1, 3_600)->remaining);
        self::assertFalse($slow());
    }

    // Seen to fail: forget() that knows the hash and no list, or one state alone.
    public function testClearForgetsAllThatIsCountedForAKey(): void
    {
        $limiter = $this->open();
        $asks = [];
        foreach (self::kinds() as [$ask]) {
            foreach ([60, 600, 3_600] as $seconds) {
                $asks[] = static fn(string $key): bool => $ask($limiter, $key, 5, $seconds, 5)->isAllowed;
            }
        }
        foreach ($asks as $ask) {
            self::assertTrue($ask('k'));
            self::assertTrue($ask("k\xff"));
            self::assertTrue($ask('s60000'));
        }
        $limiter->clear('k');
        foreach ($asks as $i => $ask) {
            self::assertTrue($ask('k'), "state $i");
            self::assertFalse($ask("k\xff"));
            self::assertFalse($ask('s60000'));
        }
    }

    public function testNonsenseIsRefused(): void
    {
        $limiter = $this->open();
        foreach ([
            static fn() => $limiter->fixedWindow('', 1, 1),
            static fn() => $limiter->fixedWindow(\str_repeat('k', RateLimiter::LONGEST_KEY + 1), 1, 1),
            static fn() => $limiter->clear(''),
            static fn() => $limiter->fixedWindow('k', 0, 1),
            static fn() => $limiter->fixedWindow('k', 1, 0),
            static fn() => $limiter->fixedWindow('k', 1, \NAN),
            static fn() => $limiter->fixedWindow('k', 1, \INF),
            static fn() => $limiter->fixedWindow('k', 1, 1, -1),
            static fn() => $limiter->fixedWindow('k', 1, 1, 2),
            static fn() => $limiter->fixedWindow('k', \PHP_INT_MAX, 1),
            static fn() => $limiter->slidingWindow('k', RateLimiter::LARGEST_SLIDING + 1, 1),
            static fn() => $limiter->tokenBucket('k', 1, 0, 1),
            static fn() => $limiter->tokenBucket('k', 1, \PHP_INT_MAX, 1),
        ] as $i => $call) {
            try {
                $call();
                self::fail("call $i");
            } catch (\InvalidArgumentException) {
            }
        }
        self::assertTrue($limiter->tokenBucket('largest', \intdiv(2 ** 53, 1000), 2 ** 53, 1)->isAllowed);
        self::assertTrue($limiter->slidingWindow('largest', RateLimiter::LARGEST_SLIDING, 1, RateLimiter::LARGEST_SLIDING)->isAllowed);
    }
}
