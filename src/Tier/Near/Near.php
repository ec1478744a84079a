<?php

declare(strict_types=1);

namespace Larder\Tier\Near;

use Larder\Codec\Entry;
use Larder\Store\Changes;

/**
 * A tier before the truth: holds copies, each with the position it was read at, and follows the journal.
 *
 * The one rule: once this tier has followed the journal to a position, it refuses every copy that was read at an
 * earlier one, since nobody remembers here whether its key was among the changes. Checking and storing are one
 * step, under a lock that dies with its holder.
 *
 * Errors are swallowed and counted: a near tier that fails is as good as empty.
 */
interface Near
{
    /** @return array{string, int, string} epoch, position and token up to which the journal was followed; '' if never */
    public function state(): array;

    /** Drops what changed. False: it could not, and must not be read in this request. */
    public function follow(Changes $changes): bool;

    /** @return array{Entry, int}|null with the position of the copy */
    public function get(string $key): ?array;

    /** A marker's position: the last flush or invalidation; null where it is not known here. */
    public function marker(string $key): ?int;

    /**
     * @param int    $at    position at which the truth was read
     * @param string $epoch of both positions: a call inside the caller's may have followed the journal to another one
     * @param int    $life  seconds, rounded up, after which the copy's memory is wanted back; 0: no end
     */
    public function put(string $key, Entry $entry, int $position, int $at, string $epoch, int $life = 0): void;

    public function putMarker(string $key, int $position, int $at, string $epoch): void;

    /** The key changed at this position; older copies go now. */
    public function drop(string $key): void;

    /** @return array{engine: string, entries: int, bytes: int, budget: int, errors: int, refused: int} */
    public function stats(): array;
}
