<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\Store\Journal\JournalSlice;
use Larder\System\Failure;

/**
 * One engine: keeps a record a key, and a journal of what changed.
 *
 * This folder holds the engines, all behind this interface. Nothing here knows what a record's body means: Request/ decides
 * validity, tags, flushes and conflicts, and builds all of it on the one conditional write below.
 *
 * Positions. Every change that enters the journal gets the next position, a number that only grows within an epoch. A
 * lost, restarted or restored engine starts a new epoch, in which nothing of the old one can be read.
 *
 * What every engine must keep:
 *  - read() returns records together with a position `at` at which they were current: every change at or
 *    before `at` is already in them. (`at` must not count a change that was announced and is not stored yet.)
 *  - write() is atomic for each change, across processes and servers; the journal names a change no later than
 *    any process can read its record, so that a reader of the journal never misses one, whichever process is killed.
 *  - a call that cannot reach the engine, or finds it damaged, throws Failure within the time-out, and
 *    nothing else; no notice or warning leaves it.
 *  - a forked child never speaks over its parent's connection.
 *
 * A key is any non-empty string of up to 66,000 bytes; an engine that cannot take such keys hashes them.
 */
interface Store
{
    /**
     * What changed since a reader's last answer, which had this epoch, end and token.
     *
     * Cheap if nothing changed: an engine may recognise its own token without opening anything.
     * With $epoch '' (nothing known yet): an incomplete answer that says where the journal ends.
     *
     * @throws Failure
     */
    public function since(string $epoch, int $position, string $token): JournalSlice;

    /**
     * The records of these keys, as they are now. Keys without a record are absent from the snapshot.
     *
     * @param non-empty-list<string> $keys
     *
     * @throws Failure
     */
    public function read(array $keys): Snapshot;

    /**
     * Applies changes in their order, each atomically by itself, in one round trip or transaction unless they are very
     * many.
     *
     * @param non-empty-list<Change> $changes
     *
     * @return non-empty-list<ChangeResult> one for each change
     *
     * @throws Failure if the changes may or may not have been applied
     */
    public function write(array $changes): array;

    /**
     * Milliseconds by the one clock that decides, for all processes that share this engine, what has expired: the server's
     * clock, or on one machine the clock that counts from its boot. Change::$expiry, and every time in a record's body, is
     * of this clock. Costs no round trip after the first read() or since().
     *
     * @throws Failure if a server must be asked for it and does not answer
     */
    public function now(): int;

    /**
     * Whether the engine may evict a record without an expiry while the epoch goes on. If so, a missing marker counts as
     * lost, and the request that misses it makes it anew. If not, read() answers for a forgotten marker with the latest
     * position that it may have had (see Markers).
     */
    public function forgets(): bool;

    /**
     * Does a small, bounded piece of housekeeping (expired records, budget), at the end of a request.
     * Takes no longer than a few milliseconds, or a server's time-out.
     *
     * @throws Failure only where a server has not answered in all of that: other faults are the next call's to find
     */
    public function tidy(): void;

    /**
     * Iterates over all records, in batches, for the command line.
     *
     * @return iterable<string, Record> key to record
     *
     * @throws Failure
     */
    public function each(): iterable;

    /**
     * @return array{engine: string, entries: int, bytes: int, budget: int} in bytes; budget 0: the engine has its own
     *
     * @throws Failure
     */
    public function stats(): array;
}
