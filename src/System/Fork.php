<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * The id of this process, by which a class notices that it is in a forked child: it differs from the one that the class has kept
 * (Request\Request::noticeFork() for a request). A child must not use its parent's connections and locks, nor write its parent's fills.
 */
final class Fork
{
    /** Higher than any that Linux gives (proc(5), pid_max). */
    private const HIGHEST = 4_194_304;

    private static int $made = 0;

    /** What pid() last returned: for a caller that knows that it was called just now. */
    public static int $last = 0;

    /** Whether pid() asks PHP each time, since the process may be forked; null: pid() was not called yet. */
    private static ?bool $asks = null;
    private static ?bool $forks = null;

    /** The process id; if PHP may not read it (disable_functions), another number that no other process has. */
    public static function pid(): int
    {
        if (self::$asks === true) {
            return self::$last = (int) \getmypid();
        }
        if (self::$asks === null || self::$forks !== false) {
            $isKnown = \function_exists('getmypid');
            self::$asks = $isKnown && self::isPossible();
            self::$last = $isKnown ? (int) \getmypid() : self::otherwise();
        }

        return self::$last;
    }

    /**
     * Whether code of this process may fork it. In most requests of a web server none can, and then the system need not be asked
     * for the process id at each call of an engine.
     */
    public static function isPossible(): bool
    {
        return self::$forks ??= \function_exists('pcntl_fork') || \function_exists('pcntl_rfork')
            || \extension_loaded('swoole') || \extension_loaded('openswoole')
            || (\extension_loaded('ffi') && \filter_var(\ini_get('ffi.enable'), \FILTER_VALIDATE_BOOL));
    }

    /** Whether PHP may keep connections: not on the command line, where a process has one request and forked children must be able to close. */
    public static function mayKeepConnections(): bool
    {
        return \PHP_SAPI !== 'cli' && \PHP_SAPI !== 'phpdbg' && \PHP_SAPI !== 'embed';
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
