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
        $memory = ['scheme' => 'memory', 'tier' => 'request', 'near_budget' => '256M', 'distinct' => 70];
        $opcache = Need::extension('Zend OPcache', Need::package('opcache'));
        $subjects = [
            // No engine: what the request tier is compared with.
            self::subject('lookup:process:none', LookupDriver::class),
            // The request tier by itself, over this process's own memory; a sample (350) is whole turns of its keys.
            self::subject('larder-request:process:none', LarderDriver::class, parameters: $memory),
            self::subject('opcache:process:none', OpcacheDriver::class, [$opcache]),
        ];
        [$apcu, $sqlite] = [Need::extension('apcu'), Need::sqlite()];
        [$segment, $module] = [LarderExtension::need(), LarderExtension::ini()];
        $disk = ['scheme' => 'sqlite', 'tier' => 'disk'];
        $near = ['scheme' => 'sqlite', 'tier' => 'near'];
        foreach (self::SERIALIZERS as $serializer) {
            // Larder gives APCu strings, and long ones in a small array of its own, which this is for.
            $ini = ['apc.serializer' => $serializer];
            $here = Cell::PROCESS . ":$serializer";
            \array_push(
                $subjects,
                self::subject("apcu:$here", ApcuDriver::class, [$apcu], ini: $ini),
                self::subject("files:$here", FilesDriver::class),
                self::larder("larder-apcu:$here", ['near' => 'apcu'] + $near, [$apcu, $sqlite], ini: $ini),
                self::larder("larder-segment:$here", ['shared' => 1] + $near, [$segment, $sqlite], ini: $module),
                self::larder("larder-sqlite:$here", $disk, [$sqlite]),
                self::larder("larder-files:$here", ['scheme' => 'files'] + $disk, []),
            );
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
        $advice = 'apt-get install valkey-server (Debian has it from version 13, trixie, on)';
        $valkey = [$redis[0], Need::that(Need::find(['valkey-server']) !== null, 'valkey-server', $advice)];
        $program = Need::program(['memcached'], 'memcached');
        $network = $connection === Cell::NETWORK ? '@network' : '';
        $ofRedis = "redis$network";
        // One Redis listens on a socket and a port, a Memcached on one (memcached(1), -s: "disables network support").
        $ofMemcached = 'memcached' . ($network === '' ? "-$connection" : $network);
        // As both come; they take strings only.
        $subjects = [
            self::subject("redis:$connection:none", PhpRedisDriver::class, $redis, service: $ofRedis),
            self::subject("predis:$connection:none", PredisDriver::class, $predis, service: $ofRedis),
        ];
        [$plain, $packed] = [['compression' => 0], ['compression' => 1]];
        $far = static fn(string $scheme): array => ['scheme' => $scheme, 'tier' => 'far'];
        foreach (self::SERIALIZERS as $serializer) {
            $ours = [Need::extension('memcached'), $program];
            if ($ours[0]->met) {
                $ours[] = Need::that(
                    MemcachedDriver::has($serializer),
                    "the PHP extension memcached with $serializer",
                    "a build that has it (pecl install -D 'enable-memcached-$serializer=\"yes\"' memcached)",
                );
            }
            $there = "$connection:$serializer";
            \array_push(
                $subjects,
                self::subject("redis:$there", PhpRedisDriver::class, $redis, service: $ofRedis),
                self::subject("predis:$there", PredisDriver::class, $predis, service: $ofRedis),
                self::subject("memcached:$there", MemcachedDriver::class, $ours, $packed, $ofMemcached),
                self::subject("memcached_nocompression:$there", MemcachedDriver::class, $ours, $plain, $ofMemcached),
                self::larder("larder-redis:$there", $far('redis'), $redis, $ofRedis),
                self::larder("larder-predis:$there", $far('predis'), $predis, $ofRedis),
                self::larder("larder-memcached:$there", $far('memcached'), [$program], $ofMemcached),
                self::subject("valkey:$there", PhpRedisDriver::class, $valkey, service: "valkey$network"),
            );
        }

        return $subjects;
    }

    /**
     * A cache has a prefix of its own, so that two in one server are not each other's readers; and requests whose
     * beginning costs something, for each learns what others have changed.
     *
     * @param array<string, string|int> $more parameters
     * @param list<Need>                $needs
     * @param array<string, string|int> $ini
     */
    private static function larder(
        string $name,
        array $more,
        array $needs,
        ?string $service = null,
        array $ini = [],
    ): Subject {
        [$engine, , $serializer] = \explode(':', $name);
        $parameters = $more + ['compressor' => 'none', 'prefix' => "$engine-$serializer", 'begins' => 1];

        return self::subject($name, LarderDriver::class, $needs, $parameters, $service, $ini);
    }

    /**
     * @param class-string<Driver>      $driver
     * @param list<Need>                $needs
     * @param array<string, string|int> $parameters
     * @param array<string, string|int> $ini
     */
    private static function subject(
        string $name,
        string $driver,
        array $needs = [],
        array $parameters = [],
        ?string $service = null,
        array $ini = [],
    ): Subject {
        [$engine, $connection, $serializer] = \explode(':', $name);
        $way = $connection === Cell::PROCESS ? [] : ['connection' => $connection];

        return new Subject(
            $name,
            $engine,
            $connection,
            $serializer,
            ($parameters['compression'] ?? 0) === 1 ? 'fastlz' : 'none',
            \in_array($serializer, ['php', 'none'], true) ? $needs : [...$needs, Need::extension($serializer)],
            $driver,
            $parameters + $way + ['serializer' => $serializer],
            $service,
            $ini + self::ini(),
        );
    }
}
