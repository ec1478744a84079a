<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/**
 * The middle of the rounds of one cell and their spread, in logarithms: ratios become differences there, and the long
 * tail of slow rounds becomes short.
 *
 * A fifth of the rounds is cut off at each end before the mean is taken, and pulled in to what is left before the
 * spread is (winsorized): a round that something else disturbed then hides no loss and makes none (K. K. Yuen,
 * Biometrika 61, 1974, pages 165 to 170). With fewer than five rounds nothing is cut off.
 */
final readonly class Trimmed
{
    private const PART = 0.2;
    /** Rounds that agree to the last digit do so by the clock's grain: no spread below a thousandth is believed. */
    private const GRAIN = 0.001;

    /**
     * @param int<1, max> $left    rounds that were not cut off: the variance of the mean is the variance by that many
     * @param int<1, max> $freedom of the variance
     */
    private function __construct(
        public float $mean,
        public float $variance,
        public int $left,
        public int $freedom,
    ) {}

    /** @param non-empty-list<float> $rounds each above 0, two at least */
    public static function of(array $rounds): self
    {
        $logs = \array_map(\log(...), $rounds);
        \sort($logs);
        $n = \count($logs);
        $cut = (int) (self::PART * $n);
        $left = \max(1, $n - 2 * $cut);
        $mean = \array_sum(\array_slice($logs, $cut, $left)) / $left;
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

        return new self($mean, \max($squares / $freedom, self::GRAIN ** 2), $left, $freedom);
    }
}
