<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\Cache;

use Larder\Cache;
use Larder\Codec\NotStorable;
use Larder\Computation;
use Psr\Cache\CacheItemInterface;
use Psr\Log\LoggerAwareInterface;
use Psr\Log\LoggerAwareTrait;
use Symfony\Component\Cache\Adapter\TagAwareAdapterInterface;
use Symfony\Component\Cache\CacheItem;
use Symfony\Component\Cache\Exception\InvalidArgumentException;
use Symfony\Component\Cache\PruneableInterface;
use Symfony\Component\Cache\ResettableInterface;
use Symfony\Contracts\Cache\NamespacedPoolInterface;
use Symfony\Contracts\Cache\TagAwareCacheInterface;

/**
 * A pool of Symfony Cache: a group of a Larder cache, which several pools share. Tags are Larder's own.
 *
 * Items are snapshots, as those of Symfony's adapters are. Larder holds with each value what its item's getMetadata() tells.
 * The group is cache-only, as Symfony's pools are: of two saves the last one wins. What get() has computed is a fill: it is not
 * stored if its key was changed meanwhile.
 *
 * A sub-namespace is a prefix of keys and a tag, so that clear() on it is one write, and the tags of the pool hold in it.
 *
 * Not final for the one that the profiler traces.
 *
 * What is stored: value, tags by themselves, Unix time of its end, milliseconds that it took to compute.
 *
 * @phpstan-type Stored array{0: mixed, 1?: array<array-key, mixed>, 2?: float|int, 3?: int}
 */
class LarderAdapter implements TagAwareAdapterInterface, TagAwareCacheInterface, NamespacedPoolInterface, PruneableInterface, ResettableInterface, LoggerAwareInterface
{
    use LoggerAwareTrait;

    /** Bytes of the longest key. */
    private const LONGEST = 65_000;

    /** Seconds; longer ones count as this, so that sums fit. */
    private const FOREVER = 10_000_000_000;

    protected readonly Cache $cache;

    private readonly string $group;

    /** @var \Closure(string, ?Stored): CacheItem */
    private readonly \Closure $item;

    /** @var \Closure(CacheItem): array{mixed, float|int|null, array<mixed>} value, end and metadata */
    private readonly \Closure $content;

    /** Of keys: the names of sub-namespaces, each with a colon, which no key has. */
    private string $prefix = '';

    /** @var list<string> the tags of the sub-namespaces: a colon, which no tag has, and the prefix */
    private array $spaces = [];

    /** @var array<array-key, CacheItem> */
    private array $deferred = [];

    private ?\Closure $wrapper = null;

    /**
     * The order is that of Symfony's adapters, into which CachePoolPass puts the arguments.
     *
     * @param string $namespace       of the pool in the cache
     * @param int    $defaultLifetime seconds; 0: no expiry
     */
    public function __construct(Cache $provider, string $namespace = '', private readonly int $defaultLifetime = 0)
    {
        $this->group = $namespace === '' ? 'symfony' : $namespace;
        $this->cache = $provider->group($this->group, cacheOnly: true);
        // As Symfony's adapters do: an item gives no other class access to these.
        $this->item = \Closure::bind(static function (string $key, ?array $stored): CacheItem {
            /** @var ?Stored $stored */
            $item = new CacheItem();
            $item->key = $key;
            $item->isTaggable = true;
            if ($stored !== null) {
                $item->isHit = true;
                $item->value = $stored[0];
                $item->metadata[CacheItem::METADATA_TAGS] = $stored[1] ?? [];
                if (isset($stored[2], $stored[3])) {
                    $item->metadata[CacheItem::METADATA_EXPIRY] = $stored[2];
                    $item->metadata[CacheItem::METADATA_CTIME] = $stored[3];
                }
            }

            return $item;
        }, null, CacheItem::class);
        $this->content = \Closure::bind(static function (CacheItem $item): array {
            $item->metadata = $item->newMetadata;

            return [$item->value, $item->expiry, $item->newMetadata];
        }, null, CacheItem::class);
    }

    public function __destruct()
    {
        $this->deferred === [] || $this->commit();
    }

    /** @return never */
    public function __serialize(): array
    {
        throw new \BadMethodCallException('A pool cannot be serialized; let the container make another one.');
    }

    /** @param array<mixed> $data */
    public function __unserialize(array $data): never
    {
        throw new \BadMethodCallException('A pool cannot be unserialized; let the container make another one.');
    }

