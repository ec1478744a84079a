<?php

// Runs inside WordPress, in a request that is to be timed: what the functions that Larder\Lab\WordPress\Stopwatch has
// put a watch into call.

declare(strict_types=1);

final class Larder_Lab_Stopwatch
{
    private static int $depth = 0;
    private static int $time = 0;

    /** @var array<string, int> */
    private static array $calls = [];

    /** @var array<string, int> */
    private static array $keys = [];

    public static function in(string $name, int $keys): int
    {
        if (self::$depth++ > 0) {
            return 0;
        }
        self::$calls[$name] = (self::$calls[$name] ?? 0) + 1;
        self::$keys[$name] = (self::$keys[$name] ?? 0) + $keys;

        return hrtime(true);
    }

    public static function out(int $start): void
    {
        $now = hrtime(true);
        if (--self::$depth === 0) {
            self::$time += $now - $start;
        }
    }

    public static function tell(): void
    {
        $time = self::$time;
        $calls = array_sum(self::$calls);
        $reads = (self::$keys['wp_cache_get'] ?? 0) + (self::$keys['wp_cache_get_multiple'] ?? 0);
        $cost = self::cost();
        $cache = $GLOBALS['wp_object_cache'] ?? null;
        $report = $cache instanceof Larder\WordPress\ObjectCache ? $cache->report() : null;
        $database = $GLOBALS['wpdb'];
        assert($database instanceof wpdb);
        echo '<!--larder-lab ', json_encode([
            'nanoseconds' => $time - $calls * $cost,
            'calls' => $calls,
            'reads' => $reads,
            'queries' => $database->num_queries,
            'below' => $report['round_trips'] ?? null,
            'near' => isset($report['tiers']['near']),
            'cost' => $cost,
        ]), '-->';
    }

    /** Nanoseconds that a watch tells of nothing. */
    private static function cost(): float
    {
        $costs = [];
        for ($batch = 0; $batch < 11; ++$batch) {
            self::$time = 0;
            for ($i = 0; $i < 500; ++$i) {
                self::nothing('key');
            }
            $costs[] = self::$time / 500;
        }
        sort($costs);

        return $costs[5];
    }

    /** As Stopwatch changes a function. */
    private static function nothing(string $key): string
    {
        $larder_lab = \Larder_Lab_Stopwatch::in('nothing', 1);
        try {
            return $key;
        } finally {
            \Larder_Lab_Stopwatch::out($larder_lab);
        }
    }
}

// WordPress registers its own, which closes the cache, after this one: so this one comes last by registering again.
register_shutdown_function(static function (): void {
    register_shutdown_function([Larder_Lab_Stopwatch::class, 'tell']);
});
