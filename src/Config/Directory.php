<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\Store\StoreFailure;

/**
 * The private directory: where it is, whose it is, and that nobody else can look into it.
 *
 * It belongs to one user and has mode 0700. Web and command line of one user find the same default, so nothing
 * here asks the environment: php-fpm usually has no HOME (clear_env), and XDG_CACHE_HOME is set in shells only.
 */
final class Directory
{
    /**
     * Marks a directory that Larder made or took over, so that a mode loosened later can be mended; and tells
     * backup programs to leave it out (Cache Directory Tagging Specification, bford.info/cachedir).
     */
    private const TAG = 'CACHEDIR.TAG';
    private const TAG_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n# This directory belongs to Larder, a cache. It can be deleted while nothing uses it.\n";

    /** The effective user of this process. */
    public static function user(): int
    {
        if (\function_exists('posix_geteuid')) {
            return \posix_geteuid();
        }
        $file = \tmpfile();
        $stat = $file === false ? false : \fstat($file);

        return $stat === false ? (int) \getmyuid() : $stat['uid'];
    }

    /** A user's name, or #uid where the system knows none: sudo -u takes both. */
    public static function name(int $uid): string
    {
        $entry = \function_exists('posix_getpwuid') ? \posix_getpwuid($uid) : false;

        return $entry === false ? '#' . $uid : $entry['name'];
    }

    /**
     * The user's own directory: ~/.cache/larder, or /var/tmp/larder-<uid> for a user without a home to write to
     * (as www-data). Not checked and not created here.
     */
    public static function default(): string
    {
        return self::quietly(static function (): string {
            $uid = self::user();
            $entry = \function_exists('posix_getpwuid') ? \posix_getpwuid($uid) : false;
            $home = $entry === false ? '' : \rtrim($entry['dir'], '/');
            if ($home !== '') {
                $path = $home . '/.cache/larder';
                // One that is there stays the one, also when the file system has become read-only: what another
                // place would hold meanwhile could come back as stale.
                if (\is_dir($path) && \fileowner($path) === $uid) {
                    return $path;
                }
                $base = \file_exists($home . '/.cache') ? $home . '/.cache' : $home;
                if (\is_dir($base) && \fileowner($base) === $uid && \is_writable($base)) {
                    return $path;
                }
            }
            // Not sys_get_temp_dir() first: it depends on TMPDIR, and /tmp is emptied at each boot.
            foreach (['/var/tmp', '/tmp'] as $base) {
                if (\is_dir($base) && \is_writable($base)) {
                    return $base . '/larder-' . $uid;
                }
            }

            return \rtrim(\sys_get_temp_dir(), '/') . '/larder-' . $uid;
        });
    }

    /**
     * Makes sure that the directory is there, is ours, and is private. Three stat calls at most when it is.
     *
     * @throws WrongUser            it belongs to somebody else
     * @throws InvalidConfiguration it is a symbolic link, a file, or shared with others and not Larder's own
     * @throws StoreFailure         it cannot be created now
     */
    public static function prepare(string $path): void
    {
        \clearstatcache();
        if (\ini_get('open_basedir') === '' && !\is_link($path) && \is_dir($path)
            && \fileowner($path) === self::user() && (\fileperms($path) & 0o077) === 0
        ) {
            return;
        }
        self::quietly(static function () use ($path): void {
            self::prepareSlowly($path);
        });
    }

    /**
     * Who owns the directory, or would own it: the owner of the nearest directory above it that is there.
     */
    public static function owner(string $path): int
    {
        return self::quietly(static function () use ($path): int {
            \clearstatcache();
            $owner = \fileowner(self::nearest($path));

            return $owner === false ? self::user() : $owner;
        });
    }