    public function getItem(mixed $key): CacheItem
    {
        $id = $this->id($key);
        isset($this->deferred[$id]) && $this->commit();
        /** @var ?Stored $stored */
        $stored = $this->cache->get($id);

        return ($this->item)($key, $stored);
    }

    /** @return iterable<string, CacheItem> read in one round trip */
    public function getItems(array $keys = []): iterable
    {
        $ids = [];
        foreach ($keys as $key) {
            $ids[$this->id($key)] = $key;
        }
        \array_intersect_key($this->deferred, $ids) === [] || $this->commit();

        return $this->items($ids, $ids === [] ? [] : $this->cache->getMultiple(\array_keys($ids)));
    }

    public function hasItem(mixed $key): bool
    {
        $id = $this->id($key);
        isset($this->deferred[$id]) && $this->commit();

        return $this->cache->has($id);
    }

    /**
     * Empties the pool, or its sub-namespace, in one write; with a prefix it reads the whole cache to find the keys.
     */
    public function clear(string $prefix = ''): bool
    {
        if ($prefix !== '') {
            return $this->clearPrefix($this->prefix . $prefix);
        }
        $this->deferred = [];

        return $this->spaces === [] ? $this->cache->flush() : $this->cache->invalidateTags($this->spaces[\count($this->spaces) - 1]);
    }

    public function deleteItem(mixed $key): bool
    {
        return $this->deleteItems([$key]);
    }

    public function delete(string $key): bool
    {
        return $this->deleteItem($key);
    }

    public function deleteItems(array $keys): bool
    {
        $ids = [];
        foreach ($keys as $key) {
            $ids[] = $this->id($key);
        }
        foreach ($ids as $id) {
            unset($this->deferred[$id]);
        }

        return $ids === [] || $this->cache->deleteMultiple($ids);
    }

    public function save(CacheItemInterface $item): bool
    {
        if (!$item instanceof CacheItem) {
            return false;
        }
        $id = $this->id($item->getKey());
        unset($this->deferred[$id]);

        return $this->store([$id => $item]);
    }

    public function saveDeferred(CacheItemInterface $item): bool
    {
        if (!$item instanceof CacheItem) {
            return false;
        }
        $this->deferred[$this->id($item->getKey())] = $item;

        return true;
    }

    /** Stores the deferred items, whatever their tags and lifetimes, in one transaction or pipeline. */
    public function commit(): bool
    {
        $deferred = $this->deferred;
        $this->deferred = [];

        return $deferred === [] || $this->store($deferred);
    }

    /** Invalidates in one write, in every sub-namespace too. */
    public function invalidateTags(array $tags): bool
    {
        foreach ($tags as $tag) {
            CacheItem::validateKey($tag);
        }

        return $this->cache->invalidateTags(...\array_values($tags));
    }

    /**
     * Returns the value, or computes it: one process computes for all that miss the key at the same time. Before its end one
     * caller computes it anew, while the others get the old value: the earlier, the longer it took to compute. It is counted
     * from that time and $beta of the call that stored it.
     *
     * A callback whose first parameter is of the type Larder\Computation gets one in the place of the item, and can say with it when
     * its value is to be computed anew.
     *
     * @param ?float        $beta     1.0: twice the time that it took, rounded up to seconds; 0: this call renews nothing; INF: this
     *                                call computes in any case
     * @param ?array<mixed> $metadata set to what the item's getMetadata() tells
     */
    public function get(string $key, callable $callback, ?float $beta = null, ?array &$metadata = null): mixed
    {
        $beta ??= 1.0;
        if (!($beta >= 0)) {
            throw new InvalidArgumentException(\sprintf('$beta of get() must be 0 or more, and it is %s. Leave it out for the usual 1.0.', $beta));
        }
        $id = $this->id($key);
        isset($this->deferred[$id]) && $this->commit();
        $forced = \is_infinite($beta);
        /** @var ?Stored $stored */
        $stored = $beta > 0 ? null : $this->cache->get($id);
        if ($stored === null) {
            $stored = $forced ? $this->computeAndSave($key, $id, $callback) : $this->remember($key, $id, $callback, $beta);
        }
        if (\func_num_args() > 3) {
            $metadata = ($this->item)($key, $stored)->getMetadata();
        }

        return $stored[0];
    }

