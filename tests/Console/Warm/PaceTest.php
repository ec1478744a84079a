<?php

declare(strict_types=1);

namespace Larder\Tests\Console\Warm;

use Larder\Console\Warm\Pace;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(Pace::class)]
final class PaceTest extends TestCase
{
    /** How many requests may be under way at a time. */
    private static function limit(Pace $pace, float $now = 0.0): int
    {
        for ($running = 0; $pace->mayBegin($running, $now); $running++);

        return $running;
    }

    private static function answered(Pace $pace, float $seconds, int $times): void
    {
        for ($i = 0; $i < $times; $i++) {
            $pace->answered($seconds);
        }
    }

    public function testItBeginsWithOneAndGrowsToTheMost(): void
    {
        $pace = new Pace(4);
        self::assertSame(1, self::limit($pace));
        $pace->answered(0.1);
        self::assertSame(2, self::limit($pace));
        self::answered($pace, 0.1, 100);
        self::assertSame(4, self::limit($pace));
        self::assertSame(0, $pace->slowed());
    }

    public function testSlowerAnswersHalveItAndQuickOnesLetItGrowAgain(): void
    {
        $pace = new Pace(8);
        self::answered($pace, 0.1, 64);
        self::assertSame(8, self::limit($pace));
        self::answered($pace, 0.5, 8);
        self::assertSame([4, 1], [self::limit($pace), $pace->slowed()]);
        self::answered($pace, 0.5, 24);
        self::assertSame([1, 4], [self::limit($pace), $pace->slowed()]);
        self::answered($pace, 0.1, 16);
        self::assertSame([3, 4], [self::limit($pace), $pace->slowed()]);
    }

    public function testASingleSlowPageIsNoLoad(): void
    {
        $pace = new Pace(4);
        self::answered($pace, 0.5, 32);
        $pace->answered(3.0);
        self::answered($pace, 0.5, 7);
        self::assertSame([4, 0], [self::limit($pace), $pace->slowed()]);
    }

    public function testAFewMillisecondsMoreAreNoLoad(): void
    {
        $pace = new Pace(4);
        self::answered($pace, 0.002, 32);
        self::answered($pace, 0.02, 32);
        self::assertSame([4, 0], [self::limit($pace), $pace->slowed()]);
    }

    public function testASiteThatStaysSlowerIsNotHeldBackForEver(): void
    {
        $pace = new Pace(4);
        self::answered($pace, 0.2, 32);
        self::answered($pace, 0.5, 8 * 60);
        self::assertSame(4, self::limit($pace));
    }

    public function testFailuresHalveItAndPause(): void
    {
        $pace = new Pace(8);
        self::answered($pace, 0.1, 64);
        $pace->failed(10.0);
        self::assertSame([0, 0, 4], [self::limit($pace, 10.0), self::limit($pace, 10.9), self::limit($pace, 11.0)]);
        self::assertSame(1.0, $pace->pause(10.0));
        $pace->failed(11.0);
        $pace->failed(13.0);
        self::assertSame([0, 1], [self::limit($pace, 16.9), self::limit($pace, 17.0)], 'each pause is twice the last one');
        $pace->answered(0.1);
        $pace->failed(20.0);
        self::assertSame([0, 1], [self::limit($pace, 20.9), self::limit($pace, 21.0)], 'but for an answer between them');
    }

    public function testItWaitsAsLongAsTheSiteWishesWithinReason(): void
    {
        $pace = new Pace(1);
        $pace->failed(0.0, 0.0);
        self::assertSame(1, self::limit($pace, 0.0));
        $pace->failed(0.0, 40.0);
        self::assertSame([0, 1], [self::limit($pace, 39.9), self::limit($pace, 40.0)]);
        $pace->failed(40.0, 1e6);
        self::assertSame(120.0, $pace->pause(40.0));
    }

    public function testASiteThatDoesNothingButFailIsHopeless(): void
    {
        $pace = new Pace(4);
        for ($i = 0; $i < 11; $i++) {
            $pace->failed(0.0, 0.0);
        }
        self::assertFalse($pace->isHopeless());
        $pace->answered(0.1);
        $pace->failed(0.0, 0.0);
        self::assertFalse($pace->isHopeless());
        for ($i = 0; $i < 11; $i++) {
            $pace->failed(0.0, 0.0);
        }
        self::assertTrue($pace->isHopeless());
    }
}
