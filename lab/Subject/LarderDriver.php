<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Cache;

/**
 * Larder by its front door, like any application.
 *
 * begin() is where a request begins (Cache::refresh()), so that a read is the request's first get of its key, answered
 * by the tier that the subject is named after; the second would come from the request tier. With the parameter "tier"
 * being "request" there is no new request, and that is what is measured.
 *
 * Sets are judged by Larder's table of conflicts as in any application: processes at once write keys of their own.
 * A failed part of Larder is a miss to an application: inspect() tells the two apart, outside the clock.
 */
final class LarderDriver extends Driver
{
    /** Seconds that one call waits for a part: as long as the drivers of the others. */
    private const TIMEOUT = '2';

    private readonly string $dsn;
    /** The file of a segment that this subject has for itself. */
    private readonly ?string $segment;
    /** The engine of its near tier; "none" or "": it has none, or which one was not said. */
    private readonly string $near;
    private readonly bool $anew;
    private readonly LastLine $log;
    private ?Cache $cache = null;

    /**
     * @param array<string, string|int> $parameters dsn; or scheme (sqlite, files, memory, redis, predis, memcached) with
     *                                              directory, or connection with socket or host and port; and near,
     *                                              serializer, compressor, prefix, near_budget; shared: the directory of its
     *                                              segment, which is its near tier then; tier: what answers
     */
    public function __construct(array $parameters)
    {
        $given = new Parameters($parameters);
        $this->segment = isset($parameters['shared']) ? SharedFile::path($parameters) : null;
        $this->dsn = isset($parameters['dsn']) ? $given->text('dsn') : self::dsn($given, $this->segment);
        $this->near = $this->segment === null ? $given->text('near', '') : 'segment';
        $this->anew = $given->text('tier', '') !== 'request';
        $this->log = new LastLine();
    }

    /** The cache that it has opened, for a look at its statistics. */
    public function cache(): Cache
    {
        return $this->cache ?? throw EngineFailure::notConnected();
    }

    public static function clear(array $parameters): void
    {
        if (isset($parameters['shared'])) {
            SharedFile::clear(SharedFile::path($parameters));
        }
    }

    public function connect(): void
    {
        if ($this->segment !== null) {
            SharedFile::makeRoom(\dirname($this->segment));
        }
        $this->cache = Cache::open(['dsn' => $this->dsn, 'logger' => $this->log]);
    }

    public function disconnect(): void
    {
        $this->cache = null;
    }

    public function begin(): void
    {
        if ($this->anew) {
            $this->cache?->refresh();
        }
    }

    public function write(array $values): void
    {
        $cache = $this->cache ?? throw EngineFailure::notConnected();
        foreach ($values as $key => $value) {
            if (!$cache->set($key, $value)) {
                throw EngineFailure::refused('Larder', 'store it', $this->log->text);
            }
        }
    }

    public function increment(string $key, int $times): mixed
    {
        $cache = $this->cache ?? throw EngineFailure::notConnected();
        $count = null;
        for ($i = 0; $i < $times; ++$i) {
            $count = $cache->increment($key);
        }

        return $count;
    }

    public function read(array $keys): mixed
    {
        $cache = $this->cache ?? throw EngineFailure::notConnected();
        $value = null;
        foreach ($keys as $key) {
            $value = $cache->get($key);
        }

        return $value;
    }

    public function inspect(): void
    {
        $tiers = $this->cache()->stats();
        foreach ($tiers as $tier => $stats) {
            if (($stats['errors'] ?? 0) > 0) {
                throw EngineFailure::refused('Larder', "use its tier \"$tier\"", $this->log->text);
            }
        }
        if (!\in_array($this->near, ['', 'none', $tiers['near']['engine'] ?? 'none'], true)) {
            throw EngineFailure::refused('Larder', "use $this->near as its near tier", $this->log->text);
        }
    }

    private static function dsn(Parameters $given, ?string $segment): string
    {
        $scheme = $given->text('scheme');
        $query = ['timeout' => self::TIMEOUT];
        if ($segment !== null) {
            $query['near'] = 'segment://' . self::path($segment) . '?bytes=' . SegmentDriver::BYTES;
        } elseif ($scheme !== 'memory') {
            // Where the extension is loaded the segment would stand before everything by itself.
            $query['near'] = 'none';
        }
        foreach (['near', 'serializer', 'compressor', 'prefix', 'near_budget'] as $name) {
            $value = $given->text($name, '');
            // "none" is a compressor of Larder's, and no serializer.
            if ($value !== '' && !($name === 'serializer' && $value === 'none')) {
                $query[$name] = $value;
            }
        }

        return match ($scheme) {
            'memory' => 'memory://',
            'sqlite' => 'sqlite://' . self::path($given->directory()),
            'files', 'file' => 'file://' . self::path($given->directory()),
            'redis', 'predis', 'memcached' => "$scheme://" . self::server($given),
            default => throw EngineFailure::unknown('scheme', $scheme, 'memory, sqlite, files, redis, predis or memcached'),
        } . '?' . \http_build_query($query, '', '&', \PHP_QUERY_RFC3986);
    }

    private static function server(Parameters $given): string
    {
        $socket = $given->socket();

        return $socket !== null ? self::path($socket) : $given->host() . ':' . $given->port();
    }

    private static function path(string $path): string
    {
        return \implode('/', \array_map(\rawurlencode(...), \explode('/', $path)));
    }
}
