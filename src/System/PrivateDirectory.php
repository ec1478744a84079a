<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Makes a directory that belongs to one user, with mode 0700, and refuses one that another user could read, write or
 * replace.
 *
 * The directory carries no CACHEDIR.TAG: clean-up programs delete the files of a directory with that tag, even while
 * processes use them.
 */
final class PrivateDirectory
{
    /** Marks a directory that Larder made or took over: if its mode is loosened later, Larder may restore it. */
    public const MARK = 'larder-directory.txt';
    private const MARK_TEXT = "This directory belongs to Larder, which keeps here what the processes of one user share.\n"
        . "Do not empty it while they run: stop them first. The command \"larder flush\" empties the cache at any time.\n"
        . "There is nothing in it to back up, and it must not be restored from a backup.\n";

    /**
     * Files that are deleted if others could write there. Pending invalidations stay: they can only remove entries from the
     * cache. Directories of records stay too: without these files nothing reads them.
     */
    private const CONTENT = '/^(larder\.(db(-\w+|\.(new|damaged|apart|gate)[\w.-]*)?|lock)|(bell|log)\.[\w.]+|lock|said|(near|apcu)-\w+\.lock|local-[0-9a-f]{8}-[\w.-]+)$/D';
    private const COUNTERS = '/^local-\w+-purges$/D';

    /**
     * Makes sure that the directory exists, belongs to this user and is private. Costs a stat and another for each directory above if so.
     *
     * @return bool whether it was made, or taken over, just now
     *
     * @throws WrongUser       it belongs to another user
     * @throws UnsafeDirectory it is a symbolic link, a file, or shared with others and not Larder's own
     * @throws Failure         it cannot be created now
     */
    public static function prepare(string $path): bool
    {
        return !Ownership::isPrivate($path) && Quiet::call(static fn(): bool => self::prepareSlowly($path));
    }

    /**
     * Who owns the directory; if it does not exist, the owner of the nearest directory above it that does.
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
     * Makes a root process on the command line the directory's owner, for good. Call it before anything is opened.
     *
     * @return bool whether the process has changed its user
     *
     * @throws WrongUser if it could not, or if that user cannot read this library
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
        if (!\function_exists('posix_setuid') || !\function_exists('posix_setgid') || !\function_exists('posix_initgroups')) {
            throw WrongUser::of($path, $owner);
        }
        // A user without an account, as in containers, takes only the directory's group.
        $entry = \function_exists('posix_getpwuid') ? \posix_getpwuid($owner) : false;
        $group = $entry === false ? Quiet::call(static fn(): int => (int) \filegroup(self::nearest($path))) : $entry['gid'];
        for ($each = __DIR__; \strlen($each) > 1; $each = \dirname($each)) {
            $mode = (int) \fileperms($each);
            if (\fileowner($each) !== $owner && ($mode & (\filegroup($each) === $group ? 0o011 : 0o001)) === 0) {
                // PHP loads classes when they are first needed, and the new user could not read them.
                throw WrongUser::cannotRead($path, $owner, $each);
            }
        }
        // Groups first: without root's rights a process cannot change them (setuid(2)).
        if ($entry !== false && !\posix_initgroups($entry['name'], $group) || !\posix_setgid($group) || !\posix_setuid($owner)) {
            throw WrongUser::of($path, $owner);
        }

        return true;
    }

    private static function prepareSlowly(string $path): bool
    {
        if (\is_link($path)) {
            $target = \realpath($path);
            throw UnsafeDirectory::because($path, 'is a symbolic link', $target === false ? 'remove the link' : 'write the path that it leads to: ' . $target);
        }
        // Before anything is made: a refused path is left as it was found.
        $exposure = Ownership::exposure($path);
        if ($exposure !== null) {
            throw UnsafeDirectory::because(
                $path,
                'lies below ' . $exposure . ', where every user can write: another directory could be put in its place',
                // A volume of Kubernetes' (emptyDir) is like that. Without its mode this user could make nothing there.
                'give a directory elsewhere, or ' . (Ownership::user() !== 0 && \fileowner($exposure) === 0 ? 'let root type: chmod +t ' : 'type: chmod o-w ') . WrongUser::quoted($exposure),
            );
        }
        $isNew = !\is_dir($path);
        if ($isNew) {
            self::create($path);
        }
        $me = Ownership::user();
        $owner = \fileowner($path);
        if ($owner === false) {
            throw Failure::because($path, 'the owner of the directory cannot be read');
        }
        if ($owner !== $me) {
            throw WrongUser::of($path, $owner);
        }
        $mode = \fileperms($path);
        if ($mode === false || ($mode & 0o077) === 0) {
            return $isNew;
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

        return true;
    }

    /** Whether Larder made it or took it over: it carries the mark, which no other user has put there. */
    private static function isMarked(string $path): bool
    {
        $mark = $path . '/' . self::MARK;

        return \is_file($mark) && Ownership::flaw($mark) === null && \str_starts_with((string) \file_get_contents($mark), 'This directory belongs to Larder');
    }

