<?php

declare(strict_types=1);

namespace Larder\Lab\Statistics;

/**
 * What the median of a resample can be, and how likely each is: the bootstrap of the median without drawing.
 *
 * Resampling n figures with replacement and taking the median gives one of the figures, or halfway between two when
 * n is even, and the chance of each is a matter of counting how many draws fall below it (B. Efron, "Bootstrap
 * Methods: Another Look at the Jackknife", The Annals of Statistics 7(1), 1979, section 3). So nothing is gained by
 * drawing ten thousand resamples: this is what they would tend to, the same in every run, and faster.
 */
final class ResampledMedian
{
    /** What is less likely than this is left out: a million times less than any limit an interval needs. */
    private const NEGLIGIBLE = 1e-12;

    /**
     * For n figures in ascending order, counted from 0: the median is halfway between figures i and j, i <= j.
     *
     * @param int<1, max> $n
     *
     * @return list<array{int<0, max>, int<0, max>, float}> i, j, probability
     */
    public static function of(int $n): array
    {
        return \array_values(\array_filter(
            $n % 2 === 1 ? self::odd($n) : self::even($n),
            static fn(array $outcome): bool => $outcome[2] > self::NEGLIGIBLE,
        ));
    }

    /** @return list<array{int<0, max>, int<0, max>, float}> */
    private static function odd(int $n): array
    {
        $middle = \intdiv($n, 2) + 1;
        $outcomes = [];
        $before = 0.0;
        for ($i = 0; $i < $n; ++$i) {
            // The median is not above figure i when most draws are not.
            $until = Probability::binomialAtLeast($n, $middle, ($i + 1) / $n);
            $outcomes[] = [$i, $i, $until - $before];
            $before = $until;
        }

        return $outcomes;
    }

    /**
     * The two in the middle are i and j > i when exactly half of the draws are not above i, one of them i itself,
     * and the other half not below j, one of them j itself. What is left of the chance that the upper one is j is
     * that both are.
     *
     * @return list<array{int<0, max>, int<0, max>, float}>
     */
    private static function even(int $n): array
    {
        $half = \intdiv($n, 2);
        $halves = Probability::logChoose($n, $half);
        $outcomes = [];
        $before = 0.0;
        for ($j = 0; $j < $n; ++$j) {
            $until = Probability::binomialAtLeast($n, $half + 1, ($j + 1) / $n);
            $both = $until - $before;
            $before = $until;
            $above = $half * \log(($n - $j) / $n);
            $touches = 1.0 - (1.0 - 1 / ($n - $j)) ** $half;
            for ($i = 0; $i < $j; ++$i) {
                $chance = \exp($halves + $half * \log(($i + 1) / $n) + $above)
                    * (1.0 - (1.0 - 1 / ($i + 1)) ** $half) * $touches;
                $both -= $chance;
                $outcomes[] = [$i, $j, $chance];
            }
            $outcomes[] = [$j, $j, $both];
        }

        return $outcomes;
    }
}