    /**
     * Root on the command line becomes the directory's owner, for good. Call it before anything is opened.
     *
     * @return bool whether this process is another user's now
     *
     * @throws WrongUser when it cannot
     */
    public static function become(string $path): bool
    {
        if (\PHP_SAPI !== 'cli' || self::user() !== 0) {
            return false;
        }
        $owner = self::owner($path);
        if ($owner === 0) {
            return false;
        }
        if (!\function_exists('posix_setuid')) {
            throw WrongUser::of($path, $owner);
        }
        // A user that the system does not know, as in containers, has no groups to take on but the directory's.
        $entry = \posix_getpwuid($owner);
        $group = $entry === false ? self::quietly(static fn(): int => (int) \filegroup(self::nearest($path))) : $entry['gid'];
        // In this order: without root's rights the groups cannot be changed any more (setuid(2)).
        if ($entry !== false && !\posix_initgroups($entry['name'], $group) || !\posix_setgid($group) || !\posix_setuid($owner)) {
            throw WrongUser::of($path, $owner);
        }

        return true;
    }

    private static function prepareSlowly(string $path): void
    {
        if (\is_link($path)) {
            $target = \realpath($path);
            throw InvalidConfiguration::directory($path, 'is a symbolic link', $target === false ? 'remove the link' : 'write the path that it leads to: ' . $target);
        }
        if (!\is_dir($path)) {
            self::create($path);
        }
        $me = self::user();
        $owner = \fileowner($path);
        if ($owner === false) {
            throw StoreFailure::because($path, 'the cache directory cannot be looked at');
        }
        if ($owner !== $me) {
            throw WrongUser::of($path, $owner);
        }
        $mode = \fileperms($path);
        if ($mode === false || ($mode & 0o077) === 0) {
            return;
        }
        $foreign = \array_diff(\scandir($path) ?: [], ['.', '..']);
        if ($foreign !== [] && !\str_contains((string) \file_get_contents($path . '/' . self::TAG), 'Larder')) {
            throw InvalidConfiguration::directory(
                $path,
                \sprintf('can be entered by others (mode %04o) and holds files that are not Larder\'s', $mode & 0o7777),
                'give Larder a directory of its own, as ' . $path . '/larder, or type: chmod 700 ' . \escapeshellarg($path),
            );
        }
        if (!\chmod($path, 0o700)) {
            throw InvalidConfiguration::directory($path, 'can be entered by others', 'type: chmod 700 ' . \escapeshellarg($path));
        }
        self::tag($path);
        \clearstatcache();
    }

    private static function create(string $path): void
    {
        if (\file_exists($path)) {
            throw InvalidConfiguration::directory($path, 'is a file', 'give the path of a directory; Larder makes it');
        }
        $nearest = self::nearest($path);
        $reason = '';
        \set_error_handler(static function (int $level, string $message) use (&$reason): bool {
            $reason = $message;

            return true;
        });
        try {
            $made = \mkdir($path, 0o700, true);
        } finally {
            \restore_error_handler();
        }
        if ($made) {
            self::tag($path);
        }
        \clearstatcache();
        if (\is_dir($path)) {
            return;
        }
        $owner = \fileowner($nearest);
        if ($owner !== false && $owner !== self::user() && ((int) \fileperms($nearest) & 0o007) === 0) {
            throw WrongUser::of($nearest, $owner);
        }
        $basedir = \ini_get('open_basedir');

        throw StoreFailure::because(
            $path,
            'the cache directory cannot be created' . ($reason === '' ? '' : ': ' . $reason)
            . ($basedir === false || $basedir === '' ? '' : ' (open_basedir is ' . $basedir . ')')
            . '. To mend it, type: install -d -m 700 -o ' . self::name(self::user()) . ' ' . \escapeshellarg($path),
        );
    }

    private static function tag(string $path): void
    {
        $file = $path . '/' . self::TAG;
        if (\file_put_contents($file, self::TAG_TEXT) !== false) {
            \chmod($file, 0o600);
        }
    }

    private static function nearest(string $path): string
    {
        while ($path !== '' && !\file_exists($path) && !\is_link($path)) {
            $path = \substr($path, 0, (int) \strrpos($path, '/'));
        }

        return $path === '' ? '/' : $path;
    }

    /**
     * Without the warnings by which PHP announces a file that is not there or is outside open_basedir.
     *
     * @template T
     *
     * @param \Closure(): T $do
     *
     * @return T
     */
    private static function quietly(\Closure $do): mixed
    {
        \set_error_handler(static fn(): bool => true);
        try {
            return $do();
        } finally {
            \restore_error_handler();
        }
    }
}