    /**
     * Deletes files with Larder's names after other users could write to the directory: they may have planted some. The
     * cache starts cold.
     */
    private static function distrust(string $path): void
    {
        foreach (\scandir($path) ?: [] as $name) {
            $file = $path . '/' . $name;
            // unlink() deletes a link, not its target. A file that cannot be deleted is refused when it is opened.
            if (\preg_match(self::CONTENT, $name) === 1 && (\is_link($file) || !\is_dir($file))) {
                \unlink($file);
            } elseif (\preg_match(self::COUNTERS, $name) === 1) {
                // Without its counter no copy outside the cache is read.
                foreach (\array_diff(\scandir($file) ?: [], ['.', '..']) as $counter) {
                    \unlink("$file/$counter");
                }
            }
        }
    }

    private static function create(string $path): void
    {
        // Another process may have made it since the caller looked.
        if (\file_exists($path) && !\is_dir($path)) {
            throw UnsafeDirectory::because($path, 'is a file', 'give the path of a directory; Larder makes it');
        }
        $nearest = self::nearest($path);
        $made = self::make($path);
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
            'the directory cannot be created' . ($reason === '' ? '' : ': ' . $reason)
            . ($basedir === false || $basedir === '' ? '' : ' (open_basedir is ' . $basedir . ')')
            . '. ' . self::advice($path, $reason),
        );
    }

    private static function advice(string $path, string $reason): string
    {
        foreach ([
            'open_basedir' => 'Name the directory in open_basedir too, or choose one inside',
            'No space left' => 'Make room on its disk, or free inodes (df, df -i)',
            'quota exceeded' => 'Make room: the user has used up what the disk\'s quota gives',
            'Read-only' => 'Choose a directory on a file system that can be written to',
            'File exists|Not a directory' => 'A file has the name of a directory on this path: choose another',
        ] as $pattern => $advice) {
            if (\preg_match("/$pattern/i", $reason) === 1) {
                return $advice;
            }
        }

        return 'To fix it, type: install -d -m 700 -o ' . WrongUser::quoted(\ltrim(Ownership::name(Ownership::user()), '#')) . ' ' . WrongUser::quoted($path);
    }

    /**
     * Makes a directory with mode 0700, and those above it, whatever the umask takes away. The caller keeps PHP quiet.
     *
     * @return bool false: it is there already, or cannot be made
     */
    public static function make(string $path): bool
    {
        $above = \dirname($path);

        return (\mkdir($path, 0o700) || ($above !== $path && !\is_dir($path) && (self::make($above) || \is_dir($above)) && \mkdir($path, 0o700)))
            && (((int) \fileperms($path) & 0o700) === 0o700 || \chmod($path, 0o700));
    }

    /** Whether a mark's text is Larder's, in whatever release. */
    public static function isMark(string $text): bool
    {
        return \str_starts_with($text, (string) \strstr(self::MARK_TEXT, ',', true));
    }

    private static function mark(string $path): void
    {
        $file = $path . '/' . self::MARK;
        if (Ownership::flaw($file) === null) {
            // On a full disk it is left empty.
            \file_put_contents($file, self::MARK_TEXT) !== false ? \chmod($file, 0o600) : Quiet::remove($file);
        }
    }

    /** The path, or the nearest directory above it that exists. */
    public static function nearest(string $path): string
    {
        while ($path !== '' && !\file_exists($path) && !\is_link($path)) {
            $path = \substr($path, 0, (int) \strrpos($path, '/'));
        }

        return $path === '' ? '/' : $path;
    }
}
