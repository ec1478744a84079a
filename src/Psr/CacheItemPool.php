<?php

declare(strict_types=1);

namespace Larder\Psr;

use Larder\Cache;
use Larder\Codec\Codec;
use Larder\Codec\NotStorable;
use Larder\Codec\Undecodable;
use Larder\System\Clock;
use Larder\System\Fork;
use Psr\Cache\CacheItemInterface;
use Psr\Cache\CacheItemPoolInterface;

/**
 * PSR-6 3.0 over Cache.
 *
 * All pools over equal Caches share their items; SimpleCache and the native interface do not see them (SimpleCache
 * says why, and how to have several pools).
 *
 * Deferred items belong to this pool object until commit() or its destructor: only its own methods see them. A later save,
 * delete or clear of the same key replaces them, and a forked child does not save its parent's.
 */
final class CacheItemPool implements CacheItemPoolInterface
{
    private readonly Cache $cache;

    /** The default that Cache::get() returns for a miss; a stored null is a hit. */
    private readonly object $miss;

    private readonly Codec $codec;

    /** @var array<array-key, array{string, ?int}> the values, encoded, so that later changes of their objects do not change them; and expiries */
    private array $deferred = [];

    /** The process whose deferred items these are. */
    private int $process = 0;

    /** @param bool $databaseBehind see SimpleCache::__construct() */
    public function __construct(Cache $cache, bool $databaseBehind = false)
    {
        $this->cache = $databaseBehind
            ? $cache->group('psr-6-database')
            : $cache->group('psr-6', cacheOnly: true);
        $this->miss = new \stdClass();
        $this->codec = Codec::create(null, null);
    }

    /** Saves the deferred items ("MUST ensure that any deferred cache items are eventually persisted"). */
    public function __destruct()
    {
        $this->commit();
    }

    /**
     * @param mixed $key
     *
     * @throws InvalidArgument
     */
    public function getItem(mixed $key): CacheItem
    {
        $key = Rules::key($key);
        if ($this->deferred !== [] && ($waiting = $this->waiting($key)) !== null) {
            return $waiting;
        }
        $value = $this->cache->get($key, $this->miss);

        return $value === $this->miss ? new CacheItem($key, null, false) : new CacheItem($key, $value, true);
    }

    /**
     * @param array<mixed> $keys strings
     *
     * @return iterable<string, CacheItem> every key once, in the order given; an array unless one of the keys would
     *                                     be an integer there
     *
     * @throws InvalidArgument
     */
    public function getItems(array $keys = []): iterable
    {
        $items = [];
        $asked = [];
        foreach (Rules::keys($keys) as $key) {
            $waiting = $this->waiting($key);
            $items[$key] = $waiting ?? new CacheItem($key, null, false);
            if ($waiting === null) {
                $asked[] = $key;
            }
        }
        foreach ($asked === [] ? [] : $this->cache->getMultiple($asked) as $key => $value) {
            $items[$key] = new CacheItem((string) $key, $value, true);
        }

        return Pairs::of($items);
    }

    /**
     * @param mixed $key
     *
     * @throws InvalidArgument
     */
    public function hasItem(mixed $key): bool
    {
        $key = Rules::key($key);

        return $this->waiting($key)?->isHit() ?? $this->cache->has($key);
    }

    /** Empties this pool only, and drops its deferred items. */
    public function clear(): bool
    {
        $this->deferred = [];

        return $this->cache->flush();
    }

    /**
     * Returns true also if there was nothing to delete.
     *
     * @param mixed $key
     *
     * @throws InvalidArgument
     */
    public function deleteItem(mixed $key): bool
    {
        $key = Rules::key($key);
        unset($this->deferred[$key]);

        return $this->cache->delete($key);
    }

    /**
     * @param array<mixed> $keys strings
     *
     * @throws InvalidArgument
     */
    public function deleteItems(array $keys): bool
    {
        $keys = Rules::keys($keys);
        foreach ($keys as $key) {
            unset($this->deferred[$key]);
        }

        return $keys === [] || $this->cache->deleteMultiple($keys);
    }