    /**
     * Wraps each computation, as FrameworkBundle's early_expiration_message_bus does.
     *
     * @return callable the wrapper before
     */
    public function setCallbackWrapper(?callable $callbackWrapper): callable
    {
        $before = $this->wrapper ?? static fn(callable $callback, CacheItem $item, bool &$save): mixed => $callback($item, $save);
        $this->wrapper = $callbackWrapper === null ? null : $callbackWrapper(...);

        return $before;
    }

    public function withSubNamespace(string $namespace): static
    {
        CacheItem::validateKey($namespace);
        $this->commit();
        $pool = clone $this;
        $pool->prefix .= "$namespace:";
        $pool->spaces[] = ":$pool->prefix";

        return $pool;
    }

    /** Nothing waits for it: the store removes expired entries as it goes. */
    public function prune(): bool
    {
        return $this->commit();
    }

    /** Stores what was deferred. The view of the cache is renewed by its own service, once for all its pools. */
    public function reset(): void
    {
        $this->commit();
    }

    /** @return list<string> */
    protected function deferredKeys(): array
    {
        return \array_map(static fn(CacheItem $item): string => $item->getKey(), \array_values($this->deferred));
    }

    /**
     * @param array<array-key, string> $ids   keys by id
     * @param array<array-key, mixed>  $found
     *
     * @return \Generator<string, CacheItem>
     */
    private function items(array $ids, array $found): \Generator
    {
        foreach ($ids as $id => $key) {
            /** @var ?Stored $stored */
            $stored = $found[$id] ?? null;
            yield $key => ($this->item)($key, $stored);
        }
    }

    /** @return Stored */
    private function remember(string $key, string $id, callable $callback, float $beta): array
    {
        $computed = null;
        try {
            /** @var Stored $stored */
            $stored = $this->cache->remember($id, function (Computation $computation) use ($key, $id, $callback, $beta, &$computed): array {
                [$computed, $ttl, $tags, $soft] = $this->compute($key, $id, $callback, $beta, $computation->isRenewal, $save);
                if (!$save || $ttl < 0) {
                    $computation->doNotStore();
                } else {
                    $computation->ttl($ttl)->tags(...$tags)->soft($soft);
                }

                return $computed;
            });

            return $stored;
        } catch (NotStorable $notStorable) {
            $this->complain($key, $notStorable);

            return $computed ?? throw $notStorable;
        }
    }

    /** @return Stored */
    private function computeAndSave(string $key, string $id, callable $callback): array
    {
        [$computed, $ttl, $tags, $soft] = $this->compute($key, $id, $callback, 1.0, true, $save);
        try {
            $save && $this->cache->set($id, $computed, $ttl, $tags, $soft);
        } catch (NotStorable $notStorable) {
            $this->complain($key, $notStorable);
        }

        return $computed;
    }

    /**
     * @param bool $isRenewal whether there may be an old value, which the callback sees in its item
     *
     * @return array{Stored, int, list<string>, int|\DateInterval} as entry(), and seconds after which it is computed anew
     */
    private function compute(string $key, string $id, callable $callback, float $beta, bool $isRenewal, mixed &$save): array
    {
        $soft = null;
        if (Computation::isNamed($callback(...))) {
            $callback = self::translated($callback(...), $soft);
        }
        /** @var ?Stored $stored */
        $stored = $isRenewal ? $this->cache->get($id) : null;
        $item = ($this->item)($key, $stored);
        $save = true;
        $start = \microtime(true);
        $value = $this->call($callback, $item, $save);
        [$stored, $ttl, $tags] = $this->entry($item->set($value), (int) \ceil(1000 * (\microtime(true) - $start)));

        return [$stored, $ttl, $tags, $soft ?? self::soft($ttl, $stored, $beta)];
    }

    /** Makes a computation, as the wrapper wants it. */
    protected function call(callable $callback, CacheItem $item, bool &$save): mixed
    {
        return $this->wrapper === null
            ? $callback($item, $save)
            : ($this->wrapper)($callback, $item, $save, $this, static function (): void {}, $this->logger, null);
    }

    /**
     * A callback that takes Larder's Computation, as one of Symfony's: what it says is said to the item.
     *
     * @param null|int|\DateInterval $soft set to what the computation says
     */
    private static function translated(\Closure $callback, int|\DateInterval|null &$soft): \Closure
    {
        return static function (CacheItem $item, bool &$save) use ($callback, &$soft): mixed {
            $computation = new Computation(null, [], null, $item->isHit());
            $value = $computation->run($callback);
            $chosen = $computation->chosen();
            if ($chosen === null) {
                $save = false;

                return $value;
            }
            [$ttl, $tags, $soft] = $chosen;
            // To Symfony the beginning of time is no expiry, and none is the pool's default.
            $ttl === 0 ? $item->expiresAt(new \DateTimeImmutable('@0')) : ($ttl === null || $item->expiresAfter($ttl));
            $item->tag($tags);

            return $value;
        };
    }

