<?php

declare(strict_types=1);

namespace Larder\Store\File;

/**
 * Counts the bytes on disk and the files in each of an epoch's 256 directories. The counts lie in the lock file behind the
 * State and change under the lock. A process that dies between two steps leaves a small error, which the next Sweep over
 * that directory corrects. Each row has a checksum: otherwise a damaged count could empty the whole cache.
 */
final class Sizes
{
    public const DIRECTORIES = 256;

    private const START = State::SIZE;
    private const LENGTH = 16 * self::DIRECTORIES;

    /** Bytes that usual file systems allocate at a time. */
    private const BLOCK = 4096;

    /** Bytes on disk that a file of this length takes. */
    public static function taken(int $bytes): int
    {
        return $bytes + self::BLOCK - 1 & -self::BLOCK;
    }

    /** @param resource $handle */
    public static function clear(mixed $handle): bool
    {
        \fseek($handle, self::START);

        return \fwrite($handle, \str_repeat("\0", self::LENGTH)) === self::LENGTH;
    }

    /** @param resource $handle */
    public static function add(mixed $handle, int $directory, int $bytes, int $entries): void
    {
        \fseek($handle, self::START + 16 * $directory);
        /** @var array{1: int, 2: int} $fields */
        $fields = \unpack('J2', \str_pad((string) \fread($handle, 16), 16, "\0"));
        $row = self::row($fields[1], $fields[2]);
        if ($row !== null) {
            self::set($handle, $directory, \max(0, $row[0] + $bytes), \max(0, $row[1] + $entries));
        }
    }

    /** @param resource $handle */
    public static function set(mixed $handle, int $directory, int $bytes, int $entries): void
    {
        \fseek($handle, self::START + 16 * $directory);
        \fwrite($handle, \pack('JNN', $bytes, $entries, self::check($bytes, $entries)));
    }

    /**
     * @param resource $handle
     *
     * @return array<int, array{int, int}> bytes and files of the directories that are not empty; for a damaged row zero
     *                                     bytes and one file, so that a Sweep checks that directory
     */
    public static function all(mixed $handle): array
    {
        \fseek($handle, self::START);
        $table = (string) \fread($handle, self::LENGTH);
        $sizes = [];
        /** @var list<int> $fields */
        $fields = \array_values(\unpack('J*', $table) ?: []);
        for ($i = 0; $i + 1 < \count($fields); $i += 2) {
            if ($fields[$i] !== 0 || $fields[$i + 1] !== 0) {
                $sizes[$i >> 1] = self::row($fields[$i], $fields[$i + 1]) ?? [0, 1];
            }
        }

        return $sizes;
    }

    /** @return ?array{int, int} bytes and files; null: the row is damaged */
    private static function row(int $bytes, int $rest): ?array
    {
        $entries = $rest >> 32 & 0xffffffff;

        return self::check($bytes, $entries) === ($rest & 0xffffffff) ? [$bytes, $entries] : null;
    }

    /** A row's checksum: 0 for an empty row, since a new file is full of zeros. */
    private static function check(int $bytes, int $entries): int
    {
        return ($bytes ^ $bytes >> 32 ^ $entries << 13) & 0xffffffff;
    }
}
