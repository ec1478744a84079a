<?php

/**
 * Runs before WordPress is loaded, and forks for each request: a child goes on with what comes after this file, which
 * loads WordPress and does $job; the parent tells what came of all of them.
 *
 * For each case and each of its statements: the case is prepared, a request reads everything there is, a request dies
 * right after the statement, and the next request must say of everything what WordPress says that has no cache.
 */

declare(strict_types=1);

/** What a child shall do: thrown, so that it is in the global scope again, where WordPress has to be loaded. */
final class IntentJob extends Exception
{
    /** @param array<string, mixed> $job */
    public function __construct(public readonly array $job)
    {
        parent::__construct();
    }
}

/**
 * @param array<string, mixed> $job
 *
 * @return array{status: string, said: mixed, error: string} said: null if it ended before its end
 */
function intent_request(array $job, string $file): array
{
    file_exists($file) && unlink($file);
    $child = pcntl_fork();
    if ($child === 0) {
        throw new IntentJob($job + ['file' => $file]);
    }
    pcntl_waitpid($child, $status);
    $said = file_exists($file) ? json_decode((string) file_get_contents($file), true) : [];

    return [
        'status' => pcntl_wifsignaled($status) ? 'signal ' . pcntl_wtermsig($status) : 'status ' . pcntl_wexitstatus($status),
        'said' => $said['said'] ?? null,
        'error' => $said['error'] ?? '',
    ];
}

$order = json_decode((string) file_get_contents(INTENT_ORDER), true);
$job = [];
try {
    $round = (int) (hrtime(true) / 1e6);
    $report = [];
    foreach ($order['cases'] as $name => [$prepare, $write]) {
        $report[$name] = ['points' => 0, 'stale' => []];
        for ($last = 1; ; $last++) {
            $round++;
            $about = ['round' => $round] + $order;
            $ask = static function (array $job) use ($about, $name, $last): array {
                $answer = intent_request($job + $about, INTENT_ORDER . '.said');
                if ($answer['said'] === null && $job['do'] !== 'write') {
                    exit("\n$name, statement $last, {$job['do']}: {$answer['status']} {$answer['error']}");
                }

                return $answer;
            };
            $ids = $ask(['do' => 'prepare', 'code' => $prepare])['said'];
            $ask(['do' => 'state', 'ids' => $ids]);
            $writer = $ask(['do' => 'write', 'code' => $write, 'ids' => $ids, 'last' => $last]);
            if ($writer['said'] === null && !in_array($writer['status'], $order['ends'], true)) {
                exit("\n$name, statement $last: {$writer['status']} {$writer['error']}");
            }
            $cached = $ask(['do' => 'state', 'ids' => $ids])['said'];
            $truth = $ask(['do' => 'state', 'ids' => $ids, 'without' => true])['said'];
            $stale = array_keys(array_filter($truth, static fn(mixed $value, string $of): bool => $value !== $cached[$of], ARRAY_FILTER_USE_BOTH));
            if ($stale !== []) {
                $report[$name]['stale'][$writer['said'] === null ? $last : 'whole'] = array_map(
                    static fn(string $of): string => "$of: " . json_encode($cached[$of]) . ' for ' . json_encode($truth[$of]),
                    $stale,
                );
            }
            if ($writer['said'] !== null) {
                break;
            }
            $report[$name]['points'] = $last;
        }
    }
    // After WordPress's page on a fatal error.
    exit("\n" . json_encode($report, JSON_THROW_ON_ERROR));
} catch (IntentJob $found) {
    $job = $found->job;
    if (isset($job['without'])) {
        putenv('LARDER_DISABLED=1');
        // It only looks, so it leaves no mark: the next round's cache would be emptied.
        define('LARDER_AWAY', true);
    }
}
