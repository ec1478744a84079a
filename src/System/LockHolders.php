<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Which locks on files this very process holds, or is about to take. One that is asked for again, by another store object
 * under a call of which a destructor or a signal handler uses the cache, will not become free as long as it is waited
 * for. An object that was left in the middle, by an exception that such a handler threw, holds nothing once it is gone.
 */
final class LockHolders
{
    /** @var array<string, array{int, \WeakReference<object>}> process id (a forked child holds none of its parent's; 0: given back) and lock, by path */
    private static array $locks = [];

    /**
     * Before the lock is taken: a call may come at any step.
     *
     * @throws Failure if this process holds it: to wait is in vain
     */
    public static function add(string $engine, string $path, object $lock): void
    {
        $process = Process::id();
        [$by, $reference] = self::$locks[$path] ?? [0, null];
        $holder = $reference?->get();
        if ($holder === $lock) {
            // The whole of it: a call inside this one may just have put another object there, and gone.
            self::$locks[$path] = [$process, $reference];

            return;
        }
        if ($holder !== null && $by === $process) {
            throw Failure::because($engine, 'a write was begun inside another one');
        }
        self::$locks[$path] = [$process, \WeakReference::create($lock)];
    }

    /** After it was given back, or could not be had. */
    public static function remove(string $path, object $lock): void
    {
        if ((self::$locks[$path][1] ?? null)?->get() === $lock) {
            self::$locks[$path][0] = 0;
        }
    }
}
