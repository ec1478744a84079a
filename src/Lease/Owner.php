<?php

declare(strict_types=1);

namespace Larder\Lease;

/**
 * Names a process so that others can tell when it has died.
 *
 * The name is `<machine boot>.<pid name space>.<pid>.<start time>`: a pid alone comes back (they are reused), and a
 * pid of another machine or container means nothing here, so there only the lease's time counts. A zombie is dead:
 * its memory and its locks are gone, only its exit status waits (proc(5), field 3 of /proc/PID/stat: Z or X).
 */
final class Owner
{
    private static string $name = '';
    private static int $pid = 0;
    private static string $host = '';

    public static function current(): string
    {
        $pid = (int) \getmypid();
        if (self::$pid !== $pid) {
            self::$pid = $pid;
            self::$host = '';
            self::$name = self::host() . '.' . $pid . '.' . (self::startTime($pid) ?? '0');
        }

        return self::$name;
    }

    /** True only when it is certain: same machine, same pid name space, and no such process any more. */
    public static function isKnownDead(string $name): bool
    {
        $parts = \explode('.', $name);
        if (\count($parts) !== 4 || $parts[3] === '0' || $parts[0] . '.' . $parts[1] !== self::host()) {
            return false;
        }

        return self::startTime((int) $parts[2]) !== $parts[3];
    }

    private static function host(): string
    {
        if (self::$host === '') {
            $boot = self::contents('/proc/sys/kernel/random/boot_id');
            $space = \is_link('/proc/self/ns/pid') ? \readlink('/proc/self/ns/pid') : false;
            self::$host = $boot === '' || $space === false
                ? \substr(\md5(\php_uname('n')), 0, 8) . '.0'
                : \substr(\str_replace('-', '', $boot), 0, 12) . '.' . \preg_replace('/\D/', '', $space);
        }

        return self::$host;
    }

    /** Clock ticks since boot, or null where there is no such (living) process or no way to know. */
    private static function startTime(int $pid): ?string
    {
        $stat = self::contents('/proc/' . $pid . '/stat');
        // The second field is the command's name in brackets and may itself hold spaces and brackets.
        $end = \strrpos($stat, ')');
        if ($end === false) {
            return null;
        }
        $fields = \explode(' ', \substr($stat, $end + 2));

        return $fields[0] === 'Z' || $fields[0] === 'X' ? null : ($fields[19] ?? null);
    }

    private static function contents(string $file): string
    {
        \set_error_handler(static fn(): bool => true);
        try {
            // The file of a process that ends just now may vanish between a test and the reading.
            return (string) \file_get_contents($file);
        } finally {
            \restore_error_handler();
        }
    }
}
