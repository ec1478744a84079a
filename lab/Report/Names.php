<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;

/** What subjects are called by people: "Redis by phpredis, socket" is redis:socket. */
final class Names
{
    private const ENGINES = [
        'redis' => 'Redis by phpredis', 'predis' => 'Redis by Predis', 'valkey' => 'Valkey by phpredis', 'memcached' => 'Memcached',
        'memcached_nocompression' => 'Memcached, uncompressed', 'apcu' => 'APCu', 'sqlite' => 'SQLite', 'files' => 'Files', 'file' => 'Files', 'opcache' => 'OPcache', 'include' => 'PHP include',
        'lookup' => 'PHP array', 'larder-request' => 'Larder\'s request tier', 'segment' => 'Segment', 'memory' => 'Memory', 'php' => 'PHP\'s serializer', 'wordpress' => 'WordPress alone',
        'door' => 'The fast door', 'nginx' => 'Files by nginx', 'apache' => 'Files by Apache',
        'empty' => 'An empty script', 'echo' => 'A constant by PHP', 'application' => 'PHP without a cache', 'filesystem' => 'A file', 'nginx-file' => 'A file by nginx', 'nginx-fastcgi-cache' => 'nginx fastcgi_cache', 'apache-file' => 'A file by Apache', 'apache-cache' => 'Apache mod_cache', 'varnish' => 'Varnish', 'nginx-fastcgi-cache-lock' => 'nginx fastcgi_cache with lock',
    ];
    private const CONNECTIONS = [Cell::PROCESS => '', Cell::SOCKET => 'socket', Cell::TCP => 'TCP', Cell::NETWORK => 'network'];
    private const PLACEMENTS = [Cell::SAME => 'same core', Cell::OTHER => 'other core'];

    /** They keep nothing, or nothing after the request: no cache that processes share. */
    private const PRIVATE = ['lookup', 'larder-request', 'larder-memory', 'empty', 'echo'];

    /** "SQLite through Larder, igbinary" */
    public static function of(Cell $cell): string
    {
        return self::joined(self::subject($cell), self::request($cell));
    }

    /** "Redis by phpredis, socket, igbinary, other core" */
    public static function subject(Cell $cell): string
    {
        return self::joined(self::way($cell), self::form($cell), self::placement($cell));
    }

    /** What an id says of its cell (Cell::id()), or of its subject ("scenario/subject"); null if it is neither. */
    public static function cell(string $id): ?Cell
    {
        if (\preg_match('~^([^/]+)/([^/]+)(?:/([^/]+)/([^/]+)/(\d+)(?:/(same|other))?(?:/(\d+))?)?$~D', $id, $part) !== 1) {
            return null;
        }
        $words = \explode(':', $part[2]);
        $connection = \array_values(\array_intersect($words, \array_keys(self::CONNECTIONS)))[0] ?? Cell::PROCESS;
        $form = \array_values(\array_diff(\array_slice($words, 1), [$connection]));

        return new Cell($part[1], $part[2], $words[0], $connection, $form[0] ?? 'none', $form[1] ?? 'none', $part[3] ?? '', $part[4] ?? '', \max(1, (int) ($part[5] ?? 1)), placement: $part[6] ?? '', request: \max(1, (int) ($part[7] ?? Cell::REQUEST)));
    }

    /**
     * A subject of which nothing but its id is known.
     *
     * @param array{subject: string, scenario: string} $one
     */
    public static function called(array $one): string
    {
        $cell = self::cell("$one[scenario]/$one[subject]");

        return $cell === null ? Plain::line($one['subject']) : self::subject($cell);
    }

    /** "Redis by phpredis, socket" */
    public static function way(Cell $cell): string
    {
        return self::joined(self::engine($cell->engine), self::CONNECTIONS[$cell->connection] ?? '');
    }

    /** "igbinary, zstd", or nothing. */
    public static function form(Cell $cell): string
    {
        return self::joined(...\array_map(static fn(string $part): string => $part === 'none' || $part === $cell->engine ? '' : Plain::line($part), [$cell->serializer, $cell->compressor]));
    }

    public static function placement(Cell $cell): string
    {
        return self::PLACEMENTS[$cell->placement] ?? '';
    }

    /** Of Larder's alone: to the others the beginning of a request is nothing. */
    public static function request(Cell $cell): string
    {
        return self::isLarder($cell) ? self::keys($cell->request) : '';
    }

    /** "175 keys a request", or nothing of the usual number. */
    public static function keys(int $request): string
    {
        return $request === Cell::REQUEST ? '' : \sprintf('%s %s a request', Units::whole($request), $request === 1 ? 'key' : 'keys');
    }

    public static function isLarder(Cell $cell): bool
    {
        return \str_starts_with($cell->engine, 'larder') || $cell->engine === 'segment';
    }

    public static function isPrivate(Cell $cell): bool
    {
        return \in_array($cell->engine, self::PRIVATE, true);
    }

    /** "one process" */
    public static function crowd(int $concurrency): string
    {
        return $concurrency === 1 ? 'one process' : Units::whole($concurrency) . ' at once';
    }

    /** "SQLite through Larder" */
    public static function engine(string $engine): string
    {
        if (!isset(self::ENGINES[$engine]) && \str_starts_with($engine, 'larder-')) {
            $parts = \array_map(self::engine(...), \explode('-', \substr($engine, 7)));

            return \str_replace(' by phpredis', '', \implode(' and ', $parts)) . ' through Larder';
        }

        return self::ENGINES[$engine] ?? Plain::line($engine);
    }

    private static function joined(string ...$parts): string
    {
        return \implode(', ', \array_filter($parts, static fn(string $part): bool => $part !== ''));
    }
}
