<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Cache\TaggableStore;
use Illuminate\Contracts\Cache\LockProvider;
use Larder\Cache;
use Larder\Codec\NotStorable;

/**
 * A group of Larder's cache as a store of Laravel's.
 *
 * Its increments and add() are atomic across processes and servers. They are entries of a cache nevertheless, which may be
 * evicted; locks are not.
 *
 * As in all stores of Laravel's a null is no value. A value with an object whose class cache.serializable_classes does not
 * allow is not stored, and one that was stored is missing: no object is made of it, not even one that cannot be used.
 */
class LarderStore extends TaggableStore implements LockProvider
{
    /** Times that a tagged counter is tried anew after others have made or removed it meanwhile. */
    private const TRIES = 100;

    /** The prefix's group of $all. */
    private Cache $cache;

    /** @param list<string> $tags of everything that this object stores */
    final public function __construct(private readonly Cache $all, private readonly LockPlace $locks, private string $prefix, private readonly array $tags = [])
    {
        $this->setPrefix($prefix);
    }

    /** @param string $key */
    public function get($key): mixed
    {
        return $this->cache->get((string) $key);
    }

    /**
     * @param array<array-key, string> $keys
     *
     * @return array<array-key, mixed>
     */
    public function many(array $keys): array
    {
        return \array_replace(\array_fill_keys($keys, null), $this->cache->getMultiple($keys));
    }

    /**
     * @param string $key
     * @param mixed  $value
     * @param int    $seconds at least 1
     *
     * @throws NotStorable
     */
    public function put($key, $value, $seconds): bool
    {
        return $this->set((string) $key, $value, \max(1, (int) $seconds));
    }

    /**
     * @param array<array-key, mixed> $values
     * @param int                     $seconds at least 1
     *
     * @throws NotStorable
     */
    public function putMany(array $values, $seconds): bool
    {
        try {
            return $this->cache->setMultiple($values, \max(1, (int) $seconds), $this->tags);
        } catch (NotStorable) {
            // One of them: the others are stored, as in Laravel's stores.
            $isDone = true;
            foreach ($values as $key => $value) {
                $isDone = $this->put((string) $key, $value, $seconds) && $isDone;
            }

            return $isDone;
        }
    }

    /**
     * Stores the value if the key has none. Laravel calls it where a store has it.
     *
     * @param string $key
     * @param mixed  $value
     * @param int    $seconds at least 1
     *
     * @throws NotStorable
     */
    public function add($key, $value, $seconds): bool
    {
        try {
            return $this->cache->add((string) $key, $value, \max(1, (int) $seconds), $this->tags);
        } catch (NotStorable $refusal) {
            return $this->refuse((string) $key, $refusal);
        }
    }

    /**
     * @param string     $key
     * @param int|string $value
     *
     * @return int|false the sum; false: the value is no number
     */
    public function increment($key, $value = 1): int|false
    {
        return $this->count((string) $key, (int) $value);
    }

    /**
     * As increment(), for the rate limiter: makes the counter in the same step, if there is none.
     *
     * @param int $seconds for which a new counter lives
     */
    public function hit(string $key, int $by, int $seconds): int|false
    {
        return $this->cache->increment($key, $by, 0, $seconds);
    }

    /**
     * @param string     $key
     * @param int|string $value
     */
    public function decrement($key, $value = 1): int|false
    {
        return $this->count((string) $key, -(int) $value);
    }

    /**
     * @param string $key
     * @param mixed  $value
     *
     * @throws NotStorable
     */
    public function forever($key, $value): bool
    {
        return $this->set((string) $key, $value, 0);
    }

    /**
     * Gives a value another time to live. Laravel 13 asks for it.
     *
     * @param string $key
     * @param int    $seconds at least 1
     */
    public function touch($key, $seconds): bool
    {
        return $this->cache->touch((string) $key, \max(1, (int) $seconds));
    }

    /**
     * @param string $key
     *
     * @return bool true also if there was no value
     */
    public function forget($key): bool
    {
        return $this->cache->delete((string) $key);
    }

    /** Empties the application's cache, in constant time. Another one with another prefix keeps its own. */
    public function flush(): bool
    {
        return $this->cache->flush();
    }

    public function getPrefix(): string
    {
        return $this->prefix;
    }

    /**
     * From now on this store's keys and locks are another application's. Packages for several tenants call it.
     *
     * @param string $prefix
     */
    public function setPrefix($prefix): void
    {
        $this->prefix = (string) $prefix;
        $this->cache = $this->prefix === '' ? $this->all : $this->all->group($this->prefix);
    }

