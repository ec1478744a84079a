<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\System\Failure;

/**
 * One engine: a record a key, and a log of what changed.
 *
 * This folder holds the engines, one a file, all behind this interface, and nothing that knows what a record's
 * body means: validity, tags, flushes and the table of conflicts are decided in Tier/, which builds all of it
 * on the one conditional write below.
 *
 * Positions. Every logged change gets the next position of the store's log, a number that only grows within an
 * epoch. A lost, restarted or restored engine starts a new epoch, in which nothing of the old one can be read.
 *
 * What every engine must keep:
 *  - read() returns records together with a position `at` at which they were current: every change at or
 *    before `at` is already in them. (A process between "announce" and "store" must not be counted in `at`.)
 *  - write() is atomic for each change, across processes and servers; the log names a change no later than
 *    anybody can read its record, so that a reader of the log never misses one, whoever is killed meanwhile.
 *  - a call that cannot reach the engine, or finds it damaged, throws Failure within the time-out, and
 *    nothing else; no notice or warning leaves it.
 *  - a forked child never speaks over its parent's connection.
 *
 * Keys are any non-empty strings of bytes up to 66,000 bytes; an engine that cannot take them hashes them.
 */
interface Store
{
    /**
     * What changed after a position, for whoever looked last at ($epoch, $position, $token).
     *
     * Cheap when nothing changed: an engine may recognise its own token without opening anything.
     * With $epoch '' (nothing known yet): an incomplete answer that says where the log ends.
     *
     * @throws Failure
     */
    public function since(string $epoch, int $position, string $token): Changes;

    /**
     * The records of these keys, as they are now. Keys without a record are absent from the view.
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
     * @return non-empty-list<Outcome> one for each change
     *
     * @throws Failure when it is not known whether they were applied
     */
    public function write(array $changes): array;

    /**
     * Milliseconds by the one clock that judges for everybody who shares this engine what has ended: a server's own, or
     * on one machine the one that counts from its boot. Change::$expiry, and every time in a record's body, is of this
     * clock. Costs no round trip after the first read() or since().
     *
     * @throws Failure where a server must be asked for it, and cannot be
     */
    public function now(): int;

    /**
     * Whether a record without an expiry may vanish by itself (be evicted) while the epoch goes on. Where it may, a
     * marker that is not there counts as lost, and is made anew. Where not, read() says of a marker that was forgotten up
     * to where it may have been (see Markers).
     */
    public function forgets(): bool;

    /**
     * A small, bounded piece of housekeeping (expired records, budget), called at the end of a request.
     * Never throws; never takes longer than a few milliseconds.
     */
    public function tidy(): void;

    /**
     * Goes through all records, in batches, for the command line.
     *
     * @return iterable<string, Record> key to record
     *
     * @throws Failure
     */
    public function each(): iterable;

    /**
     * @return array{engine: string, entries: int, bytes: int, budget: int} budget 0: the engine's own
     *
     * @throws Failure
     */
    public function stats(): array;
}
