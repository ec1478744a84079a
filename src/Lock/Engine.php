<?php

declare(strict_types=1);

namespace Larder\Lock;

/** Where locks are kept. Every call is atomic. */
interface Engine
{
    /**
     * Takes a lock that is free. If this fails, no caller has what it may have taken: it is given back with the next call that
     * reaches the locks.
     *
     * @param string $owner    a text that no other owner has
     * @param int    $life     milliseconds
     * @param string $process  System\ProcessId of the process with which it ends, where that can be seen; '': none
     *
     * @return ?int its fencing number; null: another owner holds it
     *
     * @throws LockFailure
     */
    public function acquire(string $name, string $owner, int $life, string $process): ?int;

    /**
     * Sets a lock's end anew.
     *
     * @return ?int its fencing number; null: it is not this owner's any more
     *
     * @throws LockFailure
     */
    public function refresh(string $name, string $owner, int $life, string $process): ?int;

    /**
     * After a failure it is given back with the next call that reaches the locks.
     *
     * @param ?int $fence the number of the grant that ends; null: whichever this owner has
     *
     * @return bool false: it was not this owner's any more
     *
     * @throws LockFailure
     */
    public function release(string $name, string $owner, ?int $fence = null): bool;

    /**
     * @return ?int its fencing number; null: it is not this owner's any more
     *
     * @throws LockFailure
     */
    public function fence(string $name, string $owner): ?int;

    /**
     * @return ?string the owner who holds it now; null: it is free
     *
     * @throws LockFailure
     */
    public function owner(string $name): ?string;

    /**
     * Releases every lock whose name begins so.
     *
     * @throws LockFailure
     */
    public function clear(string $prefix): void;
}
