<?php

declare(strict_types=1);

namespace Larder\System;

/** What a DateInterval is in seconds. */
final class Interval
{
    /** Seconds, about 10,000 years. With more PHP's calendar overflows, and gives other times without a warning. */
    public const MOST = 315_360_000_000;

    /**
     * Counts years and months from now in UTC, where all days are equally long.
     *
     * @param bool $up rounds a fraction of a second away from zero, so that no short interval becomes 0; false: down
     *
     * @throws InvalidInterval
     */
    public static function seconds(\DateInterval $interval, bool $up): int
    {
        $size = \abs($interval->y) * 31_622_400.0 + \abs($interval->m) * 2_678_400.0 + \abs($interval->d) * 86_400.0
            + \abs($interval->h) * 3_600.0 + \abs($interval->i) * 60.0 + \abs($interval->s) + \abs($interval->f);
        if ($size > self::MOST) {
            throw InvalidInterval::tooLong();
        }
        $now = new \DateTimeImmutable('@' . \time());
        $then = $now->add($interval);
        $seconds = $then->getTimestamp() - $now->getTimestamp();

        // A time stamp is rounded down, so a negative one is away from zero already.
        return $up && $seconds >= 0 && $then->format('u') !== '000000' ? $seconds + 1 : $seconds;
    }
}
