<?php

declare(strict_types=1);

namespace Larder\Queue;

/** Checks a time that the application has given. */
final class Seconds
{
    /** Ten years. */
    private const MOST = 315_360_000;

    /**
     * @param string $what   its name, for the message
     * @param float  $least  seconds
     *
     * @return int milliseconds, rounded up
     *
     * @throws \InvalidArgumentException
     */
    public static function milliseconds(string $what, int|float $seconds, float $least = 0): int
    {
        // NaN fails both comparisons.
        if (!($seconds >= $least && $seconds <= self::MOST)) {
            throw new \InvalidArgumentException("The $what of " . \var_export($seconds, true) . " seconds is not between $least seconds and ten years.");
        }

        return (int) \ceil($seconds * 1000);
    }
}
