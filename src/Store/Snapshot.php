<?php

declare(strict_types=1);

namespace Larder\Store;

/**
 * The answer of Store::read(): records, and the position at which they were current. Made as often as Record, and so too.
 */
final class Snapshot
{
    public string $epoch = '';

    /** Every change at or before this position is in the records. */
    public int $at = 0;

    /** @var array<array-key, Record> by key; missing records are absent */
    public array $records = [];

    /** @var list<string> the markers of the records' tags that the store has read along; all others it has not */
    public array $beside = [];

    /**
     * @param array<array-key, Record> $records
     * @param list<string>             $beside
     */
    public function __construct(string $epoch, int $at, array $records, array $beside = [])
    {
        $this->epoch = $epoch;
        $this->at = $at;
        $this->records = $records;
        $this->beside = $beside;
    }
}
