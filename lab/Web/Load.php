<?php

declare(strict_types=1);

namespace Larder\Lab\Web;

use Larder\Lab\Plan\Need;
use Larder\Lab\Service\Command;
use Larder\Lab\Service\ServiceFailure;

/** The published comparisons' own load programs: `ab`, `hey` and `wrk`. Any answer but a 200 is a failure. */
final class Load
{
    private const PATIENCE = 120.0;
    private const GZIP = ['-H', 'Accept-Encoding: gzip'];

    /** Prints what wrk's own table leaves out; microseconds. */
    private const SCRIPT = <<<'LUA'
        done = function(summary, latency, requests)
            local errors = summary.errors
            io.write(string.format("LARDER %d %d %d %d %d %d %d %.1f\n", summary.requests, summary.duration,
                errors.connect + errors.read + errors.write + errors.status + errors.timeout,
                latency:percentile(50), latency:percentile(95), latency:percentile(99), latency.max, latency.stdev))
        end
        LUA;

    /** @return float requests a second */
    public static function ab(string $url, int $requests, int $atOnce, bool $keepAlive, bool $gzip = false): float
    {
        $run = self::run('ab', [...($keepAlive ? ['-k'] : []), '-q', '-l', '-n', (string) $requests, '-c', (string) $atOnce, ...$gzip ? self::GZIP : [], $url]);
        $figure = static fn(string $name): ?float => \preg_match("/^$name:\s+([\d.]+)/m", $run, $found) === 1 ? (float) $found[1] : null;
        $rate = $figure('Requests per second');
        if ($rate === null || $rate <= 0.0 || $figure('Failed requests') !== 0.0 || $figure('Non-2xx responses') !== null) {
            throw new ServiceFailure("ab does not get all answers of $url: " . \substr(\trim($run), 0, 300));
        }

        return $rate;
    }

    /** @return array{rate: float, latencies: non-empty-list<float>} requests a second; microseconds of each request */
    public static function hey(string $url, int $requests, int $atOnce): array
    {
        $run = self::run('hey', ['-n', (string) $requests, '-c', (string) $atOnce, '-o', 'csv', $url]);
        $latencies = [];
        $end = 0.0;
        foreach (\array_slice(\explode("\n", \trim($run)), 1) as $line) {
            $row = \str_getcsv($line, escape: '');
            if (($row[6] ?? '') !== '200') {
                throw new ServiceFailure("hey got another status than 200 of $url: $line");
            }
            $latencies[] = \round((float) $row[0] * 1e6, 1);
            // Its last columns: when the request left, and how long it took; seconds.
            $end = \max($end, (float) ($row[7] ?? 0) + (float) $row[0]);
        }
        // hey gives each of its connections the same number of requests, and leaves out what does not divide.
        if ($latencies === [] || \count($latencies) < $requests - $atOnce || $end <= 0.0) {
            throw new ServiceFailure("hey got no answer of $url: " . \substr(\trim($run), 0, 300));
        }

        return ['rate' => \count($latencies) / $end, 'latencies' => $latencies];
    }

    /**
     * @param string $file for a script; written anew
     *
     * @return array{rate: float, requests: int, p50: float, p95: float, p99: float, max: float, stdev: float} requests a second; microseconds
     */
    public static function wrk(string $url, float $seconds, int $atOnce, bool $gzip, string $file, int $threads = 1): array
    {
        \file_put_contents($file, self::SCRIPT);
        // It knows whole seconds alone; asked to end, it prints what it has.
        $wrk = [Need::find(['wrk']) ?? 'wrk', '-t', (string) $threads, '-c', (string) $atOnce, '-d', '1h', '--timeout', '60s', ...$gzip ? self::GZIP : [], '-s', $file, $url];
        $run = self::run('timeout', ['--preserve-status', '--signal=INT', \sprintf('%.3F', $seconds), ...$wrk]);
        if (\preg_match('/^LARDER (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) ([\d.]+)$/m', $run, $found) !== 1 || (int) $found[1] === 0 || (int) $found[3] !== 0) {
            throw new ServiceFailure("wrk does not get all answers of $url: " . \substr(\trim($run), 0, 500));
        }

        return ['rate' => (int) $found[1] / (int) $found[2] * 1e6, 'requests' => (int) $found[1], 'p50' => (float) $found[4], 'p95' => (float) $found[5], 'p99' => (float) $found[6], 'max' => (float) $found[7], 'stdev' => (float) $found[8]];
    }

    /** @param list<string> $arguments */
    private static function run(string $program, array $arguments): string
    {
        $run = Command::run([Need::find([$program]) ?? $program, ...$arguments], self::PATIENCE);
        $run->succeeded || throw new ServiceFailure("$program fails: " . \substr(\trim($run->errors . ' ' . $run->output), 0, 300));

        return $run->output;
    }
}
