<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

/** `wp larder bench`. */
final class Bench
{
    private const OPERATIONS = ['set', 'get', 'delete'];

    /**
     * Measures what setting, getting and deleting a transient costs on this site.
     *
     * Each round sets the transients, reads and checks them, and deletes them. It does so twice: once with the request's
     * own copies, and once without them, so that the tiers below answer. Each round draws at random which comes first,
     * and one extra round at the start does not count. A sample is the mean of one operation in one round, in
     * microseconds; n, median and MAD (the median distance from the median) describe these samples.
     *
     * ## OPTIONS
     *
     * [--rounds=<rounds>]
     * : Number of rounds, from 3 to 1000.
     * ---
     * default: 20
     * ---
     *
     * [--count=<count>]
     * : Number of transients in each round, from 1 to 10000.
     * ---
     * default: 200
     * ---
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
     *     $ wp larder bench
     *     $ wp larder bench --rounds=5 --count=10000 --format=csv
     *
     * @param list<string>                                           $args
     * @param array{rounds: string, count: string, format: string} $options
     */
    public function __invoke(array $args, array $options): void
    {
        Door::open();
        $rounds = Door::number($options, 'rounds', 20, 3, 1000);
        $count = Door::number($options, 'count', 200, 1, 10_000);
        $samples = ['kept' => [], 'dropped' => []];
        for ($round = 0; $round <= $rounds; $round++) {
            $order = \array_keys($samples);
            \shuffle($order);
            foreach ($order as $copies) {
                $sample = self::round($count, $copies === 'kept');
                if ($round > 0) {
                    $samples[$copies][] = $sample;
                }
            }
        }
        $rows = [];
        foreach ($samples as $copies => $ofRounds) {
            foreach (self::OPERATIONS as $operation) {
                $figures = \array_column($ofRounds, $operation);
                $median = self::median($figures);
                $rows[] = [
                    'operation' => $operation,
                    'copies' => $copies,
                    'n' => \count($figures),
                    'median_us' => \round($median, 2),
                    'mad_us' => \round(self::median(\array_map(static fn(float $figure): float => \abs($figure - $median), $figures)), 2),
                ];
            }
        }
        \WP_CLI\Utils\format_items($options['format'], $rows, ['operation', 'copies', 'n', 'median_us', 'mad_us']);
    }

    /** @return array{set: float, get: float, delete: float} microseconds each */
    private static function round(int $count, bool $kept): array
    {
        $values = $found = [];
        $mark = \bin2hex(\random_bytes(6));
        for ($i = 0; $i < $count; $i++) {
            $values['larder_bench_' . $mark . '_' . $i] = 'value ' . $i . ' of round ' . $mark;
        }
        $done = true;
        $start = \hrtime(true);
        foreach ($values as $name => $value) {
            $done = \set_transient($name, $value, \HOUR_IN_SECONDS) && $done;
        }
        $set = \hrtime(true) - $start;
        $kept || \wp_cache_flush_runtime();

        $start = \hrtime(true);
        foreach ($values as $name => $value) {
            $found[$name] = \get_transient($name);
        }
        $get = \hrtime(true) - $start;
        $kept || \wp_cache_flush_runtime();

        $start = \hrtime(true);
        foreach ($values as $name => $value) {
            $done = \delete_transient($name) && $done;
        }
        $delete = \hrtime(true) - $start;
        if (!$done || $found !== $values) {
            \WP_CLI::error('A transient was not stored, or came back changed, so nothing was measured. Type: wp larder doctor');
        }

        return ['set' => $set / $count / 1000, 'get' => $get / $count / 1000, 'delete' => $delete / $count / 1000];
    }

    /** @param array<float> $figures at least one */
    private static function median(array $figures): float
    {
        \sort($figures);
        $half = \intdiv(\count($figures), 2);

        return \count($figures) % 2 === 1 ? $figures[$half] : ($figures[$half - 1] + $figures[$half]) / 2;
    }
}
