<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Checks that a file or directory is this user's alone: no other user has made it, can write it, or can replace it.
 *
 * Callers check before they open anything. Otherwise Larder would write through a link that another user has planted (to
 * another file of this user's), or unserialize values of a planted database.
 */
final class Ownership
{
    private const TYPE = 0o170000;
    private const PLAIN = 0o100000;
    private const LINK = 0o120000;
    private const DIRECTORY = 0o040000;
    private const OTHERS = 0o077;
    private const OTHERS_WRITE = 0o022;
    private const WORLD_WRITES = 0o002;
    private const STICKY = 0o1000;

    /** Cached where the posix functions are missing, since asking then is slow. */
    private static ?int $user = null;

    /** The effective user of this process. */
    public static function user(): int
    {
        if (\function_exists('posix_geteuid')) {
            return \posix_geteuid();
        }
        if (self::$user === null) {
            $file = \tmpfile();
            $stat = $file === false ? false : \fstat($file);
            self::$user = $stat['uid'] ?? (\function_exists('getmyuid') ? (int) \getmyuid() : (int) \fileowner(__FILE__));
        }

        return self::$user;
    }

    /** A user's name, or #uid if the system knows none: sudo -u takes both. */
    public static function name(int $uid): string
    {
        $entry = \function_exists('posix_getpwuid') ? \posix_getpwuid($uid) : false;

        return $entry === false ? '#' . $uid : $entry['name'];
    }

    /**
     * What is wrong with a file that is about to be opened; null: nothing, or there is no file. One lstat.
     *
     * For files in a directory that is already private, so that no other user can replace the file before it is opened.
     */
    public static function flaw(string $file): ?string
    {
        $stat = self::lstat($file);
        $flaw = $stat === null ? null : self::wrong($stat);

        return $flaw === null ? null : "$file $flaw, so that another user may have put it there; remove it";
    }

    /**
     * Refuses a file that is about to be opened, if something is wrong with it: see flaw().
     *
     * @throws Failure
     */
    public static function check(string $engine, string $file): void
    {
        $flaw = self::flaw($file);
        if ($flaw !== null) {
            throw Failure::because($engine, $flaw);
        }
    }

    /**
     * The lstat() of a file with which nothing is wrong; null: there is no file, or another user may have put it there.
     *
     * @return ?array{mode: int, uid: int, nlink: int, mtime: int, ...}
     */
    public static function status(string $file): ?array
    {
        $stat = self::lstat($file);

        return $stat === null || self::wrong($stat) !== null ? null : $stat;
    }

    /** @param array{mode: int, uid: int, nlink: int, ...} $stat */
    private static function wrong(array $stat): ?string
    {
        return match (true) {
            ($stat['mode'] & self::TYPE) === self::LINK => 'is a symbolic link',
            ($stat['mode'] & self::TYPE) !== self::PLAIN => 'is no plain file',
            $stat['uid'] !== self::user() => 'belongs to another user',
            $stat['nlink'] > 1 => 'has a second name (a hard link)',
            ($stat['mode'] & self::OTHERS_WRITE) !== 0 => 'can be written by others',
            default => null,
        };
    }

    /**
     * Whether the directory exists, is no link, belongs to this user, is closed to all others, and cannot be replaced.
     *
     * Each request pays a stat for this and another for each directory above, so it uses functions that answer one thing each,
     * and PHP's stat cache where it is fresh. Under open_basedir they would warn.
     */
    public static function isPrivate(string $directory): bool
    {
        \clearstatcache();
        if ((string) \ini_get('open_basedir') !== '') {
            $stat = self::lstat($directory);

            return $stat !== null && ($stat['mode'] & self::TYPE) === self::DIRECTORY && $stat['uid'] === self::user()
                && ($stat['mode'] & self::OTHERS) === 0 && self::exposure($directory) === null;
        }

        return !\is_link($directory) && \is_dir($directory) && \fileowner($directory) === self::user()
            && (\fileperms($directory) & self::OTHERS) === 0 && self::exposure($directory) === null;
    }

    /** Whether this path exists and is not a directory of this user's: a link, a file, or another user's directory. */
    public static function isForeign(string $directory): bool
    {
        $stat = self::lstat($directory);

        return $stat !== null && (($stat['mode'] & self::TYPE) !== self::DIRECTORY || $stat['uid'] !== self::user());
    }

    /**
     * The directory above this path, however far, in which another user can replace what leads here; null: none. Everybody may
     * write to such a directory, and no sticky bit of root's or this user's keeps them from renaming others' files
     * (path_resolution(7), rename(2), EPERM). The path need not exist. Where it leads through links, their targets count too.
     *
     * If this code lies there too, the answer is null: they could as well change the code.
     */
    public static function exposure(string $path): ?string
    {
        $isConfined = (string) \ini_get('open_basedir') !== '';
        for ($above = \dirname($path); ; $above = \dirname($above)) {
            if ($isConfined) {
                // PHP may not see the directories above: the answer is null for them.
                $stat = self::lstat($above);
                $mode = $stat['mode'] ?? 0;
                $owner = $stat['uid'] ?? 0;
            } else {
                $mode = \is_dir($above) ? (int) \fileperms($above) : 0;
                $owner = ($mode & self::WORLD_WRITES) === 0 ? 0 : (int) \fileowner($above);
            }
            if (($mode & self::WORLD_WRITES) !== 0
                && (($mode & self::STICKY) === 0 || ($owner !== 0 && $owner !== self::user()))
                && !\str_starts_with(__FILE__, \rtrim((string) \realpath($above), '/') . '/')) {
                return $above;
            }
            if (\strlen($above) < 2) {
                break;
            }
        }
        if ($isConfined) {
            return null;
        }
        // From PHP's cache of real paths, mostly.
        $there = \realpath($path);
        for ($above = $path; $there === false && \strlen($above) > 1;) {
            $above = \dirname($above);
            $there = \realpath($above);
            $there = $there === false ? false : $there . \substr($path, \strlen($above));
        }

        return $there === false || $there === $path ? null : self::exposure($there);
    }

    /** @return ?array{mode: int, uid: int, nlink: int, mtime: int, ...} null: it does not exist */
    private static function lstat(string $path): ?array
    {
        \clearstatcache();
        if ((string) \ini_get('open_basedir') !== '') {
            $stat = Quiet::call(static fn(): array|false => \lstat($path));
        } else {
            // Of a file that is not there lstat() would warn, which takes longer than all the rest. Of one that is, it answers
            // from is_link()'s stat.
            $stat = \is_link($path) || \file_exists($path) ? \lstat($path) : false;
        }

        return \is_array($stat) ? $stat : null;
    }
}
