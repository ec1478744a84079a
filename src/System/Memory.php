<?php

declare(strict_types=1);

namespace Larder\System;

/** Knows how much memory this process may yet take. */
final class Memory
{
    /**
     * Bytes until PHP ends the process (memory_limit). PHP counts what it has taken from the system, and a long string does not
     * fit into the holes between others.
     */
    public static function left(): int
    {
        $limit = \ini_parse_quantity((string) \ini_get('memory_limit'));

        return $limit > 0 ? \max(0, $limit - \memory_get_usage(true)) : \PHP_INT_MAX;
    }
}
