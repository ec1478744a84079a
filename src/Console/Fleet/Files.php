<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

/**
 * Reads directories and the beginnings of files that a hostile user may have put there: never more than so much, never
 * through a link, and without waiting for a pipe. The caller keeps PHP quiet.
 *
 * @phpstan-type Stat array{dev: int, ino: int, mode: int, nlink: int, uid: int, size: int, atime: int, mtime: int, ctime: int, blocks: int, ...}
 */
final class Files
{
    /** Names that are read of one directory. */
    public const MOST = 10_000;

    /** Of a number that any user may have written: more than any disk has, and little enough to be added a million times. */
    private const LARGEST = 1 << 42;

    private const TYPE = 0o170000;
    private const PLAIN = 0o100000;
    private const LINK = 0o120000;
    private const DIRECTORY = 0o040000;

    /** @return ?Stat null: it is not there, or must not be seen */
    public static function stat(string $path): ?array
    {
        \clearstatcache();

        /** @var Stat|false $stat */
        $stat = \lstat($path);

        return $stat === false ? null : $stat;
    }

    /** @param Stat $stat */
    public static function isDirectory(array $stat): bool
    {
        return ($stat['mode'] & self::TYPE) === self::DIRECTORY;
    }

    /** @param Stat $stat */
    public static function isPlain(array $stat): bool
    {
        return ($stat['mode'] & self::TYPE) === self::PLAIN;
    }

    /** @param Stat $stat */
    public static function isLink(array $stat): bool
    {
        return ($stat['mode'] & self::TYPE) === self::LINK;
    }

    /** @param Stat $stat bytes of the disk or the memory that it takes */
    public static function taken(array $stat): int
    {
        return self::bounded(512 * \max(0, $stat['blocks']));
    }

    /** @return ?list<string> null: it cannot be read */
    public static function names(string $directory, int $most = self::MOST): ?array
    {
        $handle = \opendir($directory);
        if ($handle === false) {
            return null;
        }
        $names = [];
        while (\count($names) < $most && ($name = \readdir($handle)) !== false) {
            $name === '.' || $name === '..' || $names[] = $name;
        }
        \closedir($handle);

        return $names;
    }

    /** @param Stat $stat of that path. @return ?string null: it cannot be read, or is another file by now */
    public static function start(string $path, array $stat, int $length): ?string
    {
        $handle = self::open($path, $stat);
        $bytes = $handle === null ? false : \fread($handle, \max(1, $length));
        $handle === null || \fclose($handle);

        return $bytes === false ? null : $bytes;
    }

    /**
     * The number of bytes that a file says.
     *
     * @param Stat $stat of that path
     */
    public static function number(string $path, array $stat): int
    {
        // One digit more than a number has, to be seen.
        return \preg_match('/^\d{1,18}(?!\d)/', (string) self::start($path, $stat, 19), $match) === 1 ? self::bounded((int) $match[0]) : 0;
    }

    /** A size or a count as it can be added to others. */
    public static function bounded(int|float $number): int
    {
        return (int) \max(0, \min(self::LARGEST, $number));
    }

    /**
     * @param Stat $stat
     *
     * @return ?resource
     */
    public static function open(string $path, array $stat)
    {
        // "n": O_NONBLOCK, for another user may have put a pipe there since the look; "e": O_CLOEXEC.
        $handle = self::isPlain($stat) ? \fopen($path, 'rne') : false;
        if ($handle === false) {
            return null;
        }
        $opened = \fstat($handle);
        // It may have followed a link that another user has put there since the look.
        if ($opened === false || [$opened['dev'], $opened['ino'], $opened['uid']] !== [$stat['dev'], $stat['ino'], $stat['uid']]) {
            \fclose($handle);

            return null;
        }
        \stream_set_read_buffer($handle, 0);

        return $handle;
    }
}
