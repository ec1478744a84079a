<?php

declare(strict_types=1);

namespace Larder\Session;

/**
 * Where sessions are kept, each with its lock. Every call is atomic for its session.
 *
 * Each write of a session gives it a version: 32 hexadecimal digits that no other write has. '' is the version of a session that
 * is not stored, or has expired. An engine that takes no locks lets the last write win.
 */
interface Engine
{
    /**
     * Takes a session's lock and reads the session. Who holds the lock already has it anew: it is not known what became of a call
     * that has failed.
     *
     * @param string $owner  who holds the lock then
     * @param int    $life   milliseconds after which the lock ends by itself
     * @param int    $keep   milliseconds that the session has left then, at least
     * @param bool   $isKnown whether a session that is not stored shall be left alone: it is not locked then
     *
     * @return ?array{string, string} version and data; null: another owner holds the lock
     *
     * @throws SessionFailure
     */
    public function read(string $key, string $owner, int $life, int $keep, bool $isKnown): ?array;

    /**
     * Writes a session and releases its lock.
     *
     * It may have ended before. Then the session is written as long as no other owner holds it or has written it.
     *
     * @param string $version that its owner has read
     * @param string $new     the version that it gets
     * @param int    $ttl     milliseconds that it lives
     *
     * @return bool false: it is another owner's now, or is another version, or was destroyed; nothing is written
     *
     * @throws SessionFailure
     */
    public function write(string $key, string $owner, string $version, string $new, #[\SensitiveParameter] string $data, int $ttl): bool;

    /**
     * Begins a stored session's life anew, and releases its lock if it is this owner's.
     *
     * @param int $ttl milliseconds
     *
     * @throws SessionFailure
     */
    public function renew(string $key, string $owner, int $ttl): void;

    /**
     * Releases the lock if it is this owner's.
     *
     * @throws SessionFailure
     */
    public function release(string $key, string $owner): void;

    /**
     * Removes a session, also one that another owner holds, and releases its lock if it is this owner's.
     *
     * @throws SessionFailure
     */
    public function destroy(string $key, string $owner): void;

    /**
     * Whether a session is stored and has not expired.
     *
     * @throws SessionFailure
     */
    public function isStored(string $key): bool;

    /**
     * Removes what has expired.
     *
     * @return int how many sessions
     *
     * @throws SessionFailure
     */
    public function sweep(): int;
}
