<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * flock() with a bound: a lock that the kernel releases when its holder dies, whatever it died of, and that nobody
 * waits for longer than told, should its holder have been stopped.
 */
final class BoundedLock
{
    /** @return resource|null null where the file cannot be opened, or somebody else may have put it there */
    public static function open(string $file)
    {
        if (Ownership::flaw($file) !== null) {
            return null;
        }
        \set_error_handler(static fn(): bool => true);
        // Some hosts take it away (disable_functions); the directory is private too.
        $old = \function_exists('umask') ? \umask(0o077) : null;
        try {
            $handle = \fopen($file, 'c+');

            return $handle === false ? null : $handle;
        } finally {
            $old === null || \umask($old);
            \restore_error_handler();
        }
    }

    /** @param resource $handle */
    public static function take($handle, float $seconds): bool
    {
        if (\flock($handle, \LOCK_EX | \LOCK_NB)) {
            return true;
        }
        $patience = new Backoff($seconds);
        while ($patience->wait()) {
            if (\flock($handle, \LOCK_EX | \LOCK_NB)) {
                return true;
            }
        }

        return false;
    }
}
