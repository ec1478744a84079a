<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Larder\Lab\Statistics\Interval;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

final class IntervalTest extends TestCase
{
    #[TestWith([0.9, 1.1, false])]
    #[TestWith([1.0, 1.1, false])]
    #[TestWith([0.9, 1.0, false])]
    #[TestWith([1.01, 1.1, true])]
    #[TestWith([0.9, 0.99, true])]
    #[TestWith([0.0, \INF, false])]
    public function testADifferenceIsAnIntervalWithoutOne(float $low, float $high, bool $different): void
    {
        self::assertSame($different, (new Interval(1.0, $low, $high, 5))->excludesOne());
    }

    public function testItsReach(): void
    {
        self::assertEqualsWithDelta(0.1, (new Interval(1.05, 0.95, 1.15, 5))->halfWidth(), 1e-15);
        self::assertTrue((new Interval(1.05, 0.95, 1.15, 5))->bounded());
        self::assertSame(\INF, (new Interval(1.0, 0.0, \INF, 1))->halfWidth());
        self::assertFalse((new Interval(1.0, 0.0, \INF, 1))->bounded());
    }
}
