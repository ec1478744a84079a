<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Need;
use Larder\Lab\Plan\Subject;

/**
 * The subjects of the scenario `engines`: each engine by each way to it with each serializer, whether it can be
 * measured here or not. A new engine is a method here and a driver beside it.
 */
final class EngineSubjects
{
    private const SERIALIZERS = ['php', 'igbinary', 'msgpack'];
    private const CONNECTIONS = [Cell::SOCKET, Cell::TCP, Cell::NETWORK];

    /**
     * PHP's settings for all alike, so that no engine gains by another's. Memory is only used when it is needed; what
     * OPcache is given is what some thousand files take, of which one that did not fit would be compiled at each read.
     */
    private const INI = [
        'memory_limit' => '1G',
        'display_errors' => 'stderr',
        'apc.enable_cli' => 1,
        'apc.shm_size' => '256M',
        'opcache.enable' => 1,
        'opcache.enable_cli' => 1,
        'opcache.memory_consumption' => 512,
        'opcache.max_accelerated_files' => 100_000,
        // memcached's own, in case a php.ini says otherwise.
        'memcached.compression_threshold' => 2_000,
        'memcached.compression_factor' => '1.3',
    ];

    /** @return list<Subject> */
    public static function all(): array
    {
        $subjects = [self::lookup(), self::larderRequest(), self::opcache()];
        foreach (self::SERIALIZERS as $serializer) {
            $subjects[] = self::apcu($serializer);
            $subjects[] = self::files($serializer);
            $subjects[] = self::larderApcu($serializer);
            $subjects[] = self::larderSegment($serializer);
            $subjects[] = self::larderDisk('larder-sqlite', 'sqlite', $serializer, [self::sqlite()]);
            $subjects[] = self::larderDisk('larder-files', 'files', $serializer, []);
        }
        foreach (self::CONNECTIONS as $connection) {
            // As both come; they take strings only.
            $subjects[] = self::redis('redis', $connection, 'none', PhpRedisDriver::class, [Need::extension('redis')]);
            $subjects[] = self::redis('predis', $connection, 'none', PredisDriver::class, [self::predis()]);
            foreach (self::SERIALIZERS as $serializer) {
                $subjects[] = self::redis('redis', $connection, $serializer, PhpRedisDriver::class, [Need::extension('redis')]);
                $subjects[] = self::redis('predis', $connection, $serializer, PredisDriver::class, [self::predis()]);
                $subjects[] = self::memcached($connection, $serializer, true);
                $subjects[] = self::memcached($connection, $serializer, false);
                $subjects[] = self::larderFar('redis', $connection, $serializer, [Need::extension('redis')]);
                $subjects[] = self::larderFar('predis', $connection, $serializer, [self::predis()]);
                $subjects[] = self::larderFar('memcached', $connection, $serializer, []);
                $subjects[] = self::valkey($connection, $serializer);
            }
        }

        return $subjects;
    }

    /** No engine: what the request tier is compared with. */
    private static function lookup(): Subject
    {
        return self::inProcess('lookup', 'none', LookupDriver::class, []);
    }

    private static function apcu(string $serializer): Subject
    {
        return self::inProcess('apcu', $serializer, ApcuDriver::class, [self::apcuItself()], [], ['apc.serializer' => $serializer]);
    }

    private static function files(string $serializer): Subject
    {
        return self::inProcess('files', $serializer, FilesDriver::class, []);
    }

    private static function opcache(): Subject
    {
        return self::inProcess('opcache', 'none', OpcacheDriver::class, [Need::extension('Zend OPcache', self::package('opcache'))]);
    }

    /** The request tier by itself, with nothing below it but this process's own memory; a sample (350) is whole turns of its keys. */
    private static function larderRequest(): Subject
    {
        return self::inProcess('larder-request', 'none', LarderDriver::class, [], ['scheme' => 'memory', 'tier' => 'request', 'near_budget' => '256M', 'distinct' => 70]);
    }

    private static function larderApcu(string $serializer): Subject
    {
        return self::inProcess(
            'larder-apcu',
            $serializer,
            LarderDriver::class,
            [self::apcuItself(), self::sqlite()],
            ['scheme' => 'sqlite', 'near' => 'apcu', 'tier' => 'near'] + self::larder('larder-apcu', $serializer),
            // Larder gives APCu strings, and long ones in a small array of its own, which this is for.
            ['apc.serializer' => $serializer],
        );
    }

    private static function larderSegment(string $serializer): Subject
    {
        return self::inProcess(
            'larder-segment',
            $serializer,
            LarderDriver::class,
            [LarderExtension::need(), self::sqlite()],
            ['scheme' => 'sqlite', 'shared' => 1, 'tier' => 'near'] + self::larder('larder-segment', $serializer),
            LarderExtension::ini(),
        );
    }

    /** @param list<Need> $needs */
    private static function larderDisk(string $engine, string $scheme, string $serializer, array $needs): Subject
    {
        return self::inProcess($engine, $serializer, LarderDriver::class, $needs, ['scheme' => $scheme, 'tier' => 'disk'] + self::larder($engine, $serializer));
    }

