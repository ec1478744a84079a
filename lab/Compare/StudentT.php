<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/**
 * The tail of Student's t distribution: how often chance alone goes that far.
 *
 * P(T > t) = I(x; df/2, 1/2) / 2 with x = df / (df + t²), I the regularized incomplete beta function
 * (Abramowitz and Stegun 26.7.1), by its continued fraction (NIST Digital Library of Mathematical Functions 8.17.22).
 */
final class StudentT
{
    private const TINY = 1e-300;
    private const CLOSE = 1e-14;

    /** @param float $df degrees of freedom, above 0; need not be whole */
    public static function tail(float $t, float $df): float
    {
        if ($t <= 0.0) {
            return $t < 0.0 ? 1 - self::tail(-$t, $df) : 0.5;
        }
        if (\is_infinite($t)) {
            return 0.0;
        }
        $x = $df / ($df + $t * $t);
        // The fraction converges fast on one side of the mean; the other side is reached by symmetry.
        $beta = $x < ($df + 2) / ($df + 5)
            ? self::incompleteBeta($x, $df / 2, 0.5)
            : 1 - self::incompleteBeta(1 - $x, 0.5, $df / 2);

        return $beta / 2;
    }

    private static function incompleteBeta(float $x, float $a, float $b): float
    {
        $front = \exp($a * \log($x) + $b * \log(1 - $x) + Gamma::log($a + $b) - Gamma::log($a) - Gamma::log($b)) / $a;
        // 1 + d1/(1 + d2/(1 + …)), from the front, as two running quotients (modified Lentz).
        $value = $upper = 1.0;
        $lower = 0.0;
        for ($n = 1; $n < 1000; $n++) {
            $m = \intdiv($n, 2);
            $d = $n % 2 === 0
                ? $m * ($b - $m) * $x / (($a + $n - 1) * ($a + $n))
                : -($a + $m) * ($a + $b + $m) * $x / (($a + $n - 1) * ($a + $n));
            $lower = 1 + $d * $lower;
            $lower = 1 / (\abs($lower) < self::TINY ? self::TINY : $lower);
            $upper = 1 + $d / $upper;
            $upper = \abs($upper) < self::TINY ? self::TINY : $upper;
            $value *= $upper * $lower;
            if (\abs($upper * $lower - 1) < self::CLOSE) {
                break;
            }
        }

        return $front / $value;
    }
}