    /**
     * Stores the item; other processes see it when this returns. Deletes an expired item.
     *
     * Returns false also for a value that cannot be serialized: PSR-6 has no exception for it ("False if there was an
     * error"). The stored value then stays.
     *
     * @throws InvalidArgument an item of another library
     */
    public function save(CacheItemInterface $item): bool
    {
        $item = self::own($item);
        $key = $item->getKey();
        $ttl = self::ttl($item->expiry());
        try {
            $done = $ttl !== null && $ttl < 0 ? $this->cache->delete($key) : $this->cache->set($key, $item->get(), $ttl);
        } catch (NotStorable) {
            return false;
        }
        unset($this->deferred[$key]);

        return $done;
    }

    /**
     * @return bool false for a value that cannot be serialized; an item deferred before under its key then stays
     *
     * @throws InvalidArgument an item of another library
     */
    public function saveDeferred(CacheItemInterface $item): bool
    {
        $item = self::own($item);
        try {
            $deferred = [$this->codec->encode($item->get()), $item->expiry()];
        } catch (NotStorable) {
            return false;
        }
        $this->forget();
        $this->deferred[$item->getKey()] = $deferred;

        return true;
    }

    /**
     * Saves the deferred items by one Cache::setEach().
     *
     * An item that could not be saved is dropped: if the pool kept it, it would go on to serve it, and later bury newer
     * values with it.
     */
    public function commit(): bool
    {
        $this->forget();
        $deferred = $this->deferred;
        $this->deferred = [];
        $done = true;
        $values = $ttls = [];
        foreach ($deferred as $key => [$data, $expiry]) {
            try {
                $values[$key] = $this->codec->decode($data);
                $ttl = self::ttl($expiry);
                $ttl === null || $ttls[$key] = $ttl;
            } catch (Undecodable) {
                $done = false;
            }
        }

        return $this->store($values, $ttls) && $done;
    }

    /**
     * Refuses to serialize a pool: one made from an attacker's bytes would write to the cache in its destructor.
     *
     * @return never
     */
    public function __serialize(): array
    {
        throw new \LogicException('A cache pool cannot be serialized; serialize what it was made from.');
    }

    /** @param array<mixed> $data */
    public function __unserialize(array $data): never
    {
        throw new \LogicException('A cache pool cannot be unserialized; make a new one.');
    }

    /**
     * @param array<array-key, mixed> $values
     * @param array<array-key, int>   $ttls
     */
    private function store(array $values, array $ttls): bool
    {
        try {
            return $this->cache->setEach($values, $ttls);
        } catch (NotStorable) {
            // One value was storable when it was deferred and no longer is: save the others one by one.
            if (\count($values) > 1) {
                foreach ($values as $key => $value) {
                    $this->store([$key => $value], $ttls);
                }
            }

            return false;
        }
    }

    /** Drops the deferred items in a forked child: they are its parent's. */
    private function forget(): void
    {
        $process = Fork::pid();
        if ($process !== $this->process) {
            $this->process = $process;
            $this->deferred = [];
        }
    }

    /** The item that waits for commit(), a miss if it has expired meanwhile; null: none waits. */
    private function waiting(string $key): ?CacheItem
    {
        $this->forget();
        [$data, $expiry] = $this->deferred[$key] ?? [null, null];
        if ($data === null) {
            return null;
        }
        if ((self::ttl($expiry) ?? 0) >= 0) {
            try {
                return new CacheItem($key, $this->codec->decode($data), true);
            } catch (Undecodable) {
                // "MUST respond with a cache miss rather than corrupted data"
            }
        }

        return new CacheItem($key, null, false);
    }

    /**
     * Seconds for Cache::set(); null: none is given; negative: expired. Rounded up to the whole seconds of both PSRs: an item that
     * lives for one second must not expire because a millisecond has passed between expiresAfter() and save().
     *
     * @param ?int $expiry milliseconds since 1970
     */
    private static function ttl(?int $expiry): ?int
    {
        if ($expiry === null) {
            return null;
        }
        $milliseconds = $expiry - Clock::now();

        return $milliseconds <= 0 ? -1 : \intdiv($milliseconds + 999, 1000);
    }

    /** @throws InvalidArgument */
    private static function own(CacheItemInterface $item): CacheItem
    {
        return $item instanceof CacheItem ? $item : throw InvalidArgument::item($item);
    }
}
