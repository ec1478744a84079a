<?php

declare(strict_types=1);

namespace Larder\Lab\Statistics;

/** The two distributions that intervals need, to about twelve digits. */
final class Probability
{
    /**
     * That a standard normal variable is below -$x.
     *
     * The series of G. Marsaglia, "Evaluating the Normal Distribution", Journal of Statistical Software 11(4), 2004;
     * good for the x of confidence intervals, 0 to 5.
     */
    public static function normalTail(float $x): float
    {
        $sum = $term = $x;
        for ($k = 3; $term > 1e-17; $k += 2) {
            $term *= $x * $x / $k;
            $sum += $term;
        }

        return 0.5 - $sum * \exp(-$x * $x / 2) / \sqrt(2 * \M_PI);
    }

    /**
     * The t within which Student's distribution has a share on both sides of zero.
     *
     * @param int<1, max> $freedom degrees of freedom
     * @param float       $share   0.95 for a 95 % interval
     */
    public static function studentCritical(int $freedom, float $share): float
    {
        // By the angle, atan(t / sqrt(freedom)), whose range is finite.
        $low = 0.0;
        $high = \M_PI_2;
        for ($step = 0; $step < 60; ++$step) {
            $middle = ($low + $high) / 2;
            if (self::studentWithin($freedom, $middle) < $share) {
                $low = $middle;
            } else {
                $high = $middle;
            }
        }

        return \tan($low) * \sqrt($freedom);
    }

    /**
     * That chance alone takes Student's t that far from zero, to either side.
     *
     * @param int<1, max> $freedom degrees of freedom
     */
    public static function studentBeyond(int $freedom, float $t): float
    {
        return \max(0.0, 1.0 - self::studentWithin($freedom, \atan($t / \sqrt($freedom))));
    }

    /** M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 1964, 26.7.3 and 26.7.4. */
    private static function studentWithin(int $freedom, float $angle): float
    {
        $cos = \cos($angle);
        $odd = $freedom % 2;
        $sum = 0.0;
        $term = $odd === 1 ? $cos : 1.0;
        for ($k = $odd + 1; $k < $freedom; $k += 2) {
            $sum += $term;
            $term *= $k / ($k + 1) * $cos * $cos;
        }

        return $odd === 1 ? ($angle + \sin($angle) * $sum) / \M_PI_2 : \sin($angle) * $sum;
    }
}
