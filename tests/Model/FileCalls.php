<?php

declare(strict_types=1);

namespace Larder\Tests\Model;

/** What Machine answers to calls of PHP's file functions: each asks or changes the model's file system in one step. */
trait FileCalls
{
    private const AT_ONCE = 24;
    private const EDGE = 4;

    public static function clearstatcache(bool $clear = false, string $path = ''): void {}

    public static function is_file(string $path): bool
    {
        return self::step('find', $path) !== 0;
    }

    public static function file_exists(string $path): bool
    {
        return self::is_file($path);
    }

    public static function is_dir(string $path): bool
    {
        return true;
    }

    public static function is_writable(string $path): bool
    {
        return true;
    }

    public static function mkdir(string $path, int $mode = 0, bool $deep = false): bool
    {
        return true;
    }

    public static function chmod(string $path, int $mode): bool
    {
        return true;
    }

    public static function touch(string $path, int $time = 0): bool
    {
        return true;
    }

    public static function filemtime(string $path): int
    {
        return \intdiv(self::$now, 1000);
    }

    /** @return list<string> */
    public static function scandir(string $path): array
    {
        return ['.', '..'];
    }

    public static function filesize(string $path): int|false
    {
        return self::size(self::step('find', $path));
    }

    public static function fileinode(string $path): int|false
    {
        $inode = self::step('find', $path);

        return \is_int($inode) && $inode > 0 ? $inode : false;
    }

    public static function file_get_contents(
        string $path,
        bool $search = false,
        mixed $context = null,
        int $offset = 0,
        ?int $length = null,
    ): string|false {
        if (\str_starts_with($path, '/proc/')) {
            return "one boot\n";
        }
        $handle = self::fopen($path, 'r');
        $bytes = $handle === false ? false : self::fread($handle, $length ?? \PHP_INT_MAX);

        return $bytes;
    }

    public static function fopen(string $path, string $mode): Handle|false
    {
        $inode = self::step('open', $path, $mode);

        return \is_int($inode) && $inode > 0 ? new Handle($inode) : false;
    }

    public static function is_resource(mixed $handle): bool
    {
        return $handle instanceof Handle;
    }

    public static function fread(Handle $handle, int $length): string
    {
        $bytes = self::step('read', $handle->inode, $handle->offset, $length);
        $bytes = \is_string($bytes) ? $bytes : '';
        $handle->offset += \strlen($bytes);

        return $bytes;
    }

    public static function stream_get_contents(Handle $handle, int $length = \PHP_INT_MAX): string
    {
        return self::fread($handle, $length);
    }

    /**
     * In two steps: whoever is killed in the middle, or reads meanwhile, leaves or finds half of it. What is so short lies within
     * a page, where the code puts it in a header, and then Linux copies it at once. But a page may
     * end at any multiple of EDGE.
     */
    public static function fwrite(Handle $handle, string $bytes): int
    {
        $half = \strlen($bytes) > self::AT_ONCE ? \strlen($bytes) >> 1 : 0;
        $half = $half ?: -$handle->offset & self::EDGE - 1;
        foreach ($half > 0 && $half < \strlen($bytes) ? [\substr($bytes, 0, $half), \substr($bytes, $half)] : [$bytes] as $part) {
            self::step('write', $handle->inode, $handle->offset, $part);
            $handle->offset += \strlen($part);
        }

        return \strlen($bytes);
    }

    public static function fseek(Handle $handle, int $offset, int $whence = \SEEK_SET): int
    {
        $handle->offset = $whence === \SEEK_END ? (int) self::size($handle->inode) + $offset : $offset;

        return 0;
    }

    public static function ftell(Handle $handle): int
    {
        return $handle->offset;
    }

    public static function ftruncate(Handle $handle, int $size): bool
    {
        return self::step('truncate', $handle->inode, $size) === true;
    }

    public static function fclose(Handle $handle): bool
    {
        return true;
    }

    public static function fflush(Handle $handle): bool
    {
        return true;
    }

    public static function stream_set_read_buffer(Handle $handle, int $size): int
    {
        return 0;
    }

    /** @return array{nlink: int, ino: int, mode: int, size: int} */
    public static function fstat(Handle $handle): array
    {
        // What stands in the place of System\FileLock is no file.
        $size = $handle->inode === 0 ? 0 : (int) self::size($handle->inode);

        return ['nlink' => 1, 'ino' => $handle->inode, 'mode' => 0o100600, 'size' => $size];
    }

    public static function rename(string $from, string $to): bool
    {
        return self::step('rename', $from, $to) === true;
    }

    public static function unlink(string $path): bool
    {
        return self::step('unlink', $path) === true;
    }

    public static function flock(Handle $handle, int $operation, mixed &$wouldBlock = null): bool
    {
        if (($operation & \LOCK_UN) === \LOCK_UN) {
            return self::step('unlock', $handle->inode) === true;
        }
        $done = self::step('lock', $handle->inode) === true;
        $wouldBlock = $done ? 0 : 1;

        return $done;
    }

    private static function size(mixed $inode): int|false
    {
        $size = \is_int($inode) && $inode > 0 ? self::step('size', $inode) : false;

        return \is_int($size) ? $size : false;
    }
}
