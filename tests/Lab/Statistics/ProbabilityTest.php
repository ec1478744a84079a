<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Larder\Lab\Statistics\Probability;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** Against R 4: pnorm, qt, pbinom, choose. */
final class ProbabilityTest extends TestCase
{
    #[TestWith([0.0, 0.5])]
    #[TestWith([1.0, 0.158655253931457046])]
    #[TestWith([1.96, 0.024997895148220428])]
    #[TestWith([2.384, 0.008562801185272587])]
    #[TestWith([3.104, 0.000954616654794469])]
    public function testTheTailOfTheNormalDistribution(float $x, float $expected): void
    {
        self::assertEqualsWithDelta($expected, Probability::normalTail($x), 1e-14);
    }

    #[TestWith([1, 12.70620473617469])]
    #[TestWith([2, 4.30265272974946])]
    #[TestWith([3, 3.18244630528371])]
    #[TestWith([4, 2.77644510519779])]
    #[TestWith([5, 2.57058183563631])]
    #[TestWith([9, 2.26215716279820])]
    #[TestWith([29, 2.04522964213270])]
    #[TestWith([100, 1.98397151852355])]
    public function testStudentsCriticalValues(int $freedom, float $expected): void
    {
        self::assertEqualsWithDelta($expected, Probability::studentCritical(\max(1, $freedom), 0.95), 1e-12);
    }

    #[TestWith([11, 6, 0.18181818181818182, 0.00720711778665217])]
    #[TestWith([5, 5, 0.5, 0.03125])]
    #[TestWith([5, 1, 0.5, 0.96875])]
    #[TestWith([4, 2, 0.0, 0.0])]
    #[TestWith([4, 2, 1.0, 1.0])]
    public function testTheBinomialDistribution(int $n, int $k, float $probability, float $expected): void
    {
        self::assertEqualsWithDelta($expected, Probability::binomialAtLeast($n, $k, $probability), 1e-13);
    }

    public function testWaysToChoose(): void
    {
        self::assertEqualsWithDelta(252.0, \exp(Probability::logChoose(10, 5)), 1e-10);
        self::assertSame(0.0, Probability::logChoose(10, 0));
        self::assertEqualsWithDelta(0.0, Probability::logChoose(10, 10), 1e-12);
    }
}
