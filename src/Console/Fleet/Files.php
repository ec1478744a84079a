<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

/**
 * Reads directories and the beginnings of files that somebody hostile may have put there: never more than so much, never
 * through a link, and without waiting for a pipe. The caller keeps PHP quiet.
 *
 * @phpstan-type Stat array{dev: int, ino: int, mode: int, nlink: int, uid: int, size: int, atime: int, mtime: int, ctime: int, blocks: int, ...}
 */
final class Files
{
    /** Names that are read of one directory. */
    public const MOST = 10_000;

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
        return 512 * \max(0, $stat['blocks']);
    }

    /** @return ?list<string> null: it cannot be read */
    public static function names(string $directory): ?array
    {
        $handle = \opendir($directory);
        if ($handle === false) {
            return null;
        }
        $names = [];
        while (\count($names) < self::MOST && ($name = \readdir($handle)) !== false) {
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
     * @param Stat $stat
     *
     * @return ?resource
     */
    public static function open(string $path, array $stat)
    {
        // "n": O_NONBLOCK, for somebody may have put a pipe there since the look; "e": O_CLOEXEC.
        $handle = self::isPlain($stat) ? \fopen($path, 'rne') : false;
        if ($handle === false) {
            return null;
        }
        $opened = \fstat($handle);
        if ($opened === false || $opened['ino'] !== $stat['ino']) {
            \fclose($handle);

            return null;
        }
        \stream_set_read_buffer($handle, 0);

        return $handle;
    }
}