    /** @param list<Need> $needs */
    private static function larderFar(string $library, string $connection, string $serializer, array $needs): Subject
    {
        $engine = 'larder-' . $library;
        $memcached = $library === 'memcached';
        $needs[] = $memcached ? self::memcachedServer() : self::redisServer();

        return self::atServer(
            $engine,
            $connection,
            $serializer,
            'none',
            LarderDriver::class,
            $needs,
            ['scheme' => $library, 'tier' => 'far'] + self::larder($engine, $serializer),
            $memcached ? self::memcachedService($connection) : self::service('redis', $connection),
        );
    }

    /**
     * @param class-string<Driver> $driver
     * @param list<Need>           $needs
     */
    private static function redis(string $engine, string $connection, string $serializer, string $driver, array $needs): Subject
    {
        return self::atServer($engine, $connection, $serializer, 'none', $driver, [...$needs, self::redisServer()], [], self::service('redis', $connection));
    }

    private static function valkey(string $connection, string $serializer): Subject
    {
        $needs = [
            Need::extension('redis'),
            Need::that(Need::find(['valkey-server']) !== null, 'valkey-server', 'apt-get install valkey-server (Debian has it from version 13, trixie, on)'),
        ];

        return self::atServer('valkey', $connection, $serializer, 'none', PhpRedisDriver::class, $needs, [], self::service('valkey', $connection));
    }

    private static function memcached(string $connection, string $serializer, bool $compression): Subject
    {
        $needs = [Need::extension('memcached'), self::memcachedServer()];
        if (\extension_loaded('memcached')) {
            $needs[] = Need::that(
                MemcachedDriver::has($serializer),
                "the PHP extension memcached with $serializer",
                "a build of the extension that has it (pecl install -D 'enable-memcached-$serializer=\"yes\"' memcached)",
            );
        }

        return self::atServer(
            $compression ? 'memcached' : 'memcached_nocompression',
            $connection,
            $serializer,
            $compression ? 'fastlz' : 'none',
            MemcachedDriver::class,
            $needs,
            ['compression' => $compression ? 1 : 0],
            self::memcachedService($connection),
        );
    }

    /**
     * @param class-string<Driver>      $driver
     * @param list<Need>                $needs
     * @param array<string, string|int> $parameters
     * @param array<string, string|int> $ini
     */
    private static function inProcess(string $engine, string $serializer, string $driver, array $needs, array $parameters = [], array $ini = []): Subject
    {
        return new Subject(
            "$engine:process:$serializer",
            $engine,
            Cell::PROCESS,
            $serializer,
            'none',
            [...$needs, ...self::serializer($serializer)],
            $driver,
            $parameters + ['serializer' => $serializer],
            null,
            $ini + self::ini(),
        );
    }

    /**
     * @param class-string<Driver>      $driver
     * @param list<Need>                $needs
     * @param array<string, string|int> $parameters
     */
    private static function atServer(string $engine, string $connection, string $serializer, string $compressor, string $driver, array $needs, array $parameters, string $service): Subject
    {
        return new Subject(
            "$engine:$connection:$serializer",
            $engine,
            $connection,
            $serializer,
            $compressor,
            [...$needs, ...self::serializer($serializer)],
            $driver,
            $parameters + ['connection' => $connection, 'serializer' => $serializer],
            $service,
            self::ini(),
        );
    }

    /** @return array<string, string|int> */
    public static function ini(): array
    {
        return self::INI + ['apc.serializer' => 'php'];
    }

    /**
     * What all caches have: a prefix of its own, so that two in one server are not each other's readers; and requests
     * whose beginning costs something, for each learns what others have changed.
     *
     * @return array<string, string|int>
     */
    private static function larder(string $engine, string $serializer): array
    {
        return ['compressor' => 'none', 'prefix' => "$engine-$serializer", 'begins' => 1];
    }

    /** One Redis listens on a socket and on a port; behind the network there is another. */
    private static function service(string $server, string $connection): string
    {
        return $connection === Cell::NETWORK ? "$server@network" : $server;
    }

    /** Memcached listens on a socket or on a port, not on both (memcached(1), -s: "disables network support"). */
    private static function memcachedService(string $connection): string
    {
        return $connection === Cell::NETWORK ? 'memcached@network' : "memcached-$connection";
    }

    /** @return list<Need> */
    private static function serializer(string $name): array
    {
        return $name === 'php' || $name === 'none' ? [] : [Need::extension($name)];
    }

    private static function apcuItself(): Need
    {
        return Need::extension('apcu');
    }

    private static function sqlite(): Need
    {
        return Need::extension('pdo_sqlite', self::package('sqlite3'));
    }

    private static function predis(): Need
    {
        return Need::library(\Predis\Client::class, 'predis/predis');
    }

    private static function redisServer(): Need
    {
        return Need::program(['redis-server', 'valkey-server'], 'redis-server');
    }

    private static function memcachedServer(): Need
    {
        return Need::program(['memcached'], 'memcached');
    }

    private static function package(string $name): string
    {
        return \sprintf('apt-get install php%d.%d-%s', \PHP_MAJOR_VERSION, \PHP_MINOR_VERSION, $name);
    }
}
