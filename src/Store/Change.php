<?php

declare(strict_types=1);

namespace Larder\Store;

/** One conditional write. */
final class Change
{
    /** A limit above every position: the change is unconditional. */
    public const ALWAYS = \PHP_INT_MAX;

    /**
     * A record whose body begins with this byte is held, because an intent stands on the key. It stops every change that
     * is not strict, whatever the limit: only a writer that has read it may replace it, by compare-and-swap.
     */
    public const HELD = 'i';

    /**
     * Records whose bodies begin with one of these bytes (intents, markers of flushes and invalidations) say which values
     * must not be served. An engine that evicts by itself never evicts them; it may forget the oldest markers, see Markers.
     */
    public const KEPT = ['i', 'm', 'c'];

    // No code changes these properties. They are plain ones for the reason that Record gives.
    public string $key = '';

    /** The new record; null removes it (a removal enters the journal like any change, even if there was no record). */
    public ?string $body = null;

    /** Names the request that changes: 12 hexadecimal digits, new for each request. */
    public string $writer = '';

    /** Done only if no writer but $writer changed the key after this position. */
    public int $limit = self::ALWAYS;

    /** Milliseconds by Store::now() after which the record is absent and the engine may remove it; 0: never. */
    public int $expiry = 0;

    /** @var array<string, int> other keys, each with the position after which no other writer may have changed it */
    public array $guards = [];

    /**
     * False: the change does not enter the journal (leases); the record's position still grows with each write, and $limit then
     * also counts the writer's own changes.
     */
    public bool $logged = true;

    /** One letter for the journal: s(et) d(elete) x(dropped) i(ntent) m(arker) c(marker made anew). */
    public string $kind = 's';

    /** True: $limit counts the writer's own changes too (compare-and-swap). Always so if $logged is false. */
    public bool $strict = false;

    /**
     * Of $limit and the guards' positions; in another epoch nothing is known that far back, and the change is not done
     * (position -1). '': any epoch.
     */
    public string $epoch = '';

    /**
     * True for a counter or a lock, and for a marker made anew: if the writer dies before it changes the record, the old record
     * stays valid, and the process that cleans up keeps it. An engine that announces its changes (Memcached) makes such a
     * change only while each guard has a record and no change of it is under way.
     */
    public bool $atomic = false;

    /**
     * False: the result need not tell what was there before. An engine to which that is cheaper may then leave
     * ChangeResult::$previous unknown.
     */
    public bool $asks = true;

    /** @param array<string, int> $guards */
    public function __construct(
        string $key,
        ?string $body,
        string $writer,
        int $limit = self::ALWAYS,
        int $expiry = 0,
        array $guards = [],
        bool $logged = true,
        string $kind = 's',
        bool $strict = false,
        string $epoch = '',
        bool $atomic = false,
    ) {
        $this->key = $key;
        $this->body = $body;
        $this->writer = $writer;
        $this->limit = $limit;
        $this->expiry = $expiry;
        $this->guards = $guards;
        $this->logged = $logged;
        $this->kind = $kind;
        $this->strict = $strict;
        $this->epoch = $epoch;
        $this->atomic = $atomic;
    }

    /** Whether this change's positions can be compared with those of this epoch. */
    public function isOf(string $epoch): bool
    {
        return $this->epoch === '' || $this->epoch === $epoch;
    }
}