    /** @param mixed $names */
    public function tags($names): LarderTaggedCache
    {
        $names = \array_map(static fn(mixed $name): string => match (true) {
            $name instanceof \BackedEnum => (string) $name->value,
            $name instanceof \UnitEnum => $name->name,
            \is_scalar($name) => (string) $name,
            default => throw new \InvalidArgumentException('A tag is a string. Write for example tags(["people", "authors"]).'),
        }, \array_values(\is_array($names) ? $names : \func_get_args()));
        $store = new static($this->all, $this->locks, $this->prefix, $names);
        // Whoever keeps the tags' object works with this store's prefix, also when setPrefix() has changed it.
        $store->prefix = &$this->prefix;
        $store->cache = &$this->cache;

        return new LarderTaggedCache($store, new LarderTagSet($store, $names));
    }

    /** @param list<string> $names */
    public function invalidate(array $names): bool
    {
        return $this->cache->invalidateTags(...$names);
    }

    /**
     * Returns the value, or lets one of all processes compute it.
     *
     * @param \Closure(): mixed $compute
     * @param int               $seconds 0: for ever
     * @param int               $soft    seconds after which $compute is asked for another one while there is the old one; 0: never
     */
    public function remember(string $key, \Closure $compute, int $seconds, int $soft = 0): mixed
    {
        return $this->cache->remember($key, $compute, $seconds, $this->tags, $soft);
    }

    /** Stores what has been computed within remember(), at once, unless somebody has changed the key meanwhile. */
    public function keep(string $key, mixed $value, int $seconds): void
    {
        $this->cache->fill($key, $value, $seconds, $this->tags);
        $this->cache->writeFills();
    }

    /**
     * Tells the application of an object that may not be stored.
     *
     * @throws NotStorable anything else that cannot be stored
     */
    public function refuse(string $key, NotStorable $refusal): false
    {
        $class = $refusal->class ?? throw $refusal;
        // A tagged key has its tags' hash before it.
        LarderRepository::refuse($this->tags === [] ? $key : (\explode(':', $key, 2)[1] ?? $key), $class);

        return false;
    }

    /** The next call reads the key anew. */
    public function look(string $key): void
    {
        $this->cache->forget($key);
    }

    /**
     * @param string  $name
     * @param int     $seconds
     * @param ?string $owner
     */
    public function lock($name, $seconds = 0, $owner = null): LarderLock
    {
        return new LarderLock($this->locks, $this->prefix, $name, $seconds, $owner);
    }

    /**
     * @param string $name
     * @param string $owner
     */
    public function restoreLock($name, $owner): LarderLock
    {
        return $this->lock($name, 0, $owner);
    }

    /** Releases the application's locks. */
    public function flushLocks(): bool
    {
        $this->locks->locks()->clear($this->prefix);

        return true;
    }

    /** flush() leaves them alone. */
    public function hasSeparateLockStore(): bool
    {
        return true;
    }

    private function set(string $key, mixed $value, int $seconds): bool
    {
        try {
            return $this->cache->set($key, $value, $seconds, $this->tags);
        } catch (NotStorable $refusal) {
            $isStored = $this->refuse($key, $refusal);
            // Nobody gets the value that this one was to replace.
            $this->cache->delete($key);

            return $isStored;
        }
    }

    private function count(string $key, int $by): int|false
    {
        // Cache::increment() would make a missing one without tags.
        if ($this->tags === []) {
            $sum = $this->cache->increment($key, $by);
            if ($sum !== false) {
                return $sum;
            }
        }
        for ($try = 0; $try < self::TRIES; ++$try) {
            // A number as text counts too, as in Laravel's stores.
            $isNumber = true;
            $sum = $this->cache->update($key, static function (mixed $there) use ($by, &$isNumber): ?int {
                if (!\is_numeric($there)) {
                    $isNumber = false;

                    return null;
                }
                $sum = (int) $there + $by;
                // Beyond 64 bits it is a float.
                $isNumber = $sum - $by === (int) $there;

                return $isNumber ? $sum : null;
            });
            if (\is_int($sum) || !$isNumber) {
                return \is_int($sum) ? $sum : false;
            }
            if ($this->cache->add($key, $by, 0, $this->tags)) {
                return $by;
            }
        }

        return false;
    }
}
