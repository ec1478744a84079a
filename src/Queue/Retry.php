<?php

declare(strict_types=1);

namespace Larder\Queue;

/** How often a message is handed out, and how long it rests between two times. */
final readonly class Retry
{
    /**
     * @param int $most  attempts after which it is dead
     * @param int $first milliseconds before the second attempt; each further pause is twice as long
     * @param int $last  milliseconds at the most
     */
    public function __construct(public int $most = 5, private int $first = 1_000, private int $last = 3_600_000) {}

    /** Milliseconds after so many attempts: at random up to a fifth more, so that what failed together does not come back together. */
    public function pause(int $attempts): int
    {
        $pause = (int) \min($this->last, $this->first * 2 ** \min(30, \max(0, $attempts - 1)));

        return $pause + \random_int(0, \max(1, \intdiv($pause, 5)));
    }
}
