<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

use Larder\Console\Support\Text;
use Larder\WordPress\ObjectCache;
use Larder\WordPress\Statistics;

/** `wp larder stats`. */
final class Stats
{
    /**
     * Prints what each tier holds, and how often it answered.
     *
     * Hits and misses cover all requests of the last hours, estimated from a sample of them.
     *
     * ## OPTIONS
     *
     * [--hours=<hours>]
     * : Number of hours, from 1 to 168.
     * ---
     * default: 24
     * ---
     *
     * [--by-hour]
     * : Print one row for each hour: requests, hits, misses, the milliseconds that a request spent in the cache, and the bytes that the cache held.
     *
     * [--format=<format>]
     * : How to print it.
     * ---
     * default: table
     * options:
     *   - table
     *   - json
     *   - csv
     * ---
     *
     * ## EXAMPLES
     *
     *     $ wp larder stats
     *     $ wp larder stats --by-hour --hours=48 --format=csv
     *
     * @param list<string>                                        $args
     * @param array{hours: string, format: string, by-hour?: bool} $options
     */
    public function __invoke(array $args, array $options): void
    {
        $larder = Door::cache();
        $hours = Statistics::hours(ObjectCache::records($larder), Door::number($options, 'hours', 24, 1, 168));
        $format = $options['format'];
        if (Door::flag($options, 'by-hour')) {
            \WP_CLI\Utils\format_items(
                $format,
                \array_map(self::hour(...), $hours),
                ['hour', 'requests', 'hits', 'misses', 'hit_ratio', 'ms_a_request', 'round_trips_a_request', 'bytes'],
            );

            return;
        }
        $rows = [];
        foreach ($larder->stats() as $tier => $row) {
            if (!isset($row['engine'])) {
                continue;
            }
            $sum = static fn(string $what): int => \array_sum(\array_map(static fn(array $hour): int => $hour['tiers'][$tier][$what] ?? 0, $hours));
            [$bytes, $budget] = [(int) ($row['bytes'] ?? 0), (int) ($row['budget'] ?? 0)];
            $rows[] = [
                'tier' => $tier,
                'engine' => $row['engine'],
                'entries' => $row['entries'] ?? '',
                'bytes' => $format === 'table' ? Text::bytes($bytes) : $bytes,
                'budget' => $format === 'table' ? ($budget === 0 ? '' : Text::bytes($budget)) : $budget,
                'hits' => $sum('hits'),
                'misses' => $sum('misses'),
                'errors' => $row['errors'] ?? 0,
            ];
        }
        \WP_CLI\Utils\format_items($format, $rows, ['tier', 'engine', 'entries', 'bytes', 'budget', 'hits', 'misses', 'errors']);
    }

    /**
     * @param array{hour: int, requests: int, hits: int, misses: int, seconds: float, round_trips: int, bytes: ?int, ...} $row
     *
     * @return array<string, int|float|string>
     */
    private static function hour(array $row): array
    {
        $requests = \max(1, $row['requests']);

        return [
            'hour' => \gmdate('Y-m-d\TH:i\Z', $row['hour']),
            'requests' => $row['requests'],
            'hits' => $row['hits'],
            'misses' => $row['misses'],
            'hit_ratio' => $row['hits'] + $row['misses'] === 0 ? '' : \round($row['hits'] / ($row['hits'] + $row['misses']), 4),
            'ms_a_request' => \round($row['seconds'] * 1000 / $requests, 3),
            'round_trips_a_request' => \round($row['round_trips'] / $requests, 2),
            'bytes' => $row['bytes'] ?? '',
        ];
    }
}
