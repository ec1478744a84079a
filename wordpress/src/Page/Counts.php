<?php

declare(strict_types=1);

namespace Larder\WordPress\Page;

use Larder\Cache;
use Larder\Page\Sapi;
use Larder\WordPress\Choices;

/**
 * What became of requests for pages, added up by the hour, and why WordPress had to run. One row an hour, kept for a week.
 *
 * Some requests are drawn by lot and counted for as many, when they have their answer: a hit is too short for a write, so few
 * of these are. Those that are drawn go by the cache, which the fast door does without.
 *
 * @phpstan-type Row array{hit: int, stale: int, stored: int, passed: int, why: array<string, int>}
 */
final class Counts
{
    /** One hit in so many is counted, and one request in so many that WordPress answers. */
    private const HITS = 32;
    private const OTHERS = 4;

    private const KEPT = 7 * 86_400;

    /** Reasons in a row. */
    private const REASONS = 20;

    /** Why the page that this request builds is not stored, in words for the site's owner; '': the library's reason counts. */
    public static string $reason = '';

    /** Whether a stored page answers the request. */
    private static bool $isAnswered = true;

    private static ?bool $isDrawn = null;

    /**
     * Before a page is looked for.
     *
     * @param Cache $own the group of Larder's own records
     */
    public static function watch(Cache $own): void
    {
        if (!Choices::all()['statistics']) {
            return;
        }
        \register_shutdown_function(static function () use ($own): void {
            self::$isAnswered && self::end($own);
        });
        // It lies below the recorder's buffer, and so ends after that, when the recorder has said what it did.
        \ob_start(static function (string $chunk, int $phase) use ($own): string {
            if (($phase & \PHP_OUTPUT_HANDLER_FINAL) !== 0 && !self::$isAnswered) {
                self::end($own);
            }

            return $chunk;
        }, 1);
    }

    /** Whether this request is counted if a stored page answers it. */
    public static function isDrawn(): bool
    {
        return self::$isDrawn ??= Choices::all()['statistics'] && \random_int(1, self::HITS) === 1;
    }

    /** WordPress answers the request. */
    public static function pass(): void
    {
        self::$isAnswered = false;
    }

    /**
     * The last hours added up.
     *
     * @return Row
     */
    public static function sum(Cache $own, int $hours): array
    {
        $now = \intdiv(\time(), 3_600);
        $sum = self::row(null);
        foreach ($own->getMultiple(\array_map(self::key(...), \range($now - $hours + 1, $now))) as $row) {
            $sum = self::add($sum, self::row($row), 1);
        }
        \arsort($sum['why']);

        return $sum;
    }

    private static function end(Cache $own): void
    {
        foreach (\headers_list() as $line) {
            if (\stripos($line, 'Cache-Status: Larder; ') === 0) {
                $row = self::of(\substr($line, 22));
                if (self::$isAnswered ? self::isDrawn() : \random_int(1, self::OTHERS) === 1) {
                    self::$isAnswered && Sapi::finish();
                    self::count($own, $row, self::$isAnswered ? self::HITS : self::OTHERS);
                }
            }
        }
    }

    /** @return Row */
    private static function of(string $status): array
    {
        $row = self::row(null);
        if (\str_starts_with($status, 'hit')) {
            \preg_match('/; ttl=-/', $status) === 1 ? $row['stale']++ : $row['hit']++;
        } elseif (\str_contains($status, '; stored')) {
            $row['stored']++;
        } else {
            $row['passed']++;
            $why = \preg_match('/detail="((?:[^"\\\\]|\\\\.)*)"/', $status, $found) === 1 ? \stripslashes($found[1]) : (string) \preg_replace('/^fwd=([\w-]+).*/', '$1', $status);
            // The end of a cookie's name is the site's own.
            $row['why'][self::$reason !== '' ? self::$reason : (string) \preg_replace('/_[0-9a-f]{32}\b/', '_*', $why)] = 1;
        }

        return $row;
    }

    /** @param Row $row */
    private static function count(Cache $own, array $row, int $weight): void
    {
        $key = self::key(\intdiv(\time(), 3_600));
        $add = static fn(mixed $there): array => self::add(self::row($there), $row, $weight);
        if ($own->update($key, $add) === null && !$own->add($key, $add(null), self::KEPT)) {
            // Another was first in this hour, at the same time.
            $own->update($key, $add);
        }
    }

    /**
     * @param Row $sum
     * @param Row $row
     *
     * @return Row
     */
    private static function add(array $sum, array $row, int $weight): array
    {
        foreach (['hit', 'stale', 'stored', 'passed'] as $name) {
            $sum[$name] += $row[$name] * $weight;
        }
        foreach ($row['why'] as $why => $times) {
            $sum['why'][$why] = ($sum['why'][$why] ?? 0) + $times * $weight;
        }
        $sum['why'] = \array_slice($sum['why'], 0, self::REASONS, true);

        return $sum;
    }

    /** @return Row of whatever was found there */
    private static function row(mixed $found): array
    {
        $found = \is_array($found) ? $found : [];
        $number = static fn(mixed $value): int => \is_int($value) && $value > 0 ? $value : 0;
        $why = [];
        foreach (\is_array($found['why'] ?? null) ? $found['why'] : [] as $reason => $times) {
            $why[(string) $reason] = $number($times);
        }

        return ['hit' => $number($found['hit'] ?? 0), 'stale' => $number($found['stale'] ?? 0), 'stored' => $number($found['stored'] ?? 0), 'passed' => $number($found['passed'] ?? 0), 'why' => $why];
    }

    private static function key(int $hour): string
    {
        return "pages-$hour";
    }
}