    /** @param non-empty-array<array-key, CacheItem> $items by id */
    private function store(array $items): bool
    {
        $values = $ttls = $tags = [];
        foreach ($items as $id => $item) {
            [$values[$id], $ttls[$id], $tags[$id]] = $this->entry($item);
        }
        try {
            return \count($items) === 1
                ? $this->cache->set((string) $id, $values[$id], $ttls[$id], $tags[$id], self::soft($ttls[$id], $values[$id]))
                : $this->cache->setEach($values, $ttls, $tags);
        } catch (NotStorable $notStorable) {
            if (\count($items) === 1) {
                $this->complain($items[\array_key_first($items)]->getKey(), $notStorable);

                return false;
            }
        }
        // One of them cannot be stored. The others can, one by one.
        foreach ($items as $id => $item) {
            $this->store([$id => $item]);
        }

        return false;
    }

    /** @return array{Stored, int, list<string>} what is stored of an item, seconds that it lives (0: for ever; -1: it has ended), and tags */
    private function entry(CacheItem $item, ?int $time = null): array
    {
        [$value, $end, $metadata] = ($this->content)($item);
        $now = \microtime(true);
        $end ??= $this->defaultLifetime > 0 ? $now + $this->defaultLifetime : 0;
        // As Symfony counts it.
        $ttl = $end > 0 ? (int) \min(self::FOREVER, 0.1 + $end - $now) ?: -1 : 0;
        /** @var array<mixed> $tags */
        $tags = $metadata[CacheItem::METADATA_TAGS] ?? [];
        // Where an adapter of Symfony's around this one keeps the tags, as around a chain, these are their versions.
        $own = \array_values(\array_filter($tags, \is_string(...)));
        // EarlyExpirationHandler has it in the item.
        $known = $metadata[CacheItem::METADATA_CTIME] ?? null;
        $time ??= \is_int($known) ? $known : null;
        $stored = $tags === [] ? [$value] : [$value, $tags];
        if ($ttl > 0 && $time !== null) {
            $stored = [$value, $tags, $end, $time];
        }

        return [$stored, \max(-1, $ttl), [...$own, ...$this->spaces]];
    }

    /**
     * Seconds after which one caller computes it anew; 0: never. Twice the time that it took, and a second at least, are enough
     * for a caller to come and to be done before the end.
     *
     * @param Stored $stored
     */
    private static function soft(int $ttl, array $stored, float $beta = 1.0): int
    {
        $early = isset($stored[3]) ? (int) \min(self::FOREVER, \ceil(2 * $beta * $stored[3] / 1000)) : 0;

        return $early > 0 && $early < $ttl ? $ttl - $early : 0;
    }

    private function clearPrefix(string $prefix): bool
    {
        $this->deferred = \array_filter($this->deferred, static fn(int|string $id): bool => !\str_starts_with((string) $id, $prefix), \ARRAY_FILTER_USE_KEY);
        $ids = [];
        foreach ($this->cache->entries() as $id => $entry) {
            // Not in a sub-namespace.
            if ($entry['group'] === $this->group && \str_starts_with((string) $id, $prefix) && !\str_contains(\substr((string) $id, \strlen($prefix)), ':')) {
                $ids[] = $id;
            }
        }

        return $ids === [] || $this->cache->deleteMultiple($ids);
    }

    private function complain(string $key, NotStorable $why): void
    {
        // The application's value is the first part of what is stored.
        $message = \str_replace(['stored: [0] ', 'stored: [0]'], ['stored: it ', 'stored: '], $why->getMessage());
        CacheItem::log($this->logger, 'Failed to save key "{key}": ' . $message, ['key' => $key, 'exception' => $why, 'cache-adapter' => self::class]);
    }

    /** @phpstan-assert string $key */
    private function id(mixed $key): string
    {
        $id = $this->prefix . CacheItem::validateKey($key);

        return \strlen($id) <= self::LONGEST ? $id
            : throw new InvalidArgumentException(\sprintf('A cache key has at most %d bytes, and this one has %d. Hash it, for example with hash(\'xxh128\', $key).', self::LONGEST, \strlen($id)));
    }
}
