<?php

declare(strict_types=1);

namespace Larder\Store;

/** The answer of Store::read(): records, and the position at which they were current. */
final class Snapshot
{
    /** @param array<array-key, Record> $records by key; missing records are absent */
    public function __construct(
        public readonly string $epoch,
        /** Every change at or before this position is in the records. */
        public readonly int $at,
        public readonly array $records,
    ) {}
}
