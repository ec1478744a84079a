<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

/**
 * What the statistics of some hours come to.
 *
 * A read is answered in the request itself, by one of the tiers below it, or by none. Only the second is what a
 * persistent cache is for: WordPress's own cache, which ends with the request, does the first as well.
 *
 * @phpstan-import-type Row from \Larder\WordPress\Statistics
 */
final readonly class Figures
{
    public int $requests;
    public int $hits;
    public int $misses;
    public int $roundTrips;

    /** That disk or network took, all requests together. */
    public float $seconds;

    /** Reads that a tier below the request answered. */
    public int $kept;

    /** @var list<string> the tiers below the request that any row knows, nearest first */
    public array $tiers;

    /** @param list<Row> $hours */
    public function __construct(public array $hours)
    {
        $this->requests = (int) \array_sum(\array_column($hours, 'requests'));
        $this->hits = (int) \array_sum(\array_column($hours, 'hits'));
        $this->misses = (int) \array_sum(\array_column($hours, 'misses'));
        $this->roundTrips = (int) \array_sum(\array_column($hours, 'round_trips'));
        $this->seconds = (float) \array_sum(\array_column($hours, 'seconds'));
        $tiers = [];
        foreach ($hours as $row) {
            $tiers += $row['tiers'];
        }
        $this->tiers = \array_values(\array_intersect(['near', 'disk', 'far'], \array_keys($tiers)));
        $this->kept = (int) \array_sum(\array_map($this->below(...), $hours));
    }

    /**
     * What the request answered itself.
     *
     * @param array{hits: int, tiers: array<string, array{hits: int, misses: int}>} $row
     */
    public function within(array $row): int
    {
        return \max(0, $row['hits'] - $this->below($row));
    }

    /**
     * Seconds of the database that were saved, as an estimate: what the tiers answered, at one look-up of a row each,
     * less what the cache's own disk or network took. A list that WordPress reads in one query is counted as many; a query that sorts
     * or joins, or computes what is cached, costs far more than is counted.
     *
     * @param float $query seconds of one look-up
     */
    public function saved(float $query): float
    {
        return \max(0.0, $this->kept * $query - $this->seconds);
    }

    /**
     * What the tiers below it answered.
     *
     * @param array{tiers: array<string, array{hits: int, misses: int}>} $row
     */
    public function below(array $row): int
    {
        $hits = 0;
        foreach ($this->tiers as $tier) {
            $hits += $row['tiers'][$tier]['hits'] ?? 0;
        }

        return $hits;
    }
}
