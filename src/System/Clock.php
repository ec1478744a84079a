<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * The clock by which the processes of one machine judge what has expired.
 *
 * It counts from the machine's boot and cannot be set, so two processes agree on it even while the wall clock is set.
 * On most machines hrtime() is that clock. But hrtime() stands still while the machine sleeps, and tools that shift
 * a process's time shift it too. /proc/uptime (proc(5)) does neither, so this class compares the two once a second. In a
 * container it may be ahead of the machine's (time_namespaces(7)), by what /proc/self/timens_offsets tells.
 */
final class Clock
{
    /** Milliseconds by which the two may differ: /proc/uptime has two decimals, and is read a little later. */
    private const TOLERANCE = 30;

    /** Nanoseconds after which the two are compared again. */
    private const COMPARED = 1_000_000_000;

    /** The inode of the machine's own name space of time (Linux, include/linux/proc_ns.h). */
    private const MACHINE = 0xEFFFFFFA;

    /** Milliseconds by which this name space of time is ahead of the machine's; null: not asked yet. */
    private static ?int $offset = null;

    /** Milliseconds that hrtime() is behind. */
    private static int $behind = 0;

    /** hrtime() of the next comparison. */
    private static int $due = 0;

    public static function pause(int $microseconds): void
    {
        if (\function_exists('usleep')) {
            \usleep($microseconds);
        } elseif (\function_exists('time_nanosleep')) {
            \time_nanosleep(\intdiv($microseconds, 1_000_000), $microseconds % 1_000_000 * 1_000);
        } else {
            for ($end = \hrtime(true) + $microseconds * 1_000; \hrtime(true) < $end;);
        }
    }

    /** Milliseconds since the machine's boot, the same for all its processes. */
    public static function now(): int
    {
        $now = \hrtime(true);
        // $due is far ahead if a forked child, or a process moved from another machine, brought it from another clock.
        if ($now >= self::$due || $now < self::$due - self::COMPARED) {
            self::$due = $now + self::COMPARED;
            self::compare($now);
        }

        return \intdiv($now, 1_000_000) + self::$behind;
    }

    /** Milliseconds by which hrtime() is behind now(); 0 on most machines. */
    public static function behind(): int
    {
        self::now();

        return self::$behind;
    }

    /** Seconds for measuring how long something takes within a process: setting the wall clock changes nothing. It stands still while the machine sleeps. */
    public static function seconds(): float
    {
        return \hrtime(true) / 1e9;
    }

    /** Milliseconds of the wall clock, which may be set. */
    public static function wall(): int
    {
        return (int) (\microtime(true) * 1000);
    }

    private static function compare(int $now): void
    {
        $held = Signals::hold();
        Quiet::begin();
        try {
            // Without Linux, or where open_basedir hides the file, hrtime() must do.
            $uptime = \PHP_OS_FAMILY === 'Linux' ? \file_get_contents('/proc/uptime', length: 32) : false;
            self::$offset ??= self::offset();
        } finally {
            Quiet::end();
        }
        $behind = \is_string($uptime) && $uptime !== '' ? (int) ((float) $uptime * 1000) - self::$offset - \intdiv($now, 1_000_000) : 0;
        // A busy machine may have let others run before the file was read.
        $late = \intdiv(\hrtime(true) - $now, 1_000_000);
        self::$behind = $behind >= -self::TOLERANCE && $behind <= self::TOLERANCE + $late ? 0 : $behind;
    }

    /** Call it with PHP quiet. */
    private static function offset(): int
    {
        $space = \PHP_OS_FAMILY === 'Linux' && \file_exists('/proc/self/ns/time') ? \fileinode('/proc/self/ns/time') : self::MACHINE;
        $offsets = $space === self::MACHINE ? '' : (string) \file_get_contents('/proc/self/timens_offsets', length: 256);

        return \preg_match('/^boottime\s+(-?\d+)\s+(\d+)/m', $offsets, $found) === 1 ? (int) $found[1] * 1000 + \intdiv((int) $found[2], 1_000_000) : 0;
    }
}
