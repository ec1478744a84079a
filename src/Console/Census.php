<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Support\Text;

/** Counts the truth tier's entries at one moment: sums by group, and the first keys in an order. */
final readonly class Census
{
    public const ORDERS = ['size', 'age', 'ttl', 'key'];

    private const MOST = 100_000;

    /**
     * @param array<array-key, array{int, int}>                                              $groups entries and bytes by group, largest first
     * @param list<array{key: string, group: string, size: int, age: float, ttl: ?float}> $keys
     * @param bool                                                                           $complete false: the truth tier has more entries than were counted
     */
    private function __construct(
        public int $entries,
        public int $bytes,
        public array $groups,
        public array $keys,
        public bool $complete,
    ) {}

    /** @param ?string $group null: all */
    public static function take(Cache $cache, ?string $group, string $order, int $limit): self
    {
        $entries = $bytes = 0;
        $complete = true;
        $groups = $keys = [];
        // Not iterator_to_array(): two groups may have the same key.
        foreach ($cache->entries() as $key => $entry) {
            if ($group !== null && $entry['group'] !== $group) {
                continue;
            }
            if ($entries === self::MOST) {
                $complete = false;
                break;
            }
            $entries++;
            $bytes += $entry['size'];
            $sum = $groups[$entry['group']] ?? [0, 0];
            $groups[$entry['group']] = [$sum[0] + 1, $sum[1] + $entry['size']];
            $keys[] = ['key' => (string) $key, 'group' => $entry['group'], 'size' => $entry['size'], 'age' => $entry['age'], 'ttl' => $entry['ttl']];
            if (\count($keys) >= 1000 + 2 * $limit) {
                $keys = self::first($keys, $order, $limit);
            }
        }
        \uasort($groups, static fn(array $a, array $b): int => $b[1] <=> $a[1]);

        return new self($entries, $bytes, $groups, self::first($keys, $order, $limit), $complete);
    }

    /** @return array<string, mixed> */
    public function document(): array
    {
        $groups = [];
        foreach ($this->groups as $name => [$entries, $bytes]) {
            $groups[] = ['group' => Text::key((string) $name), 'entries' => $entries, 'bytes' => $bytes];
        }

        return [
            'time' => \time(), 'entries' => $this->entries, 'bytes' => $this->bytes, 'complete' => $this->complete,
            'groups' => $groups, 'keys' => \array_map(static fn(array $key): array => ['key' => Text::key($key['key']), 'group' => Text::key($key['group'])] + $key, $this->keys),
        ];
    }

    /**
     * @param list<array{key: string, group: string, size: int, age: float, ttl: ?float}> $keys
     *
     * @return list<array{key: string, group: string, size: int, age: float, ttl: ?float}>
     */
    private static function first(array $keys, string $order, int $limit): array
    {
        \usort($keys, match ($order) {
            'age' => static fn(array $a, array $b): int => $b['age'] <=> $a['age'],
            'ttl' => static fn(array $a, array $b): int => ($a['ttl'] ?? \INF) <=> ($b['ttl'] ?? \INF),
            'key' => static fn(array $a, array $b): int => $a['key'] <=> $b['key'],
            default => static fn(array $a, array $b): int => $b['size'] <=> $a['size'],
        });

        return \array_slice($keys, 0, $limit);
    }
}
