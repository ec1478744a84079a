<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Report\Distribution;
use Larder\Lab\Run\Result;
use PHPUnit\Framework\TestCase;

final class DistributionTest extends TestCase
{
    public function testItIsHighWhereSamplesAreFrequent(): void
    {
        // Places 10, 12, 14 and, apart, 30, of 1,000; twice as many at 12 as at 10 and 14.
        $path = self::of([...\array_fill(0, 20, 1.0), ...\array_fill(0, 40, 1.2), ...\array_fill(0, 20, 1.4), 3.0])->path(self::at(...), 5.0);

        self::assertSame('M10 10.5V7.8h2V5h2V7.8h2V13.3h-2V16h-2V13.3h-2zM30 10.5V10h2V11h-2z', $path);
    }

    public function testEachOfFewSamplesIsATick(): void
    {
        self::assertSame('M10 0h2v11h-2zM50 0h2v11h-2z', self::of([5.0, 1.0])->path(self::at(...), 0.0));
    }

    public function testOneInterruptionDoesNotStretchTheScale(): void
    {
        self::assertSame([1.0, 1.0], self::of([...\array_fill(0, 199, 1.0), 5_000.0])->ends());
        self::assertSame([1.0, 5_000.0], self::of([...\array_fill(0, 100, 1.0), 5_000.0])->ends(), 'few samples are all drawn');
    }

    public function testASampleOfNoTimeHasNoPlaceOnALogarithmicScale(): void
    {
        self::assertSame([2.0, 2.0], self::of([0.0, 2.0])->ends());
        self::assertSame([[\INF, 0.0], ''], [self::of([0.0])->ends(), self::of([0.0])->path(self::at(...), 0.0)]);
    }

    private static function at(float $value): float
    {
        return $value;
    }

    /** @param non-empty-list<float> $samples */
    private static function of(array $samples): Distribution
    {
        return new Distribution(new Result(Fixture::report()->results[0]->cell, [$samples]));
    }
}
