<?php

/** Runs when WordPress is loaded, in a child of driver.php: does $job, and leaves what came of it in a file. */

declare(strict_types=1);

/** @var array<string, mixed> $job */
global $job;
(static function (array $job): void {
    global $wpdb, $wp_filter;
    ini_set('display_errors', '0');
    $complaints = [];
    set_error_handler(static function (int $kind, string $message, string $file, int $line) use (&$complaints): bool {
        // What is hidden by @ is no complaint.
        (error_reporting() & $kind) === 0 || $complaints[] = "$message in $file:$line";

        return true;
    });
    $say = static function (mixed $said) use ($job, &$complaints): void {
        file_put_contents($job['file'], json_encode($complaints === [] ? ['said' => $said] : ['error' => implode("\n", $complaints)], JSON_PARTIAL_OUTPUT_ON_ERROR));
    };
    try {
        require_once ABSPATH . 'wp-admin/includes/admin.php';
        $round = $job['round'];
        $ids = $job['ids'] ?? [];
        if ($job['do'] === 'state') {
            $cached = $GLOBALS['wp_object_cache'] instanceof Larder\WordPress\ObjectCache;
            if ($cached === isset($job['without']) || ($cached && $GLOBALS['wp_object_cache']->larder() === null)) {
                throw new LogicException($GLOBALS['wp_object_cache']::class . ($cached ? $GLOBALS['wp_object_cache']->problem() : ''));
            }
            $say((require __DIR__ . '/state.php')($ids));

            return;
        }
        if ($job['do'] === 'prepare') {
            // What the last round has left would be counted again.
            $GLOBALS['wp_object_cache']->flush_network();
        }
        if ($job['do'] === 'write') {
            if (!$job['intents']) {
                unset($wp_filter['query']->callbacks[PHP_INT_MAX]);
                $wp_filter['query']->add_filter('query', static fn(mixed $query): mixed => $query, 10, 1);
            }
            $wpdb->every = $job['every'];
            $wpdb->last = $job['last'];
            $wpdb->end = match ($job['end']) {
                'kill' => static fn() => posix_kill(posix_getpid(), SIGKILL),
                'exit' => static fn() => exit(9),
                'fatal' => static fn() => (static fn() => intent_no_such_function())(),
                'memory' => static fn() => [ini_set('memory_limit', (string) (memory_get_usage(true) + 2_000_000)), str_repeat('x', 100_000_000)],
                'time' => static function (): void {
                    set_time_limit(1);
                    for (;;);
                },
            };
        }
        $result = eval($job['code']);
        $wpdb->end = null;
        if (is_wp_error($result)) {
            throw new LogicException($result->get_error_message());
        }
        $say($result ?? []);
    } catch (Throwable $error) {
        if (($wpdb->end ?? null) !== null) {
            throw $error;
        }
        $complaints[] = (string) $error;
        $say(null);
    }
})($job);
