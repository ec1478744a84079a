<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Knows which file locks this process holds, or is about to take.
 *
 * A destructor or a signal handler may use the cache in the middle of a call, through another store object. If that object
 * waited for a lock of the outer call, it would wait in vain. An object that an exception has left in the middle of a call
 * holds nothing once it is destroyed.
 */
final class LockHolders
{
    /** @var array<string, array{int, \WeakReference<object>}> by path: process id (a forked child holds none of its parent's locks; 0: released) and lock */
    private static array $locks = [];

    /**
     * Call it before taking the lock, since a call inside may come at any step.
     *
     * @throws Failure if this process holds the lock already, so that waiting is in vain
     */
    public static function add(string $engine, string $path, object $lock): void
    {
        $process = Fork::pid();
        [$by, $reference] = self::$locks[$path] ?? [0, null];
        $holder = $reference?->get();
        if ($holder === $lock) {
            // Write the whole element: a call inside this one may just have put another object there and have ended.
            self::$locks[$path] = [$process, $reference];

            return;
        }
        if ($holder !== null && $by === $process) {
            throw Failure::because($engine, 'a write began inside another one');
        }
        self::$locks[$path] = [$process, \WeakReference::create($lock)];
    }

    /** Call it after releasing the lock, or after failing to take it. */
    public static function remove(string $path, object $lock): void
    {
        if ((self::$locks[$path][1] ?? null)?->get() === $lock) {
            self::$locks[$path][0] = 0;
        }
    }
}
