<?php

declare(strict_types=1);

namespace Larder\Store\File;

/**
 * Bytes and files in each of the 256 directories of an epoch, kept in the lock file behind the State and changed
 * under the lock. A process that dies between two steps leaves a small error, which the next Sweep over that
 * directory corrects.
 */
final class Sizes
{
    public const DIRECTORIES = 256;

    private const START = State::SIZE;
    private const LENGTH = 16 * self::DIRECTORIES;

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
        $field = \unpack('Jbytes/Jentries', \str_pad((string) \fread($handle, 16), 16, "\0"));
        if (\is_array($field) && \is_int($field['bytes']) && \is_int($field['entries'])) {
            self::set($handle, $directory, \max(0, $field['bytes'] + $bytes), \max(0, $field['entries'] + $entries));
        }
    }

    /** @param resource $handle */
    public static function set(mixed $handle, int $directory, int $bytes, int $entries): void
    {
        \fseek($handle, self::START + 16 * $directory);
        \fwrite($handle, \pack('JJ', $bytes, $entries));
    }

    /**
     * @param resource $handle
     *
     * @return array<int, array{int, int}> bytes and entries of the directories that are not empty
     */
    public static function all(mixed $handle): array
    {
        \fseek($handle, self::START);
        $table = (string) \fread($handle, self::LENGTH);
        $sizes = [];
        /** @var list<int> $fields */
        $fields = \array_values(\unpack('J*', $table) ?: []);
        for ($i = 0; $i + 1 < \count($fields); $i += 2) {
            if ($fields[$i + 1] !== 0 || $fields[$i] !== 0) {
                $sizes[$i >> 1] = [$fields[$i], $fields[$i + 1]];
            }
        }

        return $sizes;
    }
}
