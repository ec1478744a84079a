<?php

declare(strict_types=1);

namespace Larder\Psr;

use Larder\Cache;
use Larder\Codec\NotStorable;
use Psr\SimpleCache\CacheInterface;

/**
 * PSR-16 3.0 over Cache.
 *
 * This folder holds the adapters to the two PHP-FIG cache interfaces, SimpleCache (PSR-16) and CacheItemPool (PSR-6), and
 * the rules they share. They translate arguments and results, and keep only deferred items. Cache decides which value is
 * stored and for how long.
 *
 * Each adapter has a group of its own in the given Cache: all SimpleCaches over equal Caches share their values, and
 * clear() empties these only. PSR-16 section 2.1 wants other instances to be "logically independent": the native
 * interface and CacheItemPool do not see them. For several independent collections pass several groups, as in
 * new SimpleCache($cache->group('feeds')).
 */
final class SimpleCache implements CacheInterface
{
    private readonly Cache $cache;

    /**
     * @param bool $databaseBehind true: the values are computed from a database that the application changes before the cache,
     *                             so a set that another request's change has overtaken drops the key; false: the last set
     *                             wins. Adapters with true and with false do not share values.
     */
    public function __construct(Cache $cache, bool $databaseBehind = false)
    {
        $this->cache = $databaseBehind
            ? $cache->group('psr-16-database')
            : $cache->group('psr-16', cacheOnly: true);
    }

    /**
     * A stored null looks like a miss (section 1.2). has(), or a default of your own, tells them apart.
     *
     * @param mixed $key
     *
     * @throws InvalidArgument
     */
    public function get(mixed $key, mixed $default = null): mixed
    {
        return $this->cache->get(Rules::key($key), $default);
    }

    /**
     * Stores a value; other processes see it when this returns.
     *
     * @param mixed $key
     * @param mixed $ttl null|int|\DateInterval, in seconds; zero or less deletes the key; null: the default of the given Cache
     *
     * @throws InvalidArgument also for a value that cannot be serialized ("must be serializable"): nothing is changed
     */
    public function set(mixed $key, mixed $value, mixed $ttl = null): bool
    {
        $key = Rules::key($key);
        $seconds = Rules::ttl($ttl);
        // Zero means "no expiry" in Cache, and "expired" here.
        if ($seconds !== null && $seconds <= 0) {
            return $this->cache->delete($key);
        }
        try {
            return $this->cache->set($key, $value, $seconds);
        } catch (NotStorable $e) {
            throw InvalidArgument::value($e);
        }
    }

    /**
     * Returns true also if there was nothing to delete.
     *
     * @param mixed $key
     *
     * @throws InvalidArgument
     */
    public function delete(mixed $key): bool
    {
        return $this->cache->delete(Rules::key($key));
    }

    public function clear(): bool
    {
        return $this->cache->flush();
    }

    /**
     * @param mixed $keys iterable<string>
     *
     * @return iterable<string, mixed> every key once, in the order given; an array unless one of the keys would be
     *                                 an integer there
     *
     * @throws InvalidArgument
     */
    public function getMultiple(mixed $keys, mixed $default = null): iterable
    {
        $keys = Rules::keys($keys);
        $found = $keys === [] ? [] : $this->cache->getMultiple($keys);
        $pairs = [];
        foreach ($keys as $key) {
            $pairs[$key] = \array_key_exists($key, $found) ? $found[$key] : $default;
        }

        return Pairs::of($pairs);
    }

    /**
     * @param mixed $values iterable<string, mixed>; all are checked before the first is stored
     * @param mixed $ttl    null|int|\DateInterval, in seconds; zero or less deletes the keys
     *
     * @throws InvalidArgument also for a value that cannot be serialized ("if any of the $values are not a legal value")
     */
    public function setMultiple(mixed $values, mixed $ttl = null): bool
    {
        $values = Rules::values($values);
        $seconds = Rules::ttl($ttl);
        if ($values === []) {
            return true;
        }
        if ($seconds !== null && $seconds <= 0) {
            return $this->cache->deleteMultiple(\array_map(\strval(...), \array_keys($values)));
        }
        try {
            return $this->cache->setMultiple($values, $seconds);
        } catch (NotStorable $e) {
            throw InvalidArgument::value($e);
        }
    }

    /**
     * @param mixed $keys iterable<string>
     *
     * @throws InvalidArgument
     */
    public function deleteMultiple(mixed $keys): bool
    {
        $keys = Rules::keys($keys);

        return $keys === [] || $this->cache->deleteMultiple($keys);
    }

    /**
     * @param mixed $key
     *
     * @throws InvalidArgument
     */
    public function has(mixed $key): bool
    {
        return $this->cache->has(Rules::key($key));
    }
}
