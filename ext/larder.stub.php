<?php

/** @generate-class-entries */

namespace Larder;

/**
 * Values in memory that all processes of a user share, read where they lie.
 *
 * What get() gives is the value itself, not a copy, until somebody changes it: then PHP copies it, as it does with any
 * array or string of its own. Reading takes no lock; every write is atomic, for all processes.
 *
 * @strict-properties
 * @not-serializable
 */
final class Segment
{
    private function __construct() {}

    /**
     * Attaches to the segment of that file, or makes it.
     *
     * @param int $bytes of a segment that is made, from 1 MiB; one that is there keeps its size
     *
     * @throws SegmentException which says what is wrong with the file and what to do; its code is 1 if something is in
     *                          the file that never was a segment, and else 0
     */
    public static function open(string $path, int $bytes = 67108864): Segment {}

    public function get(string $key, mixed $default = null): mixed {}

    /** @return array what was found, by key */
    public function getMultiple(array $keys): array {}

    /**
     * False: there was no room, not even after evicting; then the older value is gone too.
     *
     * @param int $ttl seconds; 0: for ever; less: it is over already
     *
     * @throws SegmentException|\ValueError|\Exception if the key or the value cannot be stored; then nothing has changed
     */
    public function set(string $key, mixed $value, int $ttl = 0): bool {}

    /** Only if there is no value. */
    public function add(string $key, mixed $value, int $ttl = 0): bool {}

    /** Only if there is a value. */
    public function replace(string $key, mixed $value, int $ttl = 0): bool {}

    public function has(string $key): bool {}

    /** False: there was no value. */
    public function delete(string $key): bool {}

    /**
     * A missing value becomes $initial + $by; the ttl is only for that. False, and nothing changed: the value is no
     * integer, or the result would be none.
     */
    public function increment(string $key, int $by = 1, int $initial = 0, int $ttl = 0): int|false {}

    public function flush(): bool {}

    /**
     * Lets go of all that this request has read from here: for a process that does many jobs in one request, between
     * two of them. Nothing that get() and getMultiple() gave may be used after it, nor anything that holds it; where
     * that cannot be said for certain, do not call it: a request that has read much copies what it reads, and no more.
     * Called by code of an object that is just being read or stored, it does nothing.
     */
    public function release(): void {}

    /**
     * Stores a copy of what is elsewhere, as a near tier has them: if the integer under $guard is there and not above
     * $at, and there is no copy with a later $position. All of it is one step: who first raises the guard and then drops
     * a key leaves no copy of it there that was allowed by the guard as it was before.
     *
     * False: not stored; then an older copy is gone. What set(), add(), replace() and increment() store counts as older
     * than any copy. A guard that is gone allows nothing more, and must not be made again under the same key.
     *
     * @param int $ttl      as of set()
     * @param int $position of the copy, in the journal of what is elsewhere; from 1
     * @param int $at       position up to which that journal was known when the copy was read
     *
     * @throws SegmentException|\ValueError|\Exception as set()
     */
    public function fill(string $key, mixed $value, int $ttl, int $position, string $guard, int $at): bool {}

    /** Makes an integer that is less than $to that much. False: there is no integer. */
    public function raise(string $key, int $to): bool {}

    /** Deletes what has an earlier position. False: there was no such value. */
    public function drop(string $key, int $position): bool {}

    /**
     * entries; bytes_used by them, each with what its block has more than it needs; bytes_total of the file; hits, misses
     * and copied (of this request, and of all that have ended: gets that hit, that did not, and of the hits those that
     * were copied, since their request had read its eighth of the segment); sets, evictions, expired, refused;
     * mode, by which this request reads ("zero-copy": in place; "mixed": in place and, since it has had its share, by
     * copying; "copy": by copying, for want of the address or a slot; "closed": not at all, since something else was
     * written over the file); address; retired_bytes, readers, recoveries; damaged, how
     * often a segment of this name was found truncated or written over, and damaged_at, when last (Unix time; 0: never)
     *
     * @return array
     */
    public function stats(): array {}

    /** Goes over everything. Null; or what is wrong. */
    public function check(): ?string {}
}

class SegmentException extends \RuntimeException {}
