<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Waits between tries for a lock that others hold for microseconds: the pauses grow, and the time is limited.
 *
 * The waiter polls because a blocking flock() has no time-out, and a stopped holder must not stop the waiter. The time-out
 * ends the wait only after enough tries: on an overloaded machine a waiter may sleep through all of it, while the lock
 * was free many times.
 */
final class Backoff
{
    /** Microseconds: pauses double from FIRST up to the longest. */
    private const FIRST = 20;
    private const LONGEST = 1000;

    private readonly int $deadline;
    private readonly int $enough;
    private int $pause = self::FIRST;
    private int $tries = 0;

    public function __construct(float $seconds)
    {
        $this->deadline = \hrtime(true) + (int) ($seconds * 1e9);
        $this->enough = (int) ($seconds * 400);
    }

    /** Pauses once. False: at least the whole time-out has passed. */
    public function wait(): bool
    {
        if (++$this->tries > $this->enough && \hrtime(true) >= $this->deadline) {
            return false;
        }
        // A random pause keeps waiters from trying all at the same time.
        Clock::pause(\mt_rand($this->pause >> 1, $this->pause));
        $this->pause = \min(self::LONGEST, $this->pause * 2);

        return true;
    }
}
