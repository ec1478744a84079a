<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Larder\Lab\Statistics\Quantile;
use PHPUnit\Framework\Attributes\DataProvider;
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

    public function testBetweenEqualSamplesThereIsNothingElse(): void
    {
        self::assertSame(0.1, Quantile::of([0.1, 0.1, 0.1], 0.3));
        self::assertSame(-1e308, Quantile::of([-1e308, -1e308, 1e308], 0.4));
    }

    public function testFiguresTooFarApartForTheirDifference(): void
    {
        self::assertSame(0.0, Quantile::median([-1.7e308, 1.7e308]));
    }

    #[TestWith([-0.01])]
    #[TestWith([1.01])]
    #[TestWith([\NAN])]
    public function testWhatIsNoProbabilityIsRefused(float $probability): void
    {
        $this->expectExceptionMessage('by a probability from 0 to 1');

        Quantile::of([1.0, 2.0], $probability);
    }

    /** @return iterable<string, array{string, \Closure(float): float, \Closure(float): float}> name, quantile function, density */
    public static function distributions(): iterable
    {
        yield 'uniform' => ['uniform', static fn(float $p): float => $p, static fn(float $x): float => 1.0];
        yield 'exponential' => ['exponential', static fn(float $p): float => -\log(1 - $p), static fn(float $x): float => \exp(-$x)];
        $normal = ['0.01' => -2.3263478740408408, '0.05' => -1.6448536269514722, '0.5' => 0.0, '0.95' => 1.6448536269514722, '0.99' => 2.3263478740408408];
        yield 'normal' => ['normal', static fn(float $p): float => $normal[(string) $p], static fn(float $x): float => \exp(-$x * $x / 2) / \sqrt(2 * \M_PI)];
    }

    /**
     * A sample quantile is within four of its standard errors, sqrt(p(1 - p) / n) over the density, of the true one.
     *
     * @param \Closure(float): float $quantile
     * @param \Closure(float): float $density
     */
    #[DataProvider('distributions')]
    public function testKnownDistributions(string $distribution, \Closure $quantile, \Closure $density): void
    {
        $rounds = new Rounds(7);
        $samples = [];
        for ($i = 0; $i < 20_000; ++$i) {
            $samples[] = $rounds->$distribution();
        }
        \sort($samples);

        foreach ([0.01, 0.05, 0.5, 0.95, 0.99] as $p) {
            $error = \sqrt($p * (1 - $p) / 20_000) / $density($quantile($p));
            self::assertEqualsWithDelta($quantile($p), Quantile::of($samples, $p), 4 * $error, "at $p");
        }
    }
}
