<?php

declare(strict_types=1);

namespace Larder\System;

/** Identifies this process. A fork makes another process, which must not use its parent's connections and locks. */
final class Process
{
    /** Higher than any that Linux gives (proc(5), pid_max). */
    private const HIGHEST = 4_194_304;

    private static int $made = 0;

    /** Whether PHP may read the process id; null: not tried yet. */
    private static ?bool $known = null;

    /** The id of a process that cannot fork; 0: not asked for yet, or it can. */
    private static int $lasting = 0;
    private static ?bool $forks = null;

    /** The process id; if PHP may not read it (disable_functions), another number that no other process has. */
    public static function id(): int
    {
        if (self::$lasting !== 0) {
            return self::$lasting;
        }
        if (self::$forks === true && self::$known === true) {
            return (int) \getmypid();
        }
        $id = (self::$known ??= \function_exists('getmypid')) ? (int) \getmypid() : self::otherwise();
        if (!self::forks()) {
            self::$lasting = $id;
        }

        return $id;
    }

    /**
     * Whether code of this process may fork it. In most requests of a web server none can, and nobody needs to ask the system
     * for the process id at each call of an engine.
     */
    public static function forks(): bool
    {
        return self::$forks ??= \function_exists('pcntl_fork') || \function_exists('pcntl_rfork')
            || \extension_loaded('swoole') || \extension_loaded('openswoole')
            || (\extension_loaded('ffi') && \filter_var(\ini_get('ffi.enable'), \FILTER_VALIDATE_BOOL));
    }

    public static function pause(int $microseconds): void
    {
        if (\function_exists('usleep')) {
            \usleep($microseconds);
        } else {
            \time_nanosleep(\intdiv($microseconds, 1_000_000), $microseconds % 1_000_000 * 1_000);
        }
    }

    private static function otherwise(): int
    {
        if (\function_exists('posix_getpid')) {
            return \posix_getpid();
        }
        if (self::$made === 0) {
            self::$made = \random_int(self::HIGHEST + 1, \PHP_INT_MAX);
        }
        if (!\function_exists('pcntl_fork')) {
            return self::$made;
        }
        Quiet::begin();
        try {
            // /proc/self links to the process's own directory.
            return (int) \basename((string) \realpath('/proc/self')) ?: self::$made;
        } finally {
            Quiet::end();
        }
    }
}
