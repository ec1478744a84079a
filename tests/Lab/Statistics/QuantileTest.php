<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Larder\Lab\Statistics\Quantile;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

final class QuantileTest extends TestCase
{
    /**
     * By the definition of type 7, and by PERCENTILE.INC({1, 2, 3, 4}, 0.3), which is 1.9.
     *
     * @param non-empty-list<float> $sorted
     */
    #[TestWith([[1.0, 2.0, 3.0, 4.0], 0.3, 1.9])]
    #[TestWith([[1.0, 2.0, 3.0, 4.0], 0.0, 1.0])]
    #[TestWith([[1.0, 2.0, 3.0, 4.0], 1.0, 4.0])]
    #[TestWith([[1.0, 2.0, 3.0, 4.0], 0.5, 2.5])]
    #[TestWith([[1.0, 2.0, 3.0, 4.0], 0.25, 1.75])]
    #[TestWith([[1.0, 2.0, 30.0], 0.5, 2.0])]
    #[TestWith([[1.0, 2.0, 30.0], 0.95, 27.2])]
    #[TestWith([[7.0], 0.99, 7.0])]
    #[TestWith([[-3.0, 5.0], 0.25, -1.0])]
    public function testType7(array $sorted, float $probability, float $expected): void
    {
        self::assertEqualsWithDelta($expected, Quantile::of($sorted, $probability), 1e-12);
    }

    #[TestWith([-0.01])]
    #[TestWith([1.01])]
    #[TestWith([\NAN])]
    public function testWhatIsNoProbabilityIsRefused(float $probability): void
    {
        $this->expectExceptionMessage('by a probability from 0 to 1');

        Quantile::of([1.0, 2.0], $probability);
    }
}
