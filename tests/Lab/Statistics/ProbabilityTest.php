<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Larder\Lab\Statistics\Probability;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** Against R 4: pnorm and qt. */
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
}
