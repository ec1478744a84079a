<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * The clock by which the processes of one machine judge what ends.
 *
 * It counts from the machine's boot and nobody can set it, so two processes agree on it whatever the clock on the wall
 * says, and also while that is being set. hrtime() is that clock on most machines. It stands still while the machine
 * sleeps, and tools that shift the time for a process shift it too, so it is compared with /proc/uptime (proc(5)),
 * which does neither, once a second.
 */
final class Clock
{
    /** Milliseconds: /proc/uptime has two decimals, and is read a little later. */
    private const TOLERANCE = 30;

    /** Nanoseconds after which the two are compared again. */
    private const COMPARED = 1_000_000_000;

    /** Milliseconds that hrtime() is behind. */
    private static int $behind = 0;

    /** hrtime() of the next comparison. */
    private static int $due = 0;

    /** Milliseconds since the machine's boot, the same for all its processes. */
    public static function now(): int
    {
        $now = \hrtime(true);
        // Far ahead: a forked child, or a process that was moved, may come from a time that is not this one's.
        if ($now >= self::$due || $now < self::$due - self::COMPARED) {
            self::$due = $now + self::COMPARED;
            self::compare($now);
        }

        return \intdiv($now, 1_000_000) + self::$behind;
    }

    private static function compare(int $now): void
    {
        Quiet::begin();
        try {
            // Hidden by open_basedir, or no Linux: then hrtime() is all there is.
            $uptime = \PHP_OS_FAMILY === 'Linux' ? \file_get_contents('/proc/uptime', length: 32) : false;
        } finally {
            Quiet::end();
        }
        $behind = \is_string($uptime) && $uptime !== '' ? (int) ((float) $uptime * 1000) - \intdiv($now, 1_000_000) : 0;
        self::$behind = \abs($behind) <= self::TOLERANCE ? 0 : $behind;
    }
}
