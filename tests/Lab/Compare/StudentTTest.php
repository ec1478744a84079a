<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Compare;

use Larder\Lab\Compare\Gamma;
use Larder\Lab\Compare\StudentT;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

#[CoversClass(StudentT::class)]
#[CoversClass(Gamma::class)]
final class StudentTTest extends TestCase
{
    public function testWhereItHasAClosedFormItIsThat(): void
    {
        foreach ([0.001, 0.5, 1.0, 3.0, 20.0, 500.0] as $t) {
            self::assertEqualsWithDelta(1.0, StudentT::tail($t, 1.0) / (\atan(1 / $t) / \M_PI), 1e-10, "Cauchy, $t");
            // 1/2 - t / (2 sqrt(2 + t²)), written so that nothing is lost far out.
            $root = \sqrt(2 + $t * $t);
            self::assertEqualsWithDelta(1.0, StudentT::tail($t, 2.0) / (1 / ($root * ($root + $t))), 1e-10, "two, $t");
        }
    }

    /** The table of Student's t in any textbook, and the normal distribution's, which it tends to. */
    #[TestWith([2.571, 5.0, 0.025])]
    #[TestWith([6.869, 5.0, 0.0005])]
    #[TestWith([1.812, 10.0, 0.05])]
    #[TestWith([4.587, 10.0, 0.0005])]
    #[TestWith([3.646, 30.0, 0.0005])]
    #[TestWith([1.959964, 1e7, 0.025])]
    #[TestWith([4.753424, 1e7, 1e-6])]
    public function testPrintedTables(float $t, float $df, float $tail): void
    {
        self::assertEqualsWithDelta(1.0, StudentT::tail($t, $df) / $tail, 0.002);
        self::assertEqualsWithDelta(1 - $tail, StudentT::tail(-$t, $df), 0.002 * $tail);
    }

    public function testItFallsSmoothlyBetweenWholeDegrees(): void
    {
        self::assertSame(0.5, StudentT::tail(0.0, 7.3));
        self::assertSame(0.0, StudentT::tail(\INF, 7.3));
        $before = 1.0;
        for ($df = 1.0; $df < 40.0; $df += 0.37) {
            $tail = StudentT::tail(2.5, $df);
            self::assertLessThan($before, $tail);
            $before = $tail;
        }
    }

    public function testGammaAndItsDerivatives(): void
    {
        $euler = 0.577_215_664_901_532_9;
        self::assertEqualsWithDelta(\log(\M_PI) / 2, Gamma::log(0.5), 1e-12);
        self::assertEqualsWithDelta(\log(3_628_800), Gamma::log(11.0), 1e-11);
        self::assertEqualsWithDelta(-$euler, Gamma::digamma(1.0), 1e-12);
        self::assertEqualsWithDelta(-$euler - 2 * \M_LN2, Gamma::digamma(0.5), 1e-12);
        self::assertEqualsWithDelta(\M_PI ** 2 / 6, Gamma::trigamma(1.0), 1e-12);
        self::assertEqualsWithDelta(\M_PI ** 2 / 2, Gamma::trigamma(0.5), 1e-12);
        foreach ([0.01, 0.3, 1.0, 4.0, 49.0] as $z) {
            self::assertEqualsWithDelta(1.0, Gamma::whereTrigammaIs(Gamma::trigamma($z), 50.0) / $z, 1e-9);
        }
        self::assertSame(50.0, Gamma::whereTrigammaIs(-1.0, 50.0));
    }
}
