<?php

declare(strict_types=1);

namespace Larder\Store;

/** The answer of Store::read(): records, and the position at which they were current. */
final class Snapshot
{
    /**
     * @param array<array-key, Record> $records by key; missing records are absent
     * @param list<string>             $beside  the markers of the records' tags that the store has read along; all others it
     *                                          has not
     */
    public function __construct(
        public readonly string $epoch,
        /** Every change at or before this position is in the records. */
        public readonly int $at,
        public readonly array $records,
        public readonly array $beside = [],
    ) {}
}
