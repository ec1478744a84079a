<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;

/** How the things that cells name are called in tables and sentences. */
final class Words
{
    private const PAYLOADS = [
        'short' => 'a short string', '20kB' => 'a 20 kB string', '50x50' => 'a 50x50 array',
        'integers' => 'an array of 1,000 integers', 'objects' => 'an array with objects', 'integer' => 'an integer',
        'published' => 'a transient of 5 kB on average', 'plain' => 'page in a plain theme', 'theme' => 'page in the usual theme',
        'first' => 'first page, SQL queries', 'list' => 'the list of posts in wp-admin', 'shell' => 'WordPress on the command line',
    ];
    /** %s: the value. */
    private const DOES = [
        'write' => 'write %s', 'read' => 'read %s', 'cycle' => 'connect, get and close, %s', 'size' => 'size of %s',
        'walk' => 'get %s and read every cell', 'repeat' => 'read %s again and again', 'shuffled' => 'read %s, keys shuffled', 'missing' => 'read a missing key', 'increment' => 'increment %s',
        'gets' => 'gets a second, %s', 'gets-written' => 'gets a second beside a writer, %s', 'delete' => 'delete %s',
        'cached' => '%s: inside the object cache', 'page' => '%s', 'pages' => '%s: pages a second', 'start' => 'start of %s',
    ];
    private const DOING = [
        'write' => 'writing %s', 'read' => 'reading %s', 'cycle' => 'connecting, getting and closing for %s', 'size' => 'the size of %s',
        'walk' => 'getting %s and reading every cell', 'repeat' => 'reading %s again and again', 'shuffled' => 'reading %s with shuffled keys', 'missing' => 'reading a missing key', 'increment' => 'incrementing %s',
        'gets' => 'getting %s', 'gets-written' => 'getting %s beside a writer', 'delete' => 'deleting %s',
        'cached' => 'what a %s takes inside the object cache', 'page' => '%s', 'pages' => 'pages a second of a %s', 'start' => 'the start of %s',
    ];

    /** Of columns, where the operation itself would not say it. */
    private const COLUMNS = [
        'cycle' => 'connect, get, close', 'repeat' => 'read one key', 'cached' => 'in wp_cache_*', 'queries' => 'SQL queries', 'reads' => 'keys read',
        'trips' => 'round trips', 'below' => 'calls below', 'cpu' => 'CPU', 'restarted' => 'after a restart', 'rebooted' => 'after a reboot',
    ];

    /** "a 50x50 array" */
    public static function payload(string $payload): string
    {
        return self::PAYLOADS[$payload] ?? Plain::line($payload);
    }

    /** "read a 50x50 array" */
    public static function work(Cell $cell): string
    {
        return self::of(self::DOES, $cell);
    }

    /** "reading a 50x50 array" */
    public static function doing(Cell $cell): string
    {
        return self::of(self::DOING, $cell);
    }

    /** @param array<string, string> $words */
    private static function of(array $words, Cell $cell): string
    {
        $payload = self::payload($cell->payload);

        return isset($words[$cell->operation]) ? \str_replace('%s', $payload, $words[$cell->operation]) : Plain::line($cell->operation) . ' ' . $payload;
    }

    /** "SQL queries" */
    public static function column(string $operation): string
    {
        return self::COLUMNS[$operation] ?? Plain::line($operation);
    }

    /** How many do what a table shows: processes, or requests of one program. */
    public static function together(Cell $cell): string
    {
        return \in_array($cell->operation, ['pages', 'cpu'], true) ? Units::whole($cell->concurrency) . ' requests at once' : self::crowd($cell->concurrency);
    }

    public static function crowd(int $concurrency): string
    {
        return $concurrency === 1 ? 'one process' : Units::whole($concurrency) . ' processes at once';
    }

    /** What a value is made into: "igbinary, zstd", or nothing. */
    public static function form(Cell $cell): string
    {
        $parts = \array_filter([Plain::line($cell->serializer), Plain::line($cell->compressor)], static fn(string $part): bool => $part !== 'none' && $part !== '');

        return $parts === [] ? Units::NOTHING : \implode(', ', $parts);
    }

    public static function subject(Cell $cell): string
    {
        return Plain::line($cell->subject);
    }

    /** @param list<string> $items */
    public static function list(array $items): string
    {
        $last = \array_pop($items) ?? '';

        return $items === [] ? $last : \implode(', ', $items) . ' and ' . $last;
    }
}
