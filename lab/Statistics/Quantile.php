<?php

declare(strict_types=1);

namespace Larder\Lab\Statistics;

/**
 * Quantiles: type 7 of R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50(4),
 * 1996, pages 361 to 365: the straight line between the two samples beside the place (n - 1)p. It is what R,
 * NumPy and spreadsheets (PERCENTILE.INC) use unless told otherwise, so that a reader who checks gets our figures.
 */
final class Quantile
{
    /**
     * @param non-empty-list<float> $sorted      ascending, finite; it is not checked
     * @param float                 $probability from 0 (the least) to 1 (the greatest)
     */
    public static function of(array $sorted, float $probability): float
    {
        if (!($probability >= 0.0 && $probability <= 1.0)) {
            throw new \InvalidArgumentException("A quantile is asked for by a probability from 0 to 1, not $probability.");
        }
        $place = (\count($sorted) - 1) * $probability;
        $below = (int) $place;
        $rest = $place - $below;
        $value = $sorted[$below];
        if ($rest > 0.0 && $sorted[$below + 1] !== $value) {
            // Weighed rather than added to: the difference of two large figures may not be one.
            return (1.0 - $rest) * $value + $rest * $sorted[$below + 1];
        }

        return $value;
    }

    /** @param non-empty-list<float> $sorted */
    public static function median(array $sorted): float
    {
        return self::of($sorted, 0.5);
    }
}
