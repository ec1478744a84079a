<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\Profiler;

use Larder\SymfonyBundle\Cache\LarderAdapter;
use Psr\Cache\CacheItemInterface;
use Symfony\Component\Cache\CacheItem;

/** A pool that notes for each call which tier answered it. Only where Symfony's profiler traces caches. */
final class TracedAdapter extends LarderAdapter
{
    /** Keys that a call's row shows. */
    private const SHOWN = 20;

    private ?CallLog $log = null;
    private string $pool = '';

    /** Milliseconds that the computation of the call that runs now has taken; null: it has made none. */
    private ?float $computed = null;

    public function traceInto(CallLog $log, string $pool): void
    {
        $this->log = $log;
        $this->pool = $pool;
    }

    public function get(string $key, callable $callback, ?float $beta = null, ?array &$metadata = null): mixed
    {
        $outer = $this->computed;
        $this->computed = null;
        try {
            return $this->traced('get', [$key], function () use ($key, $callback, $beta, &$metadata): mixed {
                return parent::get($key, $callback, $beta, $metadata);
            }, $this->counted(...));
        } finally {
            $this->computed = $outer;
        }
    }

    /** @return array{int, int, ?float} of get(), see traced() */
    private function counted(): array
    {
        return $this->computed === null ? [1, 0, null] : [0, 1, $this->computed];
    }

    protected function call(callable $callback, CacheItem $item, bool &$save): mixed
    {
        $start = \hrtime(true);
        try {
            return parent::call($callback, $item, $save);
        } finally {
            $this->computed = (\hrtime(true) - $start) / 1e6;
        }
    }

    public function getItem(mixed $key): CacheItem
    {
        return $this->traced('getItem', [$key], fn(): CacheItem => parent::getItem($key), static fn(CacheItem $item): array => [(int) $item->isHit(), (int) !$item->isHit(), null]);
    }

    public function getItems(array $keys = []): iterable
    {
        return $this->traced('getItems', $keys, function () use ($keys): array {
            $items = [];
            foreach (parent::getItems($keys) as $key => $item) {
                $items[$key] = $item;
            }

            return $items;
        }, static function (array $items): array {
            $hits = \count(\array_filter($items, static fn(CacheItem $item): bool => $item->isHit()));

            return [$hits, \count($items) - $hits, null];
        });
    }

    public function hasItem(mixed $key): bool
    {
        return $this->traced('hasItem', [$key], fn(): bool => parent::hasItem($key), static fn(bool $has): array => [(int) $has, (int) !$has, null]);
    }

    public function save(CacheItemInterface $item): bool
    {
        return $this->traced('save', [$item->getKey()], fn(): bool => parent::save($item));
    }

    public function commit(): bool
    {
        $keys = $this->deferredKeys();

        return $keys === [] ? parent::commit() : $this->traced('commit', $keys, fn(): bool => parent::commit());
    }

    public function deleteItems(array $keys): bool
    {
        return $this->traced('delete', $keys, fn(): bool => parent::deleteItems($keys));
    }

    public function invalidateTags(array $tags): bool
    {
        return $this->traced('invalidateTags', $tags, fn(): bool => parent::invalidateTags($tags));
    }

    public function clear(string $prefix = ''): bool
    {
        return $this->traced('clear', [$prefix], fn(): bool => parent::clear($prefix));
    }

    /**
     * @template T
     *
     * @param array<array-key, mixed>                              $keys
     * @param \Closure(): T                                        $call
     * @param ?\Closure(T): array{int, int, ?float}                $count hits, misses, and milliseconds of the computation
     *
     * @return T
     */
    private function traced(string $method, array $keys, \Closure $call, ?\Closure $count = null): mixed
    {
        $log = $this->log;
        if ($log === null || !$log->isOpen()) {
            return $call();
        }
        $before = $this->hits();
        $start = \hrtime(true);
        $result = $call();
        $time = (\hrtime(true) - $start) / 1e6;
        [$hits, $misses, $computed] = $count === null ? [0, 0, null] : $count($result);
        $tiers = [];
        $left = $hits;
        // What a computation has read is noted by its own calls.
        foreach ($computed === null && $hits > 0 ? $this->hits() : [] as $tier => $number) {
            $answered = \min($left, $number - ($before[$tier] ?? 0));
            if ($answered > 0) {
                $tiers[$tier] = $answered;
                $left -= $answered;
            }
        }
        if ($computed === null && $left > 0) {
            $tiers = ['request' => $left] + $tiers;
        }
        $log->add([
            'pool' => $this->pool,
            'method' => $method,
            'keys' => \array_map(static fn(mixed $key): string => \is_scalar($key) ? (string) $key : \get_debug_type($key), \array_slice(\array_values($keys), 0, self::SHOWN)),
            'number' => \count($keys),
            'hits' => $hits,
            'misses' => $misses,
            'tiers' => $tiers,
            'time' => $time,
            'computed' => $computed,
            'position' => $this->cache->internals()->position(),
        ]);

        return $result;
    }

    /** @return array<string, int> of each tier but the request's, which does not count all of them; until now */
    private function hits(): array
    {
        $hits = [];
        foreach ($this->cache->stats(stored: false) as $tier => $counts) {
            if ($tier !== 'request' && \is_int($counts['hits'] ?? null)) {
                $hits[$tier] = $counts['hits'];
            }
        }

        return $hits;
    }
}
