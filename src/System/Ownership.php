<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Whether a file or directory is this user's alone: nobody else has made it, can write it, or can put another in its
 * place.
 *
 * Asked before anything is opened. What others have planted would be written through (a link to another file of this
 * user's), or unserialized (a database).
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

    /** Where the functions that say it are missing, it is asked once. */
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

    /** A user's name, or #uid where the system knows none: sudo -u takes both. */
    public static function name(int $uid): string
    {
        $entry = \function_exists('posix_getpwuid') ? \posix_getpwuid($uid) : false;

        return $entry === false ? '#' . $uid : $entry['name'];
    }

    /**
     * What is wrong with a file that is about to be opened; null: nothing, or it is not there. One lstat.
     *
     * It is for files in a directory that is private by now, so that nobody exchanges it between this and the opening.
     */
    public static function flaw(string $file): ?string
    {
        $stat = self::lstat($file);
        $flaw = $stat === null ? null : self::wrong($stat);

        return $flaw === null ? null : "$file $flaw, so that somebody else may have put it there; remove it";
    }

    /**
     * What lstat() says of a file of which nothing is wrong; null: it is not there, or somebody else may have put it there.
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
     * Whether the directory is there, no link, this user's, closed to all others, and fixed in its place.
     *
     * Three stats, asked by each request: so by the functions that answer one thing, and from PHP's own cache where it
     * has just looked. Under open_basedir these would warn, and what is above is not to be seen.
     */
    public static function isPrivate(string $directory): bool
    {
        \clearstatcache();
        if ((string) \ini_get('open_basedir') !== '') {
            $stat = self::lstat($directory);

            return $stat !== null && ($stat['mode'] & self::TYPE) === self::DIRECTORY && $stat['uid'] === self::user()
                && ($stat['mode'] & self::OTHERS) === 0 && !self::isMovable($directory);
        }

        return !\is_link($directory) && \is_dir($directory) && \fileowner($directory) === self::user()
            && (\fileperms($directory) & self::OTHERS) === 0 && !self::isMovable($directory);
    }

    /** Whether what has the name of a directory is a link, or somebody else's; false too where nothing has it. */
    public static function isForeign(string $directory): bool
    {
        $stat = self::lstat($directory);

        return $stat !== null && (($stat['mode'] & self::TYPE) !== self::DIRECTORY || $stat['uid'] !== self::user());
    }

    /**
     * Whether somebody can put another directory in the place of this one: everybody may write above it, and no sticky
     * bit of root's or this user's keeps them from renaming what is not theirs (path_resolution(7), rename(2), EPERM).
     * If this code lies there too, they could as well change that.
     */
    public static function isMovable(string $directory): bool
    {
        $above = \dirname($directory);
        if ((string) \ini_get('open_basedir') !== '') {
            $stat = self::lstat($above);
            $mode = $stat['mode'] ?? 0;
            $owner = $stat['uid'] ?? 0;
        } else {
            $mode = \is_dir($above) ? (int) \fileperms($above) : 0;
            $owner = ($mode & self::WORLD_WRITES) === 0 ? 0 : (int) \fileowner($above);
        }

        return ($mode & self::WORLD_WRITES) !== 0
            && (($mode & self::STICKY) === 0 || ($owner !== 0 && $owner !== self::user()))
            && !\str_starts_with(__FILE__, \rtrim((string) \realpath($above), '/') . '/');
    }

    /** @return ?array{mode: int, uid: int, nlink: int, mtime: int, ...} null: it is not there */
    private static function lstat(string $path): ?array
    {
        \clearstatcache();
        $stat = Quiet::call(static fn(): array|false => \lstat($path));

        return \is_array($stat) ? $stat : null;
    }
}
