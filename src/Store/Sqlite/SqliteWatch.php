<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Store\Watch;

/**
 * Tells by two stats whether anything has changed: of the change log and of the change counter.
 *
 * A request that finds all in near memory needs nothing else of this folder.
 */
final class SqliteWatch implements Watch
{
    /** Bytes of a change log in which nothing waits: see ChangeLog. One with fewer was cut by another program. */
    public const EMPTY_LOG = 16;

    public function __construct(private readonly string $directory) {}

    public function isUnchanged(string $epoch, string $token): bool
    {
        if ($token === '' || $epoch === '') {
            return false;
        }
        // The epoch in a token comes from outside and becomes part of a file's name.
        $name = \basename($epoch);
        $directory = $this->directory;
        \clearstatcache();
        // The change log comes first: a process that empties it has made the change counter grow before.
        $file = "$directory/tail.$name";
        if (self::size($file) !== self::EMPTY_LOG) {
            return false;
        }
        $size = self::size("$directory/bell.$name");

        return ($size & 1) === 0 && $token === "$epoch:$size";
    }

    /** A file's bytes, as PHP's stat cache has them, which the caller has cleared; -1: there is no such file. */
    public static function size(string $file): int
    {
        // filesize() answers from is_file()'s stat, so it cannot warn if the file was deleted in between.
        return \is_file($file) ? (int) \filesize($file) : -1;
    }
}
