<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Cache\Repository;

/** Laravel's Repository, in which one process computes for all. */
final class LarderRepository extends Repository
{
    use RemembersOnce;

    /**
     * Calls what Cache::handleUnserializableClassUsing() was given, which Laravel 13 has: here with the write, because nothing
     * of it is ever read.
     */
    public static function refuse(string $key, string $class): void
    {
        $handler = \property_exists(Repository::class, 'unserializableClassHandler') ? self::$unserializableClassHandler : null;
        $handler === null || $handler($key, $class);
    }
}
