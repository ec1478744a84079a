<?php

declare(strict_types=1);

namespace Larder\Store;

/** One conditional write. */
final class Change
{
    /** A limit that every position is below: the change is unconditional. */
    public const ALWAYS = \PHP_INT_MAX;

    /**
     * A record whose body begins with this byte is held: it stops every change that is not strict, whatever the
     * limit (an intent stands on the key; only who has read it may replace it, by compare-and-swap).
     */
    public const HELD = 'i';

    /**
     * Records whose bodies begin with one of these (intents, markers of flushes and invalidations) say what must not
     * be shown: an engine that evicts by itself never evicts them; of the markers it may forget the oldest, see Markers.
     */
    public const KEPT = ['i', 'm', 'c'];

    /**
     * @param string             $key
     * @param ?string            $body    the new record; null removes it (a removal is logged like any change,
     *                                    also when there was nothing to remove)
     * @param string             $writer  who changes: 12 hexadecimal digits, new for each request
     * @param int                $limit   done only if nobody else ($writer apart) changed the key after this position
     * @param int                $expiry  milliseconds by Store::now() after which the record is absent and the engine may remove the record by itself; 0 never
     * @param array<string, int> $guards  other keys, each with the position after which nobody else may have changed it
     * @param bool               $logged  false: not a change for near tiers (leases); the record's position still
     *                                    grows with each write, and $limit then also counts the writer's own changes
     * @param string             $kind    one letter for the log: s(et) d(elete) x(dropped) i(ntent) m(arker) c(marker made anew)
     * @param string             $epoch   the one that $limit and the guards' positions are of; in another one nothing is known
     *                                    that far back, and the change is not done (position -1). '': any
     * @param bool               $atomic  should this never be made, what is there stays good (a counter, a lock): who cleans up
     *                                    after a writer that died leaves it
     */
    public function __construct(
        public readonly string $key,
        public readonly ?string $body,
        public readonly string $writer,
        public readonly int $limit = self::ALWAYS,
        public readonly int $expiry = 0,
        public readonly array $guards = [],
        public readonly bool $logged = true,
        public readonly string $kind = 's',
        /** Count the writer's own changes too: compare-and-swap. Always so where $logged is false. */
        public readonly bool $strict = false,
        public readonly string $epoch = '',
        public readonly bool $atomic = false,
    ) {}

    /** Whether its positions can be compared with those of this epoch. */
    public function isOf(string $epoch): bool
    {
        return $this->epoch === '' || $this->epoch === $epoch;
    }
}
