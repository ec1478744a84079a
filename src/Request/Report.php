<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Record;

/** Tells people what the tiers did and hold: statistics, one key, all entries. On no hot path. */
final class Report
{
    /**
     * @param bool $stored true: also what each tier holds, which asks the engines
     *
     * @return array<string, array<string, int|float|string>>
     */
    public static function stats(Request $request, int $gets, RequestTier $copies, bool $stored): array
    {
        $view = $request->view;
        $truth = $request->truth;
        $counts = $request->counts();
        $first = $copies->lookups + $copies->hits;
        $stats = ['request' => [
            'engine' => 'array',
            'hits' => \max(0, $gets - $first),
            'misses' => \min($gets, $first),
            'writes' => 0,
            'time' => 0.0,
            'bytes' => $copies->bytes(),
            'entries' => $copies->count(),
            'errors' => 0,
        ]];
        if ($view->near !== null) {
            $stats['near'] = [
                'hits' => $copies->hits + $counts['nearHits'],
                'misses' => $counts['nearMisses'],
                'writes' => 0,
                'time' => 0.0,
            ] + ($stored ? $view->near->stats() : []);
        }
        $stats[$request->last] = [
            'hits' => $counts['hits'],
            'misses' => $counts['misses'],
            'writes' => $counts['writes'],
            'calls' => $counts['calls'],
            'time' => $truth->guard->time / 1e9,
            'errors' => $truth->guard->errors,
        ] + ($stored ? $truth->stats() : []);
        $stats['conflicts'] = $request->conflicts();

        return $stats;
    }

    /**
     * @return array{epoch: string, lag: int, pending: int} the journal's epoch; how many changes the near tier had not followed
     *                                                      when this request began; how many invalidations wait on this server
     *                                                      until the truth tier can record them
     */
    public static function condition(Request $request): array
    {
        $view = $request->view;

        return ['epoch' => $view->history->epoch, 'lag' => $view->lag, 'pending' => $request->truth->guard->waiting()];
    }

    /** @return list<array{tier: string, found: bool, age: ?float, size: ?int, ttl: ?float, tags: list<string>, position: ?int, kind: string}> */
    public static function inspect(Request $request, Space $space, string $name, bool $copied): array
    {
        // Read the truth first: the same read brings the position of the space's last flush.
        $snapshot = $request->reader()->read([$name], $space);
        $now = $request->truth->now();
        $rows = [['tier' => 'request'] + self::row(null, null, $copied ? 'value' : 'absent', $copied, $now)];
        $near = $request->view->near;
        if ($near !== null) {
            $hit = $request->view->nearReadable ? $near->copy($name) : null;
            $good = $hit !== null && $request->reader()->good($hit[0], $hit[1], $space);
            $rows[] = ['tier' => 'near (' . $near->stats()['engine'] . ')']
                + self::row($hit[0] ?? null, $hit[1] ?? null, $hit === null ? 'absent' : ($good ? 'value' : self::over($hit[0], $now)), $good, $now);
        }
        $record = $snapshot?->records[$name] ?? null;
        $entry = $record === null ? null : $request->reader()->signer->open($name, $record->body);
        $kind = match (true) {
            $snapshot === null => 'unreachable',
            $record === null => 'absent',
            $entry === null => ['d' => 'deleted', 'x' => 'dropped by a conflict', 'i' => 'an intent stands'][$record->body[0] ?? ''] ?? 'not readable',
            $request->reader()->valid($name, $record, $snapshot, $space) === null => self::over($entry, $now),
            $entry->sure !== 0 => 'value of bounded life',
            default => 'value',
        };
        $rows[] = ['tier' => $request->last . ' (' . $request->truth->stats()['engine'] . '), the truth']
            + self::row($entry, $record?->position, $kind, \str_starts_with($kind, 'value'), $now);

        return $rows;
    }

    /**
     * All valid entries of the truth tier, by key. The engine may still hold flushed ones; they are left out.
     *
     * @return iterable<string, array{size: int, age: float, ttl: ?float, group: string, tags: list<string>}>
     */
    public static function entries(Request $request): iterable
    {
        $now = $request->truth->now();
        $spaces = [];
        foreach ($request->truth->each() as $name => $record) {
            $entry = self::value($request, $name, $record);
            $colon = (int) \strpos($name, ':', 2);
            $path = \substr($name, 2, $colon - 2);
            if ($entry === null || !$request->reader()->good($entry, $record->position, $spaces[$path] ??= new Space($path))) {
                continue;
            }
            yield \substr($name, $colon + 1) => [
                'size' => \strlen($entry->payload),
                'age' => \max(0, $now - $entry->created) / 1000,
                'ttl' => $entry->expiry === 0 ? null : ($entry->expiry - $now) / 1000,
                'group' => \rawurldecode($path),
                'tags' => self::tags($entry),
            ];
        }
    }

    private static function over(Entry $entry, int $now): string
    {
        return $entry->expired($now) ? 'expired' : 'flushed or invalidated';
    }

    private static function value(Request $request, string $name, Record $record): ?Entry
    {
        return $name[0] === 'e' ? $request->reader()->signer->open($name, $record->body) : null;
    }

    /** @return array{found: bool, age: ?float, size: ?int, ttl: ?float, tags: list<string>, position: ?int, kind: string} */
    private static function row(?Entry $entry, ?int $position, string $kind, bool $found, int $now): array
    {
        return [
            'found' => $found,
            'age' => $entry === null || $entry->created === 0 ? null : \max(0, $now - $entry->created) / 1000,
            // A value that lies decoded in the segment has no length in bytes.
            'size' => $entry === null || $entry->isHeld ? null : \strlen($entry->payload),
            'ttl' => $entry === null || $entry->expiry === 0 ? null : ($entry->expiry - $now) / 1000,
            'tags' => $entry === null ? [] : self::tags($entry),
            'position' => $position,
            'kind' => $kind,
        ];
    }

    /** @return list<string> without what makes markers of them */
    private static function tags(Entry $entry): array
    {
        return \array_map(static fn(string $tag): string => \substr($tag, (int) \strpos($tag, ':', 2) + 1), $entry->tags);
    }
}
