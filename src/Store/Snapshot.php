<?php

declare(strict_types=1);

namespace Larder\Store;

/** What one read() saw. */
final class Snapshot
{
    /** @param array<array-key, Record> $records by key, found ones only */
    public function __construct(
        public readonly string $epoch,
        /** Every change at or before this position is in the records. */
        public readonly int $at,
        public readonly array $records,
    ) {}
}
