<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Need;
use Larder\Lab\Plan\Subject;

/**
 * The subjects of the scenario `engines`: each engine by each way to it with each serializer, whether it can be
 * measured here or not. A new engine is a line here and a driver beside it.
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
        $subjects = [
            // No engine: what the request tier is compared with.
            self::subject('lookup', Cell::PROCESS, 'none', LookupDriver::class),
            // The request tier by itself, over this process's own memory; a sample (350) is whole turns of its keys.
            self::subject('larder-request', Cell::PROCESS, 'none', LarderDriver::class, parameters: ['scheme' => 'memory', 'tier' => 'request', 'near_budget' => '256M', 'distinct' => 70]),
            self::subject('opcache', Cell::PROCESS, 'none', OpcacheDriver::class, [Need::extension('Zend OPcache', Need::package('opcache'))]),
        ];
        $apcu = Need::extension('apcu');
        $sqlite = Need::sqlite();
        foreach (self::SERIALIZERS as $serializer) {
            // Larder gives APCu strings, and long ones in a small array of its own, which this is for.
            $ofApcu = ['apc.serializer' => $serializer];
            $subjects[] = self::subject('apcu', Cell::PROCESS, $serializer, ApcuDriver::class, [$apcu], ini: $ofApcu);
            $subjects[] = self::subject('files', Cell::PROCESS, $serializer, FilesDriver::class);
            $subjects[] = self::larder('larder-apcu', Cell::PROCESS, $serializer, ['scheme' => 'sqlite', 'near' => 'apcu', 'tier' => 'near'], [$apcu, $sqlite], $ofApcu);
            $subjects[] = self::larder('larder-segment', Cell::PROCESS, $serializer, ['scheme' => 'sqlite', 'shared' => 1, 'tier' => 'near'], [LarderExtension::need(), $sqlite], LarderExtension::ini());
            $subjects[] = self::larder('larder-sqlite', Cell::PROCESS, $serializer, ['scheme' => 'sqlite', 'tier' => 'disk'], [$sqlite]);
            $subjects[] = self::larder('larder-files', Cell::PROCESS, $serializer, ['scheme' => 'files', 'tier' => 'disk'], []);
        }
        foreach (self::CONNECTIONS as $connection) {
            \array_push($subjects, ...self::servers($connection));
        }

        return $subjects;
    }

    /** @return array<string, string|int> */
    public static function ini(): array
    {
        return self::INI + ['apc.serializer' => 'php'];
    }

    /** @return list<Subject> what is reached over one connection */
    private static function servers(string $connection): array
    {
        $server = Need::redisServer();
        $redis = [Need::extension('redis'), $server];
        $predis = [Need::predis(), $server];
        $valkey = [$redis[0], Need::that(Need::find(['valkey-server']) !== null, 'valkey-server', 'apt-get install valkey-server (Debian has it from version 13, trixie, on)')];
        $memcached = Need::program(['memcached'], 'memcached');
        $far = $connection === Cell::NETWORK ? '@network' : '';
        // One Redis listens on a socket and on a port; Memcached not on both (memcached(1), -s: "disables network support").
        $service = 'memcached' . ($far === '' ? "-$connection" : $far);
        // As both come; they take strings only.
        $subjects = [
            self::subject('redis', $connection, 'none', PhpRedisDriver::class, $redis, service: "redis$far"),
            self::subject('predis', $connection, 'none', PredisDriver::class, $predis, service: "redis$far"),
        ];
        foreach (self::SERIALIZERS as $serializer) {
            $itsMemcached = [Need::extension('memcached'), $memcached];
            if ($itsMemcached[0]->met) {
                $itsMemcached[] = Need::that(
                    MemcachedDriver::has($serializer),
                    "the PHP extension memcached with $serializer",
                    "a build of the extension that has it (pecl install -D 'enable-memcached-$serializer=\"yes\"' memcached)",
                );
            }
            $subjects[] = self::subject('redis', $connection, $serializer, PhpRedisDriver::class, $redis, service: "redis$far");
            $subjects[] = self::subject('predis', $connection, $serializer, PredisDriver::class, $predis, service: "redis$far");
            $subjects[] = self::subject('memcached', $connection, $serializer, MemcachedDriver::class, $itsMemcached, ['compression' => 1], service: $service, compressor: 'fastlz');
            $subjects[] = self::subject('memcached_nocompression', $connection, $serializer, MemcachedDriver::class, $itsMemcached, ['compression' => 0], service: $service);
            $subjects[] = self::larder('larder-redis', $connection, $serializer, ['scheme' => 'redis', 'tier' => 'far'], $redis, service: "redis$far");
            $subjects[] = self::larder('larder-predis', $connection, $serializer, ['scheme' => 'predis', 'tier' => 'far'], $predis, service: "redis$far");
            $subjects[] = self::larder('larder-memcached', $connection, $serializer, ['scheme' => 'memcached', 'tier' => 'far'], [$memcached], service: $service);
            $subjects[] = self::subject('valkey', $connection, $serializer, PhpRedisDriver::class, $valkey, service: "valkey$far");
        }

        return $subjects;
    }

    /**
     * A cache has a prefix of its own, so that two in one server are not each other's readers; and requests whose beginning
     * costs something, for each learns what others have changed.
     *
     * @param array<string, string|int> $parameters
     * @param list<Need>                $needs
     * @param array<string, string|int> $ini
     */
    private static function larder(string $engine, string $connection, string $serializer, array $parameters, array $needs, array $ini = [], ?string $service = null): Subject
    {
        return self::subject($engine, $connection, $serializer, LarderDriver::class, $needs, $parameters + ['compressor' => 'none', 'prefix' => "$engine-$serializer", 'begins' => 1], $ini, $service);
    }

    /**
     * @param class-string<Driver>      $driver
     * @param list<Need>                $needs
     * @param array<string, string|int> $parameters
     * @param array<string, string|int> $ini
     */
    private static function subject(
        string $engine,
        string $connection,
        string $serializer,
        string $driver,
        array $needs = [],
        array $parameters = [],
        array $ini = [],
        ?string $service = null,
        string $compressor = 'none',
    ): Subject {
        return new Subject(
            "$engine:$connection:$serializer",
            $engine,
            $connection,
            $serializer,
            $compressor,
            \in_array($serializer, ['php', 'none'], true) ? $needs : [...$needs, Need::extension($serializer)],
            $driver,
            $parameters + ($connection === Cell::PROCESS ? [] : ['connection' => $connection]) + ['serializer' => $serializer],
            $service,
            $ini + self::ini(),
        );
    }
}
