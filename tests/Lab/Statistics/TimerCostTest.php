<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Larder\Lab\Statistics\TimerCost;
use Larder\Lab\Statistics\UnusableSamples;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

final class TimerCostTest extends TestCase
{
    public function testTheClockCostsSomething(): void
    {
        $cost = TimerCost::measure(1001)->nanoseconds;

        self::assertGreaterThan(0.0, $cost);
        self::assertLessThan(1e9, $cost);
        self::assertSame($cost, \round($cost), 'an odd number of whole nanoseconds has a whole median');
    }

    #[TestWith([25.0, 9.0, 278])]
    #[TestWith([25.0, 50_000.0, 1])]
    #[TestWith([25.0, 2501.0, 1])]
    #[TestWith([25.0, 2500.0, 2])]
    #[TestWith([25.0, 2499.0, 2])]
    #[TestWith([0.0, 9.0, 1])]
    public function testASampleHoldsEnough(float $cost, float $operation, int $expected): void
    {
        self::assertSame($expected, (new TimerCost($cost))->operations($operation));
    }

    public function testTheClockIsLessThanOneInAHundred(): void
    {
        foreach ([1.0, 17.0, 24.5, 300.0, 1e6] as $cost) {
            foreach ([0.5, 8.9, 33.0, 1e3, 4.7e4, 2e6] as $operation) {
                $operations = (new TimerCost($cost))->operations($operation);
                self::assertLessThan(0.01, $cost / ($operations * $operation));
                self::assertTrue($operations === 1 || $cost / (($operations - 1) * $operation) >= 0.01 - 1e-12, 'and no more than that');
            }
        }
    }

    #[TestWith([0.0])]
    #[TestWith([-1.0])]
    #[TestWith([\NAN])]
    #[TestWith([\INF])]
    #[TestWith([1e-300])]
    public function testWhatNoOperationTakesIsRefused(float $operation): void
    {
        $this->expectException(UnusableSamples::class);

        (new TimerCost(25.0))->operations($operation);
    }

    #[TestWith([-1.0])]
    #[TestWith([\NAN])]
    #[TestWith([\INF])]
    public function testWhatNoClockCostsIsRefused(float $cost): void
    {
        $this->expectException(\InvalidArgumentException::class);

        new TimerCost($cost);
    }
}
