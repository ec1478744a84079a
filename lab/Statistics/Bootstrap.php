<?php

declare(strict_types=1);

namespace Larder\Lab\Statistics;

use Random\Engine\Xoshiro256StarStar;
use Random\Randomizer;

/**
 * 95 % intervals of ratios, from few rounds.
 *
 * Everything is done in logarithms, so that the ratio of a to b is exactly one over the ratio of b to a. Of an even
 * number of rounds the median is the geometric mean of the two in the middle.
 *
 * From five rounds on: the expanded percentile bootstrap of the median (T. C. Hesterberg, "What Teachers Should Know
 * About the Bootstrap", The American Statistician 69(4), 2015, pages 371 to 386): the quantiles of the resampled
 * medians are not taken at 2.5 % but at the normal tail of t * sqrt(n / (n - 1)), t being Student's for n - 1. The plain
 * percentile interval is too narrow where rounds are few: with 7 it calls equals different in 12.5 of 100. Resamples
 * are drawn from a fixed seed, the same for all figures: the same rounds always give the same interval.
 *
 * Three and four rounds: even their least and greatest miss the median in 25 and 12.5 of 100. Student's interval of
 * the mean logarithm then stands in for it; it has to trust that ratios scatter to both sides alike, which those of
 * equals do. One and two: from 0 to infinity, which says that nothing can be told.
 *
 * Equals are called different in at most 7 of 100, whatever the noise; with ten rounds and a noise of 3 %, 10 % slower
 * is found in 95 of 100 (tests/Lab/Statistics/BootstrapTest.php). So: measure ten rounds, both in each.
 */
final class Bootstrap
{
    private const LEVEL = 0.95;
    /** Below, Student's interval. */
    private const ENOUGH = 5;
    /** Below, nothing can be said. */
    public const LEAST = 3;

    private const RESAMPLES = 20_000;

    /** @var array<int, array{list<array{int, int, int}>, float}> by rounds: the two in the middle of resamples, how often each, and how many to cut off */
    private array $resamples = [];

    /**
     * The median ratio of two that were measured in the same rounds: what slows a whole round down slows both.
     *
     * @param list<float> $of above zero
     * @param list<float> $to above zero; its round i was measured beside round i of the other
     *
     * @throws UnusableSamples
     */
    public function paired(array $of, array $to): Interval
    {
        if (\count($of) !== \count($to)) {
            throw new UnusableSamples(\sprintf('%d rounds do not pair with %d: give the rounds that measured both, in the same order.', \count($of), \count($to)));
        }

        return $this->estimate(\array_map(static fn(float $a, float $b): float => $a - $b, self::logarithms($of), self::logarithms($to)));
    }

    /**
     * The median of one figure a round.
     *
     * @param list<float> $rounds above zero, in any order
     *
     * @throws UnusableSamples
     */
    public function interval(array $rounds): Interval
    {
        return $this->estimate(self::logarithms($rounds));
    }

    /** @param list<float> $figures logarithms */
    private function estimate(array $figures): Interval
    {
        $summary = new Summary($figures);
        $n = $summary->n;
        [$low, $high] = [-\INF, \INF];
        if ($n >= self::ENOUGH) {
            [$low, $high] = $this->percentiles($figures);
        } elseif ($n >= self::LEAST) {
            $reach = Probability::studentCritical($n - 1, self::LEVEL) * $summary->stdev / \sqrt($n);
            [$low, $high] = [$summary->mean - $reach, $summary->mean + $reach];
        }

        return new Interval(\exp($summary->median), \exp($low), \exp($high), $n);
    }

    /**
     * @param list<float> $figures
     *
     * @return array{float, float}
     */
    private function percentiles(array $figures): array
    {
        \sort($figures);
        [$middles, $tail] = $this->resamples[\count($figures)] ??= self::resample(\max(2, \count($figures)));
        $medians = $times = [];
        foreach ($middles as [$lower, $upper, $often]) {
            $medians[] = ($figures[$lower] + $figures[$upper]) / 2;
            $times[] = $often;
        }
        \asort($medians);

        return [self::cut($medians, $times, $tail), self::cut(\array_reverse($medians, true), $times, $tail)];
    }

    /**
     * @param int<2, max> $n
     *
     * @return array{list<array{int, int, int}>, float}
     */
    private static function resample(int $n): array
    {
        $random = new Randomizer(new Xoshiro256StarStar($n));
        $middles = [];
        for ($resample = 0; $resample < self::RESAMPLES; ++$resample) {
            $drawn = [];
            for ($draw = 0; $draw < $n; ++$draw) {
                $drawn[] = $random->getInt(0, $n - 1);
            }
            \sort($drawn);
            [$lower, $upper] = [$drawn[\intdiv($n - 1, 2)] ?? 0, $drawn[\intdiv($n, 2)] ?? 0];
            // Turned round it is as likely: so one over a ratio has the interval turned round.
            foreach ([[$lower, $upper], [$n - 1 - $upper, $n - 1 - $lower]] as [$i, $j]) {
                $middles["$i-$j"] = [$i, $j, 1 + ($middles["$i-$j"][2] ?? 0)];
            }
        }
        $tail = Probability::normalTail(Probability::studentCritical($n - 1, self::LEVEL) * \sqrt($n / ($n - 1)));

        return [\array_values($middles), 2 * self::RESAMPLES * $tail];
    }

    /**
     * @param array<int, float> $medians in order
     * @param list<int>         $times
     */
    private static function cut(array $medians, array $times, float $tail): float
    {
        $sum = 0;
        $end = 0.0;
        foreach ($medians as $i => $end) {
            $sum += $times[$i];
            if ($sum >= $tail) {
                break;
            }
        }

        return $end;
    }

    /**
     * @param list<float> $figures
     *
     * @return list<float>
     */
    private static function logarithms(array $figures): array
    {
        foreach ($figures as $index => $figure) {
            if ($figure <= 0.0) {
                throw new UnusableSamples("Round $index is $figure, and a ratio needs figures above zero: hold more operations in a sample, so that the clock can see them.");
            }
        }

        return \array_map(\log(...), $figures);
    }
}
