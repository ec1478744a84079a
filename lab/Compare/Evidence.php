<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/**
 * How likely it is that rounds look so different by chance.
 *
 * Yuen's test of trimmed means (Biometrika 61, 1974, pages 165 to 170) on the logarithms of the rounds: ratios become
 * differences there and the long tail of slow rounds becomes short, and the fifth cut off at each end keeps one round
 * that something else disturbed from hiding a loss. With fewer than five rounds nothing is cut off: it is Welch's t test.
 * A bootstrap of ten rounds could not do it: among 800 cells the question is about chances of 1 in 16,000, and its
 * outermost resamples are only the outermost rounds again.
 */
final class Evidence
{
    private const TRIM = 0.2;
    /** Rounds that agree to the last digit do so by the clock's grain: no spread below a thousandth is believed. */
    private const GRAIN = 0.001;

    /**
     * The chance to see this, or more, when the new times are in truth no more than $factor times the old.
     *
     * @param non-empty-list<float> $new    rounds, each above 0, two at least
     * @param non-empty-list<float> $old    likewise
     * @param float                 $factor above 0
     */
    public static function above(array $new, array $old, float $factor): float
    {
        [$newMean, $newError, $newFreedom] = self::trimmed($new);
        [$oldMean, $oldError, $oldFreedom] = self::trimmed($old);
        $difference = $newMean - $oldMean - \log($factor);
        $error = $newError + $oldError;

        return StudentT::tail(
            $difference / \sqrt($error),
            $error ** 2 / ($newError ** 2 / $newFreedom + $oldError ** 2 / $oldFreedom),
        );
    }

    /**
     * Which of many findings may be believed, so that of those believed no more than a part is by chance (Benjamini and
     * Hochberg, Journal of the Royal Statistical Society B 57, 1995, pages 289 to 300). Where in truth there is nothing,
     * it believes anything at all no more often than that.
     *
     * @template K of array-key
     *
     * @param array<K, float> $chances of each, all that were looked at
     * @param float           $rate    the part, 0.05 for one in twenty
     *
     * @return array<K, float> the believed ones, least chance first
     */
    public static function believed(array $chances, float $rate): array
    {
        \asort($chances);
        $all = \count($chances);
        $rank = $last = 0;
        foreach ($chances as $chance) {
            $rank++;
            if ($chance <= $rate * $rank / $all) {
                $last = $rank;
            }
        }

        return \array_slice($chances, 0, $last, true);
    }

    /**
     * @param non-empty-list<float> $rounds
     *
     * @return array{float, float, int} the trimmed mean of the logarithms, its squared standard error, degrees of freedom
     */
    private static function trimmed(array $rounds): array
    {
        $logs = \array_map(\log(...), $rounds);
        \sort($logs);
        $n = \count($logs);
        $cut = (int) (self::TRIM * $n);
        $left = $n - 2 * $cut;
        $mean = \array_sum(\array_slice($logs, $cut, $left)) / $left;
        // The spread is that of the rounds with what was cut off pulled in to what was left (winsorized).
        for ($i = 0; $i < $cut; $i++) {
            $logs[$i] = $logs[$cut];
            $logs[$n - 1 - $i] = $logs[$n - 1 - $cut];
        }
        $middle = \array_sum($logs) / $n;
        $squares = 0.0;
        foreach ($logs as $log) {
            $squares += ($log - $middle) ** 2;
        }
        $freedom = \max(1, $left - 1);

        return [$mean, \max($squares / $freedom, self::GRAIN ** 2) / $left, $freedom];
    }
}
