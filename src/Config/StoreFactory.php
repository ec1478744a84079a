<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\Driver\Redis\ClusterPrimary;
use Larder\Driver\Redis\Endpoint;
use Larder\Driver\Redis\PhpRedisConnection;
use Larder\Driver\Redis\PredisConnection;
use Larder\Driver\Redis\SentinelPrimary;
use Larder\Store\File\FileStore;
use Larder\Store\Memcached\MemcachedStore;
use Larder\Store\MemoryStore;
use Larder\Store\Redis\RedisStore;
use Larder\Store\Redis\Watermark;
use Larder\Store\Sqlite\SqliteStore;
use Larder\Store\Store;
use Larder\System\Failure;
use Larder\System\Ownership;
use Larder\System\WrongUser;

/** Builds the engine that a DSN names. Checks and makes directories; sends nothing to servers yet. */
final class StoreFactory
{
    /**
     * @param ?string $prepared a directory that the caller has just checked
     *
     * @throws InvalidConfiguration
     * @throws WrongUser
     * @throws Failure if a directory cannot be created now
     */
    public static function make(Dsn $dsn, Options $options, ?string $prepared = null): Store
    {
        switch ($dsn->scheme) {
            case 'sqlite':
            case 'file':
                $directory = self::directory($dsn, $options);
                $directory === $prepared || Directory::prepare($directory);
                \PHP_SAPI === 'cli' || \is_file(__DIR__ . '/../../classes/store.php') && require __DIR__ . '/../../classes/store.php';

                return $dsn->scheme === 'sqlite'
                    ? new SqliteStore($directory, $options->budget, $options->timeout)
                    : new FileStore($directory, $options->budget, $options->timeout);
            case 'memory':
                return new MemoryStore($options->nearBudget);
            case 'memcached':
                return new MemcachedStore($dsn->servers, $options->prefix, $options->timeout);
            default:
                \PHP_SAPI === 'cli' || \is_file(__DIR__ . '/../../classes/redis.php') && require __DIR__ . '/../../classes/redis.php';

                $prefix = $dsn->hasSlots() ? '{' . $options->prefix . '}' : $options->prefix;

                $mark = $dsn->isSingle() ? new Watermark(($prepared ?? self::runtime($options)) . '/watermark-' . \substr(\md5($dsn->toString() . " $options->prefix"), 0, 8), $options->timeout) : null;

                return new RedisStore(self::redis($dsn, $options->timeout, tag: $options->prefix, runtime: $prepared, credentials: $options->credentials), $prefix, $options->confirms ?? $dsn->servers !== [], $mark);
        }
    }

    /**
     * The directory of a sqlite or file tier. The default prefix uses the configured directory, every other prefix one of
     * its own, so that no site can read another's keys.
     */
    public static function directory(Dsn $dsn, Options $options): string
    {
        $path = $dsn->path === '' ? Directory::default() : $dsn->path;

        return $options->prefix === Options::PREFIX ? $path : $path . '/prefix-' . $options->prefix;
    }

    /**
     * The directory for lock files and pending invalidations: the disk tier's, or else the user's own. Makes it if it is
     * missing.
     *
     * @throws InvalidConfiguration
     * @throws WrongUser
     * @throws Failure if it cannot be created now, or if it is the default and belongs to another user
     */
    public static function runtime(Options $options): string
    {
        if ($options->disk !== null) {
            $path = self::directory($options->disk, $options);
            Ownership::isPrivate($path) || Directory::prepare($path);

            return $path;
        }
        $path = Directory::default();
        try {
            Directory::prepare($path);
        } catch (InvalidConfiguration|WrongUser $e) {
            throw Failure::because('directory', $e->getMessage());
        }

        return $path;
    }

    /** A directory in which one process notes for others where the primary is; null: there is none, or nothing to note. */
    public static function notes(Dsn $dsn): ?string
    {
        if ($dsn->servers === []) {
            return null;
        }
        $path = Directory::default();
        try {
            Directory::prepare($path);
        } catch (Failure|InvalidConfiguration|WrongUser) {
            return null;
        }

        return $path;
    }

    /**
     * A connection to Redis by its extension or, if that is not loaded, by Predis.
     *
     * @param float                  $timeout     seconds for a call, connecting included: see Connection::begin()
     * @param bool                   $isKept      whether PHP keeps the connection for its process's next request
     * @param string                 $tag         of a cluster: what stands between { and } in the names of keys
     * @param ?string                $runtime     a private directory for notes; null: none
     * @param ?\Closure(): mixed     $credentials see Options
     * @param bool                   $persists    whether a server without an append-only file is refused
     */
    public static function redis(Dsn $dsn, float $timeout, bool $isKept = false, string $tag = '', ?string $runtime = null, ?\Closure $credentials = null, bool $persists = false): PhpRedisConnection|PredisConnection
    {
        $endpoint = new Endpoint(
            host: $dsn->host,
            port: $dsn->port,
            socket: $dsn->path === '' ? null : $dsn->path,
            db: $dsn->db,
            user: $dsn->user,
            password: $dsn->password,
            tls: $dsn->isTls(),
            timeout: $timeout,
            isKept: $isKept,
            credentials: $credentials,
            persists: $persists,
            isSingle: $dsn->isSingle(),
            cafile: $dsn->cafile,
            peerName: $dsn->peerName,
        );
        $primary = null;
        if ($dsn->servers !== []) {
            $file = $runtime === null ? null : $runtime . '/primary-' . \substr(\md5($dsn->toString() . ' ' . ($dsn->hasSlots() ? $tag : '')), 0, 8);
            $primary = $dsn->hasSlots() ? new ClusterPrimary($dsn->servers, $file, $tag)
                : new SentinelPrimary($dsn->servers, $file, $dsn->master, $dsn->sentinelUser, $dsn->sentinelPassword);
        }
        if (\str_starts_with($dsn->scheme, 'redis') && \extension_loaded('redis')) {
            return new PhpRedisConnection($endpoint, $primary);
        }

        return new PredisConnection($endpoint, $primary);
    }

    /**
     * Distinguishes this cache from others in the same APCu, which all pools of a php-fpm master share. Covers the user,
     * since the lock file is the user's, and the truth tier, since a near tier before another truth tier must start empty.
     */
    public static function mark(Options $options): string
    {
        $truth = $options->truth;

        return self::markOf($options->prefix, Dsn::TIERS[$truth->scheme] === 'disk' ? self::directory($truth, $options) : $truth->place(), Ownership::user());
    }

    /** The same for a caller that knows the truth tier's directory or name. */
    public static function markOf(string $prefix, string $place, int $user): string
    {
        return \substr(\md5("$user $prefix $place"), 0, 8);
    }
}
