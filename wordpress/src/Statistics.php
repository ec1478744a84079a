<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\Cache;

/**
 * What requests did, added up by the hour.
 *
 * One row an hour, which ends by itself after a week: there are never more than 169 of them, whatever the site does.
 * Of requests only one in some is recorded, and weighs as many; so a row is an estimate, and the better the busier the
 * hour was.
 *
 * How large the cache is costs more to find out, so the first request that is recorded in an hour does it for all of them.
 *
 * @phpstan-type Sum array{requests: int, hits: int, misses: int, seconds: float, round_trips: int, bytes: ?int, tiers: array<string, array{hits: int, misses: int}>}
 * @phpstan-type Row array{hour: int, requests: int, hits: int, misses: int, seconds: float, round_trips: int, bytes: ?int, tiers: array<string, array{hits: int, misses: int}>}
 *                   hour: Unix time of its beginning; bytes: what the cache held when the hour's first request was recorded; null: not known
 */
final class Statistics
{
    /** How long a row is kept, in seconds. */
    public const KEPT = 7 * 86_400;

    /** Names of tiers in a row, at most: what the cache below calls them is not for a row to trust. */
    private const TIERS = 8;

    /**
     * Adds a request to its hour.
     *
     * @param Cache                $own    the group of Larder's own records
     * @param array<string, mixed> $report what ObjectCache::report() returned
     * @param int                  $weight for how many requests this one stands
     * @param ?\Closure(): ?int     $bytes  finds out what the cache holds; called once an hour
     * @param ?int                 $now    Unix time; null: the present
     */
    public static function record(Cache $own, array $report, int $weight, ?\Closure $bytes = null, ?int $now = null): void
    {
        $key = self::key($now ?? \time());
        $add = static fn(mixed $row): array => self::sum(self::row($row), self::row(['requests' => 1] + $report), \max(1, $weight));
        if ($own->update($key, $add) === null && !$own->add($key, $add(['bytes' => $bytes === null ? null : $bytes()]), self::KEPT)) {
            // Another was first in this hour, at the same time.
            $own->update($key, $add);
        }
    }

    /**
     * The last hours, oldest first, the present one last; one in which nothing was recorded is all zeros.
     *
     * @param int  $hours 1 to 168
     * @param ?int $now   Unix time; null: the present
     *
     * @return list<Row>
     */
    public static function hours(Cache $own, int $hours = 48, ?int $now = null): array
    {
        $keys = [];
        $now = \intdiv($now ?? \time(), 3600) * 3600;
        for ($hour = $now - (\min(\max(1, $hours), 168) - 1) * 3600; $hour <= $now; $hour += 3600) {
            $keys[$hour] = self::key($hour);
        }
        $found = $own->getMultiple($keys);
        $rows = [];
        foreach ($keys as $hour => $key) {
            $rows[] = ['hour' => $hour] + self::row($found[$key] ?? null);
        }

        return $rows;
    }

    /**
     * What the cache holds where it is kept: memory in front of that has copies only.
     *
     * @param array<string, array<string, mixed>> $stats what Cache::stats() returned
     */
    public static function held(array $stats): ?int
    {
        $bytes = $stats['far']['bytes'] ?? $stats['disk']['bytes'] ?? null;

        return \is_int($bytes) ? $bytes : null;
    }

    private static function key(int $time): string
    {
        return 'hour-' . \intdiv($time, 3600);
    }

    /**
     * @param Sum $row
     * @param Sum $request
     *
     * @return Sum
     */
    private static function sum(array $row, array $request, int $weight): array
    {
        foreach (['requests', 'hits', 'misses', 'round_trips'] as $name) {
            $row[$name] += $request[$name] * $weight;
        }
        $row['seconds'] += $request['seconds'] * $weight;
        foreach ($request['tiers'] as $tier => $counts) {
            $sum = $row['tiers'][$tier] ?? ['hits' => 0, 'misses' => 0];
            $row['tiers'][$tier] = ['hits' => $sum['hits'] + $counts['hits'] * $weight, 'misses' => $sum['misses'] + $counts['misses'] * $weight];
        }
        $row['tiers'] = \array_slice($row['tiers'], 0, self::TIERS, true);

        return $row;
    }

    /**
     * A row of whatever was found there, or of a report: what is no number counts as none.
     *
     * @return Sum
     */
    private static function row(mixed $found): array
    {
        $found = \is_array($found) ? $found : [];
        $number = static fn(mixed $value): int => \is_int($value) && $value > 0 ? $value : 0;
        $tiers = [];
        foreach (\is_array($found['tiers'] ?? null) ? $found['tiers'] : [] as $name => $tier) {
            // The library's own report has rows that are no tiers.
            if (\is_array($tier) && isset($tier['hits'], $tier['misses'])) {
                $tiers[(string) $name] = ['hits' => $number($tier['hits']), 'misses' => $number($tier['misses'])];
            }
        }
        $seconds = $found['seconds'] ?? 0;

        return [
            'requests' => $number($found['requests'] ?? 0),
            'hits' => $number($found['hits'] ?? 0),
            'misses' => $number($found['misses'] ?? 0),
            'seconds' => \is_float($seconds) && \is_finite($seconds) ? \max(0.0, $seconds) : 0.0,
            'round_trips' => $number($found['round_trips'] ?? 0),
            'bytes' => \is_int($found['bytes'] ?? null) && $found['bytes'] >= 0 ? $found['bytes'] : null,
            'tiers' => $tiers,
        ];
    }
}
