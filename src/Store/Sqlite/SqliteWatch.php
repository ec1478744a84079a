<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Store\Watch;
use Larder\System\Clock;

/**
 * Tells by one stat of the change counter whether anything has changed, and the time without a database.
 *
 * A request that finds all in near memory needs nothing else of this folder.
 */
final class SqliteWatch implements Watch
{
    public function __construct(private readonly string $directory) {}

    public function isUnchanged(string $epoch, string $token): bool
    {
        if ($token === '' || $epoch === '') {
            return false;
        }
        \clearstatcache();
        // The epoch in a token comes from outside and becomes part of a file's name.
        $size = self::size($this->directory . '/bell.' . \basename($epoch));

        // Modulo 4: see ChangeCounter.
        return ($size & 3) === 2 && $token === "$epoch:$size";
    }

    public function now(): int
    {
        return Clock::now();
    }

    /** A file's bytes, as PHP's stat cache has them, which the caller has cleared; -1: there is no such file. */
    public static function size(string $file): int
    {
        // filesize() answers from is_file()'s stat, so it cannot warn if the file was deleted in between.
        return \is_file($file) ? (int) \filesize($file) : -1;
    }
}
