<?php

// The loop of the scenario `transients`, inside WordPress: set all, get all, delete all; between them this request's own
// copies go. Prints microseconds a call, or what was wrong, as JSON.

declare(strict_types=1);

require __DIR__ . '/wp-load.php';

set_time_limit(0);
header('Content-Type: application/json');

echo json_encode((static function (int $count, string $mark, bool $published): array {
    $values = [];
    for ($number = 0; $number < $count; ++$number) {
        // The round's mark in the name: a value that an earlier round has left is another one.
        $name = "larder_lab_{$mark}_$number";
        // As published: of 0 to 10,000 letters, so that fewer transients are as large on average.
        $i = intdiv($number * 10_000, $count);
        $values[$name] = $published ? [$name, $i, str_pad('test', $i, 'x')] : "The value of transient $number, $mark";
    }
    $wrong = 0;
    $forget = static function (): void {
        if (!wp_cache_flush_runtime()) {
            throw new RuntimeException('it keeps this request\'s copies (wp_cache_flush_runtime() gives false), so that a get would be one of an array');
        }
    };
    try {
        $forget();
        $start = hrtime(true);
        foreach ($values as $name => $value) {
            if (!set_transient($name, $value, HOUR_IN_SECONDS)) {
                ++$wrong;
            }
        }
        $set = hrtime(true) - $start;
        $forget();
        $start = hrtime(true);
        foreach ($values as $name => $value) {
            if (get_transient($name) !== $value) {
                ++$wrong;
            }
        }
        $get = hrtime(true) - $start;
        $forget();
        $start = hrtime(true);
        foreach ($values as $name => $value) {
            if (!delete_transient($name)) {
                ++$wrong;
            }
        }
        $delete = hrtime(true) - $start;
        $forget();
        foreach ($values as $name => $value) {
            if (get_transient($name) !== false) {
                ++$wrong;
            }
        }
    } catch (RuntimeException $failure) {
        return ['wrong' => $failure->getMessage()];
    }

    return $wrong > 0
        ? ['wrong' => "$wrong of " . 4 * $count . ' calls gave another value than they should']
        : array_map(static fn(int $time): float => $time / $count / 1e3, ['write' => $set, 'read' => $get, 'delete' => $delete]);
})(
    max(2, (int) filter_input(INPUT_GET, 'count', FILTER_VALIDATE_INT)),
    (string) filter_input(INPUT_GET, 'mark', FILTER_VALIDATE_INT),
    filter_input(INPUT_GET, 'payload') === 'published',
));
