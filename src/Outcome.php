<?php

declare(strict_types=1);

namespace Larder;

/**
 * What became of a changing call: Cache::lastOutcome().
 *
 * Of a call with several values it is the one that comes last in this list: the farthest from what was asked.
 */
enum Outcome: string
{
    /**
     * Done as asked, and committed to the truth tier: stored, removed, flushed, invalidated, announced. Also where nothing was
     * left to do: the very same bytes were there, or the time of a value that was set was over before it was stored.
     *
     * Some calls only keep what they are given, and this says no more than that: fill(), until writeFills() or the end of the
     * request; and within a transaction set(), delete() and remember(), until its end.
     */
    case Stored = 'stored';

    /**
     * Stored with a bounded life of two seconds: this request missed the key, and another has set it or dropped it since, so
     * this value may be the older of the two.
     */
    case Bounded = 'bounded';

    /**
     * The caller itself has kept the value from being stored: update()'s closure returned null, the closure of update() or remember()
     * threw, a Computation was told not to store, or add() was given a value whose time is over.
     */
    case Kept = 'kept';

    /** The key has no value, and the call needs one: replace(), update(), touch(). */
    case Missing = 'missing';

    /**
     * Not done, since the key is not free: add() has found a value, or an intent of another request stands on it, or (for
     * remember()) a database transaction is open.
     */
    case Held = 'held';

    /**
     * Not stored, since another request has changed the key (or flushed, or invalidated a tag) since this one first read it,
     * or has announced that it will. After set() what was there is gone too, so that the next reader asks the database; after
     * fill() and remember() it stays.
     */
    case Dropped = 'dropped';

    /**
     * Not stored, and never will be: the value cannot be serialized (the call has thrown Codec\NotStorable), the engine refuses
     * it as too large or has no room, or it cannot be counted with: it is no integer, or the sum does not fit into 64 bits.
     */
    case NotStorable = 'not storable';

    /**
     * The truth tier did not do it: it is down or does not answer in time, it is in the middle of another call of this process,
     * or others overtook the call 200 times. What was to be removed or invalidated is kept, and applied before any process reads
     * once the tier is back.
     */
    case Down = 'down';
}
