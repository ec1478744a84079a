<?php

/** @generate-class-entries */

namespace Larder {

/**
 * Values in memory that all processes of a user share. Readers read them in place.
 *
 * get() returns the value itself and not a copy. If a script changes the value, PHP copies it first, as it does with any
 * shared array or string. Reading takes no lock. Every write is atomic for all processes.
 *
 * @strict-properties
 * @not-serializable
 */
final class Segment
{
    private function __construct() {}

    /**
     * Attaches to the segment in that file, or creates it.
     *
     * It grows as it is used, while a tenth of its file system stays free, and all that lies there takes no more than
     * larder.segment_total (php.ini) and the policy of the machine (/etc/larder/policy.ini) allow.
     *
     * @param int $bytes size to which a new segment may grow, at least 1 MiB; an existing one keeps its size
     *
     * @throws SegmentException its message says what is wrong with the file and what to do; its code is 1 if the file
     *                          holds something that never was a segment, 2 if only those limits leave no room, otherwise 0
     */
    public static function open(string $path, int $bytes = 67108864): Segment {}

    /** What a segment's file says of the PHP and the extension that made it: others make one of their own. */
    public static function build(): string {}

    public function get(string $key, mixed $default = null): mixed {}

    /** @return array the values found, by key */
    public function getMultiple(array $keys): array {}

    /**
     * False: there was no room, not even after evicting; then the older value is removed too.
     *
     * @param int $ttl seconds; 0: no expiry; negative: already expired
     *
     * @throws SegmentException|\ValueError|\Exception if the key or the value cannot be stored; then nothing has changed
     */
    public function set(string $key, mixed $value, int $ttl = 0): bool {}

    /** Stores the value only if the key has none. */
    public function add(string $key, mixed $value, int $ttl = 0): bool {}

    /** Stores the value only if the key has one. */
    public function replace(string $key, mixed $value, int $ttl = 0): bool {}

    public function has(string $key): bool {}

    /** False: there was no value. */
    public function delete(string $key): bool {}

    /**
     * A missing value becomes $initial + $by; the ttl applies only then. False, with nothing changed: the value is not an
     * integer, or the result would not be one.
     */
    public function increment(string $key, int $by = 1, int $initial = 0, int $ttl = 0): int|false {}

    public function flush(): bool {}

    /**
     * Evicts all values, and gives their memory back to the machine. Values that a request has read stay with it. While a
     * request of another process goes on, what the index had stays too. The segment grows again as it is used.
     */
    public function trim(): void {}

    /**
     * Releases all values that this request has read from the segment. Call it between two jobs of a process that runs
     * many jobs in one request. After it, use no value that get() or getMultiple() returned before, and nothing that
     * contains one. If you are not certain of that, do not call it: a request that has read a lot then only copies what
     * it reads. Called by code of an object that is being read or stored, it does nothing.
     */
    public function release(): void {}

    /**
     * Stores a near tier's copy of a value from another store, if the integer under $guard exists and is not above $at,
     * and no copy with a later $position exists. All of this is one step: a process that first raises the guard and then
     * drops a key leaves no copy of it that only the lower guard had allowed.
     *
     * False: not stored; then an older copy is removed. A value stored by set(), add(), replace() or increment() counts
     * as older than any copy. A missing guard allows nothing more, and must not be created again under the same key.
     *
     * @param int $ttl      as in set()
     * @param int $position the copy's position in the other store's journal; at least 1
     * @param int $at       position up to which that journal was known when the copy was read
     *
     * @throws SegmentException|\ValueError|\Exception as set()
     */
    public function fill(string $key, mixed $value, int $ttl, int $position, string $guard, int $at): bool {}

    /** Raises an integer to $to if it is lower. False: there is no integer. */
    public function raise(string $key, int $to): bool {}

    /** Deletes the key's value if its position is earlier. False: there was no such value. */
    public function drop(string $key, int $position): bool {}

    /**
     * entries; bytes_used by them, each rounded up to its block; bytes_taken of the machine's memory, and bytes_total, to
     * which that may grow; hits, misses and copied (of this
     * request and of all ended ones: gets that hit, gets that missed, and the hits that were copied because their request
     * had already read its share of the segment); sets, evictions, expired, refused; mode, how this request reads
     * ("zero-copy": in place; "mixed": in place and, after its share is used up, by copying; "copy": by copying, because the
     * address or a slot was not available; "closed": not at all, because something overwrote the file); address;
     * retired_bytes, readers, recoveries; damaged, how often a segment of this name was found truncated or overwritten,
     * and damaged_at, when last (Unix time; 0: never)
     *
     * @return array
     */
    public function stats(): array {}

    /** Checks the whole segment. Null: all is well; otherwise what is wrong. */
    public function check(): ?string {}
}

class SegmentException extends \RuntimeException {}

}

namespace Larder\Request {

/** The library's interface of this name, which says what it is for (src/Request/HitPath.php). */
interface HitPath
{
    /** @var int */
    public const RUN = 0;

    public function get(string $key, mixed $default = null): mixed;
}

}
