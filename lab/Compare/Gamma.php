<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/**
 * The gamma function's logarithm and that one's derivatives, for numbers above 0.
 *
 * By their asymptotic series (M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 1964, 6.1.41,
 * 6.3.18 and 6.4.12), from where four terms are exact to twelve digits; below that by the recurrences.
 */
final class Gamma
{
    private const FAR = 14.0;

    public static function log(float $z): float
    {
        for ($sum = 0.0; $z < self::FAR; $z++) {
            $sum -= \log($z);
        }

        return $sum + ($z - 0.5) * \log($z) - $z + 0.5 * \log(2 * \M_PI)
            + 1 / (12 * $z) - 1 / (360 * $z ** 3) + 1 / (1260 * $z ** 5) - 1 / (1680 * $z ** 7);
    }

    public static function digamma(float $z): float
    {
        for ($sum = 0.0; $z < self::FAR; $z++) {
            $sum -= 1 / $z;
        }

        return $sum + \log($z) - 1 / (2 * $z) - 1 / (12 * $z ** 2) + 1 / (120 * $z ** 4) - 1 / (252 * $z ** 6) + 1 / (240 * $z ** 8);
    }

    public static function trigamma(float $z): float
    {
        for ($sum = 0.0; $z < self::FAR; $z++) {
            $sum += 1 / $z ** 2;
        }

        return $sum + 1 / $z + 1 / (2 * $z ** 2) + 1 / (6 * $z ** 3) - 1 / (30 * $z ** 5) + 1 / (42 * $z ** 7) - 1 / (30 * $z ** 9);
    }

    /** The z, no greater than $most, at which the trigamma function, which only falls, has this value. */
    public static function whereTrigammaIs(float $value, float $most): float
    {
        $low = 1e-6;
        $high = $most;
        if ($value <= self::trigamma($high)) {
            return $high;
        }
        for ($step = 0; $step < 80; $step++) {
            $middle = \sqrt($low * $high);
            if (self::trigamma($middle) > $value) {
                $low = $middle;
            } else {
                $high = $middle;
            }
        }

        return $low;
    }
}
