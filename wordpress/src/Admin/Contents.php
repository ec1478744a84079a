<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

use Larder\WordPress\ObjectCache;

/** What lies in the cache, by group, and its largest keys: all of it, or as much as can be looked at in the time given. */
final readonly class Contents
{
    public const GLOBAL = 'g';

    /** As ObjectCache lays them out; Larder's own records are not among them. */
    private const SPACE = '~^s/(?:(g|\d+)/)?[cp]/(.+)$~sD';

    /** How many keys are kept to show. */
    private const LARGEST = 20;

    /**
     * @param list<array{site: string, group: string, entries: int, bytes: int}>                                 $groups most bytes first
     * @param list<array{site: string, group: string, key: string, size: int, age: float, ttl: ?float}> $keys   the largest first
     */
    private function __construct(
        public int $entries,
        public int $bytes,
        public array $groups,
        public array $keys,
        /** False: a sample; there is more. */
        public bool $complete,
    ) {}

    /**
     * @param iterable<array-key, array{size: int, age: float, ttl: ?float, group: string}> $entries Cache::entries()
     * @param ?string                                                                       $site    of a network only this; null: all
     * @param int                                                                           $most    entries looked at
     * @param float                                                                         $seconds to look
     */
    public static function look(iterable $entries, ?string $site = null, int $most = 20_000, float $seconds = 0.3): self
    {
        $count = $bytes = $looked = 0;
        $complete = true;
        $groups = $keys = [];
        $end = \hrtime(true) + (int) ($seconds * 1e9);
        foreach ($entries as $key => $entry) {
            if ($looked++ === $most || \hrtime(true) > $end) {
                $complete = false;
                break;
            }
            if (\preg_match(self::SPACE, $entry['group'], $match) !== 1 || $site !== null && $match[1] !== $site) {
                continue;
            }
            $count++;
            $bytes += $entry['size'];
            $group = $groups[$entry['group']] ?? ['site' => $match[1], 'group' => $match[2], 'entries' => 0, 'bytes' => 0];
            $group['entries']++;
            $group['bytes'] += $entry['size'];
            $groups[$entry['group']] = $group;
            $keys[] = ['site' => $match[1], 'group' => $match[2], 'key' => (string) $key, 'size' => $entry['size'], 'age' => $entry['age'], 'ttl' => $entry['ttl']];
            if (\count($keys) === 1000) {
                $keys = self::largest($keys);
            }
        }
        \usort($groups, static fn(array $a, array $b): int => $b['bytes'] <=> $a['bytes']);

        return new self($count, $bytes, $groups, self::largest($keys), $complete);
    }

    /**
     * How long a read of each of the largest keys takes now, past the request's own copy; as many as the time allows,
     * and of a network only those of the site that this request is of.
     *
     * @return array<int, float> seconds, by the place in $keys
     */
    public function timed(ObjectCache $cache, string $site, float $seconds = 0.3): array
    {
        $times = [];
        $end = \hrtime(true) + (int) ($seconds * 1e9);
        foreach ($this->keys as $i => ['site' => $of, 'group' => $group, 'key' => $key]) {
            $space = $of === $site || $of === self::GLOBAL ? $cache->space($group) : null;
            if ($space === null || \hrtime(true) > $end) {
                continue;
            }
            $space->forget($key);
            $start = \hrtime(true);
            $space->get($key);
            $times[$i] = (\hrtime(true) - $start) / 1e9;
            // Twenty of the largest values are not kept in this request's memory.
            $space->forget($key);
        }

        return $times;
    }

    /**
     * @param list<array{site: string, group: string, key: string, size: int, age: float, ttl: ?float}> $keys
     *
     * @return list<array{site: string, group: string, key: string, size: int, age: float, ttl: ?float}>
     */
    private static function largest(array $keys): array
    {
        \usort($keys, static fn(array $a, array $b): int => $b['size'] <=> $a['size']);

        return \array_slice($keys, 0, self::LARGEST);
    }
}
