<?php

declare(strict_types=1);

namespace Larder\Near;

use Larder\Codec\Entry;
use Larder\Store\Journal\JournalSlice;

/**
 * A tier before the truth tier: holds copies, each with the position it was read at, and follows the journal.
 *
 * The one rule: once this tier has followed the journal to a position, it refuses every copy that was read at an earlier
 * one, because it no longer knows whether that key was among the changes. It checks and stores in one step, under a lock
 * that ends with its holder.
 *
 * Errors are counted, never thrown: a near tier that fails counts as empty.
 */
interface Near
{
    /** @return array{string, int, string} epoch, position and token up to which the journal was followed; '' if never */
    public function state(): array;

    /** Drops the copies of what changed. False: it could not, and this request must not read this tier. */
    public function follow(JournalSlice $changes): bool;

    /** Readies a request's window on a space for get(), where this tier can tell by itself what may be read. */
    public function open(Window $window, string $prefix): void;

    /**
     * The value of a key's copy, which then is in the window too, if this request may read it: see Window::admits(). If only the
     * request can tell, because the copy is newer than its view, or has tags or another condition, returns null, and the
     * window's $other is the copy; as it is with a value of null.
     */
    public function get(string $key, Window $window): mixed;

    /**
     * As get(), of what the extension has found.
     *
     * @param mixed $copy in this tier's form; null: nothing
     */
    public function judge(string $key, Window $window, mixed $copy): mixed;

    /**
     * A key's copy, whether or not this request may read it.
     *
     * @return array{Entry, int}|null with its position
     */
    public function copy(string $key): ?array;

    /** A marker's position, that is of the last flush or invalidation; null: not known here. */
    public function marker(string $key): ?int;

    /**
     * Stores copies. Each comes with its position, the position at which the truth was read, and the seconds, rounded up,
     * after which the tier may free its memory (0: no expiry).
     *
     * @param non-empty-list<array{string, Entry, int, int, int}> $copies key, entry, position, at, life
     * @param string                                              $epoch  of all positions: a call inside the caller's may
     *                                                                    have followed the journal to another epoch
     */
    public function put(array $copies, string $epoch): void;

    public function putMarker(string $key, int $position, int $at, string $epoch): void;

    /** Drops the key's copy, whatever its position, because the key has just changed. */
    public function drop(string $key): void;

    /** @return array{engine: string, entries: int, bytes: int, budget: int, errors: int, refused: int} */
    public function stats(): array;
}
