<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Waiting for a lock that others hold for microseconds, in growing pauses and with an end.
 *
 * Polling, since a blocking flock() has no time-out and a stopped holder must not stop us. The time-out counts only
 * when it was also used for tries: on a machine with more work than processors a waiter may sleep through all of it,
 * while the lock was free many times.
 */
final class Backoff
{
    /** Microseconds: a pause doubles from the first to the second. */
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

    /** Waits a little; false: for as long as it was told to, at least. */
    public function wait(): bool
    {
        if (++$this->tries > $this->enough && \hrtime(true) >= $this->deadline) {
            return false;
        }
        // Not all at the same time.
        Process::pause(\mt_rand($this->pause >> 1, $this->pause));
        $this->pause = \min(self::LONGEST, $this->pause * 2);

        return true;
    }
}
