<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * A directory that belongs to one user, with mode 0700: makes it, and refuses one that somebody else could read, write
 * or replace.
 *
 * It does not carry CACHEDIR.TAG: programs that make room remove what lies in a directory with that mark, also under
 * running processes.
 */
final class PrivateDirectory
{
    /** Marks a directory that Larder made or took over, so that a mode loosened later can be mended. */
    public const MARK = 'larder-directory.txt';
    private const MARK_TEXT = "This directory belongs to Larder, which keeps here what the processes of one user share.\n"
        . "Do not empty it while they run: stop them first. The command \"larder flush\" empties the cache at any time.\n"
        . "There is nothing in it to back up, and it must not be restored from a backup.\n";

    /**
     * What goes once others could write there. What is kept for a store that is away stays, as it can only take
     * something from the cache, and so do directories of records, which nothing leads to any more.
     */
    private const CONTENT = '/^(larder\.(db\b.*|lock)|(bell|tail|log)\.[\w.]+|lock|said|(near|apcu)-\w+\.lock|local-[\w.-]+)$/D';

    /**
     * Makes sure that the directory is there, is ours, and is private. Three stat calls when it is.
     *
     * @throws WrongUser            it belongs to somebody else
     * @throws UnsafeDirectory      it is a symbolic link, a file, or shared with others and not Larder's own
     * @throws Failure         it cannot be created now
     */
    public static function prepare(string $path): void
    {
        if (Ownership::isPrivate($path)) {
            return;
        }
        Quiet::call(static function () use ($path): void {
            self::prepareSlowly($path);
        });
    }

    /**
     * Who owns the directory, or would own it: the owner of the nearest directory above it that is there.
     */
    public static function owner(string $path): int
    {
        return Quiet::call(static function () use ($path): int {
            \clearstatcache();
            $owner = \fileowner(self::nearest($path));

            return $owner === false ? Ownership::user() : $owner;
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
        if (\PHP_SAPI !== 'cli' || Ownership::user() !== 0) {
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
        $entry = \function_exists('posix_getpwuid') ? \posix_getpwuid($owner) : false;
        $group = $entry === false ? Quiet::call(static fn(): int => (int) \filegroup(self::nearest($path))) : $entry['gid'];
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
            throw UnsafeDirectory::because($path, 'is a symbolic link', $target === false ? 'remove the link' : 'write the path that it leads to: ' . $target);
        }
        if (!\is_dir($path)) {
            self::create($path);
        }
        $me = Ownership::user();
        $owner = \fileowner($path);
        if ($owner === false) {
            throw Failure::because($path, 'the cache directory cannot be looked at');
        }
        if ($owner !== $me) {
            throw WrongUser::of($path, $owner);
        }
        for ($each = $path; \strlen($each) > 1; $each = \dirname($each)) {
            if (Ownership::isMovable($each)) {
                $above = \dirname($each);
                throw UnsafeDirectory::because(
                    $path,
                    'lies below ' . $above . ', where everybody can write: another directory could be put in its place',
                    'give a directory elsewhere, or type: chmod o-w ' . WrongUser::quoted($above),
                );
            }
        }
        $mode = \fileperms($path);
        if ($mode === false || ($mode & 0o077) === 0) {
            return;
        }
        $content = \array_diff(\scandir($path) ?: [], ['.', '..']);
        if ($content !== [] && !self::isMarked($path)) {
            throw UnsafeDirectory::because(
                $path,
                \sprintf('can be entered by others (mode %04o) and holds files that are not Larder\'s', $mode & 0o7777),
                'give Larder a directory of its own, as ' . $path . '/larder, or see that all in it is yours and type: chmod 700 ' . WrongUser::quoted($path),
            );
        }
        if (!\chmod($path, 0o700)) {
            throw UnsafeDirectory::because($path, 'can be entered by others', 'type: chmod 700 ' . WrongUser::quoted($path));
        }
        if (($mode & 0o022) !== 0) {
            self::distrust($path);
        }
        self::mark($path);
        \clearstatcache();
    }

    /** Whether Larder made it, or took it over: nobody else has put the mark there. */
    private static function isMarked(string $path): bool
    {
        $mark = $path . '/' . self::MARK;

        return \is_file($mark) && Ownership::flaw($mark) === null && \str_starts_with((string) \file_get_contents($mark), 'This directory belongs to Larder');
    }

    /**
     * Others could write there, and now nobody can any more: what they may have put there under Larder's names goes, and
     * with it what Larder itself had there. The cache starts cold.
     */
    private static function distrust(string $path): void
    {
        foreach (\scandir($path) ?: [] as $name) {
            $file = $path . '/' . $name;
            // A link goes, not what it leads to. What cannot be removed is refused when it is opened.
            if (\preg_match(self::CONTENT, $name) === 1 && (\is_link($file) || !\is_dir($file))) {
                \unlink($file);
            }
        }
    }

    private static function create(string $path): void
    {
        if (\file_exists($path)) {
            throw UnsafeDirectory::because($path, 'is a file', 'give the path of a directory; Larder makes it');
        }
        $nearest = self::nearest($path);
        $made = \mkdir($path, 0o700, true);
        $reason = $made ? '' : Quiet::$reason;
        if ($made) {
            self::mark($path);
        }
        \clearstatcache();
        if (\is_dir($path)) {
            return;
        }
        $owner = \fileowner($nearest);
        if ($owner !== false && $owner !== Ownership::user() && ((int) \fileperms($nearest) & 0o007) === 0) {
            throw WrongUser::of($nearest, $owner);
        }
        $basedir = \ini_get('open_basedir');

        throw Failure::because(
            $path,
            'the cache directory cannot be created' . ($reason === '' ? '' : ': ' . $reason)
            . ($basedir === false || $basedir === '' ? '' : ' (open_basedir is ' . $basedir . ')')
            . '. To fix it, type: install -d -m 700 -o ' . Ownership::name(Ownership::user()) . ' ' . WrongUser::quoted($path),
        );
    }

    private static function mark(string $path): void
    {
        $file = $path . '/' . self::MARK;
        if (Ownership::flaw($file) === null && \file_put_contents($file, self::MARK_TEXT) !== false) {
            \chmod($file, 0o600);
        }
    }

    /** The path, or the nearest directory above it that is there. */
    public static function nearest(string $path): string
    {
        while ($path !== '' && !\file_exists($path) && !\is_link($path)) {
            $path = \substr($path, 0, (int) \strrpos($path, '/'));
        }

        return $path === '' ? '/' : $path;
    }
}
