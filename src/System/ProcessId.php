<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Names a process so that others can tell when it has died.
 *
 * The name is `<machine boot>.<pid name space>.<pid>.<start time>`. A pid alone is not enough: the system reuses pids, and
 * a pid of another machine or container means nothing here. There only a lease's deadline counts.
 *
 * A process that /proc does not show may still live: /proc may hide other users' processes, and processes that once were
 * root's, such as the workers of php-fpm (proc(5), hidepid). A process is dead if the kernel does not find it (kill(2),
 * ESRCH), or if another process has its pid. A zombie is dead: it has lost its memory and its locks, and only its exit
 * status remains (proc(5), field 3 of /proc/PID/stat: Z or X).
 */
final class ProcessId
{
    /** errno(3): no such process. For another user's process it would be EPERM. */
    private const ESRCH = 3;

    /** Stands for a part of the name that PHP could not read. */
    private const UNKNOWN = '0';

    private static string $name = '';
    private static int $pid = -1;

    /** The first two parts of the name. */
    private static string $host = '';

    /** Whether /proc shows the pids of this name space: it may have been mounted in another one. */
    private static bool $isProcOurs = false;

    public static function current(): string
    {
        $pid = self::pid();
        if (self::$pid !== $pid) {
            self::$pid = $pid;
            // A forked child inherits its parent's cached path of /proc/self (realpath_cache_ttl).
            \clearstatcache(true);
            $stat = self::stat('self');
            self::$isProcOurs = $stat !== null && $stat[0] === (string) $pid;
            self::$host = self::host();
            // If the start time is unknown, a random part keeps two processes from having the same name.
            self::$name = self::$host . '.' . $pid . '.' . ($stat[2] ?? 'x' . \bin2hex(\random_bytes(4)));
        }

        return self::$name;
    }

    /** True only if it is certain: same machine, same pid name space, and the process has died. */
    public static function isKnownDead(string $name): bool
    {
        return self::isAlive($name) === false;
    }

    /** Null: it cannot be told here, because the process belongs to another machine or another pid name space. */
    public static function isAlive(string $name): ?bool
    {
        self::current();
        $parts = \explode('.', $name);
        if (\count($parts) !== 4 || $parts[1] === self::UNKNOWN || $parts[0] . '.' . $parts[1] !== self::$host
            || \preg_match('/^\d+$/D', $parts[2]) !== 1 || ($pid = (int) $parts[2]) === 0) {
            return null;
        }
        if (\function_exists('posix_kill') && \function_exists('posix_get_last_error')
            && !\posix_kill($pid, 0) && \posix_get_last_error() === self::ESRCH) {
            return false;
        }
        $stat = self::$isProcOurs ? self::stat($parts[2]) : null;
        if ($stat === null) {
            // The kernel has found the process, if PHP could ask it.
            return \function_exists('posix_kill') ? true : null;
        }

        return !($stat[1] === 'Z' || $stat[1] === 'X' || (\preg_match('/^\d+$/D', $parts[3]) === 1 && $parts[3] !== self::UNKNOWN && $parts[3] !== $stat[2]));
    }

    /** The pid as kill(2) takes it; 0 if every function that tells it is disabled. */
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
        $boot = \str_replace('-', '', MachineBoot::id());
        // The inode number of the link's target identifies the name space (namespaces(7)).
        $space = (int) Quiet::call(static fn(): int|false => \fileinode('/proc/self/ns/pid'));
        if ($boot !== '' && $space !== 0) {
            return \substr($boot, 0, 12) . '.' . $space;
        }

        return \substr(\md5(\function_exists('gethostname') ? (string) \gethostname() : ''), 0, 8) . '.' . self::UNKNOWN;
    }

    /**
     * How many processes this one's parent has started that run as the same user, this one among them; null: not known. Linux
     * lists a process's children (proc(5), /proc/PID/task/TID/children).
     */
    public static function siblings(): ?int
    {
        [$pid, , , $parent] = self::stat('self') ?? ['', '', '', ''];

        return Quiet::call(static function () use ($pid, $parent): ?int {
            $user = \fileowner("/proc/$pid");
            $siblings = 0;
            foreach (\explode(' ', \trim((string) \file_get_contents("/proc/$parent/task/$parent/children"))) as $child) {
                $siblings += $child !== '' && \fileowner("/proc/$child") === $user ? 1 : 0;
            }

            return $siblings ?: null;
        });
    }

    /** @return ?array{string, string, string, string} pid, state, start in clock ticks since boot, parent's pid; null: /proc does not show it */
    private static function stat(string $process): ?array
    {
        // The process may end just now, and its file vanish between a test and the read.
        $stat = (string) Quiet::call(static fn(): string|false => \file_get_contents('/proc/' . $process . '/stat'));
        // The second field is the command's name in brackets and may itself hold spaces and brackets.
        $end = \strrpos($stat, ')');
        $fields = $end === false ? [] : \explode(' ', \substr($stat, $end + 2));

        return isset($fields[19]) ? [(string) \strstr($stat, ' ', true), $fields[0], $fields[19], $fields[1]] : null;
    }
}
