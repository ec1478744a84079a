<?php

declare(strict_types=1);

namespace Larder\System;

/** Knows how much memory this process may yet take. */
final class Memory
{
    /** Bytes until PHP ends the process (memory_limit). */
    public static function left(): int
    {
        $limit = \ini_parse_quantity((string) \ini_get('memory_limit'));

        return $limit > 0 ? \max(0, $limit - \memory_get_usage()) : \PHP_INT_MAX;
    }
}
