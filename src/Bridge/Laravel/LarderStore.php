<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Cache\TaggableStore;
use Illuminate\Contracts\Cache\LockProvider;
use Larder\Cache;
use Larder\Codec\NotStorable;
use Larder\Request\InvalidKey;

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

    /** Bytes; what is longer is stored under its hash. A tagged one has 41 before it. */
    private const LONGEST_KEY = 65_000;

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
        return $this->cache->get(self::key($key));
    }

    /**
     * @param array<array-key, string> $keys
     *
     * @return array<array-key, mixed>
     */
    public function many(array $keys): array
    {
        try {
            return \array_replace(\array_fill_keys($keys, null), $this->cache->getMultiple($keys));
        } catch (InvalidKey) {
            return \array_combine($keys, \array_map($this->get(...), $keys));
        }
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
            if (!\in_array(null, $values, true)) {
                return $this->cache->setMultiple($values, \max(1, (int) $seconds), $this->tags);
            }
        } catch (NotStorable|InvalidKey) {
            // One of them: the others are stored, as in Laravel's stores.
        }
        $isDone = true;
        foreach ($values as $key => $value) {
            $isDone = $this->put((string) $key, $value, $seconds) && $isDone;
        }

        return $isDone;
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
        if ($value === null) {
            return $this->get($key) === null;
        }
        try {
            return $this->cache->add(self::key($key), $value, \max(1, (int) $seconds), $this->tags);
        } catch (NotStorable $refusal) {
            return $this->refuse((string) $key, $refusal);
        }
    }

    /**
     * @param string           $key
     * @param int|float|string $value
     *
     * @return int|float|false the sum; false: the value is no number, or the sum would be none of 64 bits
     */
    public function increment($key, $value = 1): int|float|false
    {
        return $this->count(self::key($key), self::number($value));
    }

    /**
     * As increment(), for the rate limiter: makes the counter in the same step, if there is none.
     *
     * @param int $seconds for which a new counter lives
     */
    public function hit(string $key, int $by, int $seconds): int|false
    {
        return $this->cache->increment(self::key($key), $by, 0, $seconds);
    }

    /**
     * @param string           $key
     * @param int|float|string $value
     */
    public function decrement($key, $value = 1): int|float|false
    {
        return $this->count(self::key($key), -self::number($value));
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
        return $this->cache->touch(self::key($key), \max(1, (int) $seconds));
    }

    /**
     * @param string $key
     *
     * @return bool true also if there was no value
     */
    public function forget($key): bool
    {
        return $this->cache->delete(self::key($key));
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
        // A caller that keeps the tags' object works with this store's prefix, also when setPrefix() has changed it.
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
        return $this->cache->remember(self::key($key), $compute, $seconds, $this->tags, $soft);
    }

    /** Stores what has been computed within remember(), at once, unless the key was changed meanwhile. */
    public function keep(string $key, mixed $value, int $seconds): void
    {
        $this->cache->fill(self::key($key), $value, $seconds, $this->tags);
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
        $this->cache->forget(self::key($key));
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
        if ($value === null) {
            return $this->cache->delete(self::key($key));
        }
        try {
            return $this->cache->set(self::key($key), $value, $seconds, $this->tags);
        } catch (NotStorable $refusal) {
            $isStored = $this->refuse($key, $refusal);
            // No reader gets the value that this one was to replace.
            $this->cache->delete(self::key($key));

            return $isStored;
        }
    }

    /** Laravel's stores take the empty key too (a config value that is missing), and one of any length. */
    private static function key(int|string $key): string
    {
        $key = (string) $key;

        return $key !== '' && \strlen($key) <= self::LONGEST_KEY ? $key : "\0" . \hash('sha256', $key);
    }

    private static function number(mixed $by): int|float
    {
        $by = \is_numeric($by) ? $by + 0 : 0;

        return (float) (int) $by === (float) $by ? (int) $by : $by;
    }

    private function count(string $key, int|float $by): int|float|false
    {
        // Cache::increment() would make a missing one without tags.
        if ($this->tags === [] && \is_int($by)) {
            $sum = $this->cache->increment($key, $by);
            if ($sum !== false) {
                return $sum;
            }
        }
        for ($try = 0; $try < self::TRIES; ++$try) {
            // A number as text counts too, as in Laravel's stores.
            $isNumber = true;
            $sum = $this->cache->update($key, static function (mixed $there) use ($by, &$isNumber): int|float|null {
                if (!\is_numeric($there)) {
                    $isNumber = false;

                    return null;
                }
                $there += 0;
                $sum = $there + $by;
                // A whole number does not become a float of more than 64 bits.
                $isNumber = \is_int($sum) || (\is_float($there) ? \is_finite($sum) : \is_float($by) && \abs($sum) < \PHP_INT_MAX);

                return $isNumber ? $sum : null;
            });
            if (\is_int($sum) || \is_float($sum) || !$isNumber) {
                return \is_int($sum) || \is_float($sum) ? $sum : false;
            }
            if ($this->cache->add($key, $by, 0, $this->tags)) {
                return $by;
            }
        }

        return false;
    }
}
