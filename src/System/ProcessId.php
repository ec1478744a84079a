<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Names a process so that others can tell when it has died.
 *
 * The name is `<machine boot>.<pid name space>.<pid>.<start time>`: a pid alone comes back (they are reused), and a
 * pid of another machine or container means nothing here, so there only the lease's time counts.
 *
 * That /proc does not show a process means nothing: it may hide what is another user's, or what was root's once, as
 * the workers of php-fpm (proc(5), hidepid). Dead is whom the kernel does not find (kill(2), ESRCH), and whose number
 * another process has. A zombie is dead: its memory and its locks are gone, only its exit status waits (proc(5), field
 * 3 of /proc/PID/stat: Z or X).
 */
final class ProcessId
{
    /** errno(3): no such process. That a process is another user's is EPERM. */
    private const ESRCH = 3;

    /** For a part of the name that could not be learnt. */
    private const UNKNOWN = '0';

    private static string $name = '';
    private static int $pid = -1;

    /** The first two parts of the name. */
    private static string $host = '';

    /** Whether the numbers in /proc are those of this name space: it may have been mounted in another one. */
    private static bool $isProcOurs = false;

    public static function current(): string
    {
        $pid = self::pid();
        if (self::$pid !== $pid) {
            self::$pid = $pid;
            // A forked child has inherited where its parent's /proc/self led to (realpath_cache_ttl).
            \clearstatcache(true);
            $stat = self::stat('self');
            self::$isProcOurs = $stat !== null && $stat[0] === (string) $pid;
            self::$host = self::host();
            // Without its beginning, at least no two processes have the same name.
            self::$name = self::$host . '.' . $pid . '.' . ($stat[2] ?? 'x' . \bin2hex(\random_bytes(4)));
        }

        return self::$name;
    }

    /** True only when it is certain: same machine, same pid name space, and no such process any more. */
    public static function isKnownDead(string $name): bool
    {
        return self::isAlive($name) === false;
    }

    /** Null where nobody here can tell: it is a process of another machine, or of another pid name space. */
    public static function isAlive(string $name): ?bool
    {
        self::current();
        $parts = \explode('.', $name);
        if (\count($parts) !== 4 || $parts[1] === self::UNKNOWN || $parts[0] . '.' . $parts[1] !== self::$host
            || !\ctype_digit($parts[2]) || ($pid = (int) $parts[2]) === 0) {
            return null;
        }
        if (\function_exists('posix_kill') && \function_exists('posix_get_last_error')
            && !\posix_kill($pid, 0) && \posix_get_last_error() === self::ESRCH) {
            return false;
        }
        $stat = self::$isProcOurs ? self::stat($parts[2]) : null;
        if ($stat === null) {
            // The kernel knows it, if it could be asked.
            return \function_exists('posix_kill') ? true : null;
        }

        return !($stat[1] === 'Z' || $stat[1] === 'X' || (\ctype_digit($parts[3]) && $parts[3] !== self::UNKNOWN && $parts[3] !== $stat[2]));
    }

    /** As kill(2) counts; 0 where all functions that say it are disabled. */
    private static function pid(): int
    {
        return match (true) {
            \function_exists('posix_getpid') => \posix_getpid(),
            \function_exists('getmypid') => (int) \getmypid(),
            default => 0,
        };
    }

    private static function host(): string
    {
        $boot = \str_replace('-', '', Boot::id());
        // The link leads to a file whose number is the name space's (namespaces(7)).
        $space = (int) Quiet::call(static fn(): int|false => \fileinode('/proc/self/ns/pid'));
        if ($boot !== '' && $space !== 0) {
            return \substr($boot, 0, 12) . '.' . $space;
        }

        return \substr(\md5(\function_exists('gethostname') ? (string) \gethostname() : ''), 0, 8) . '.' . self::UNKNOWN;
    }

    /** @return ?array{string, string, string} number, state, and start in clock ticks since boot; null: it is not shown */
    private static function stat(string $process): ?array
    {
        // The file of a process that ends just now may vanish between a test and the reading.
        $stat = (string) Quiet::call(static fn(): string|false => \file_get_contents('/proc/' . $process . '/stat'));
        // The second field is the command's name in brackets and may itself hold spaces and brackets.
        $end = \strrpos($stat, ')');
        $fields = $end === false ? [] : \explode(' ', \substr($stat, $end + 2));

        return isset($fields[19]) ? [(string) \strstr($stat, ' ', true), $fields[0], $fields[19]] : null;
    }
}
