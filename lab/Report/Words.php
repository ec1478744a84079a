<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;

/** How the things that cells name are called in tables and sentences. */
final class Words
{
    private const PAYLOADS = ['short' => 'a short string', '20kB' => 'a 20 kB string', '50x50' => 'a 50x50 array'];
    private const DOES = ['write' => 'write', 'read' => 'read', 'cycle' => 'connect, get and close', 'size' => 'size of'];
    private const DOING = ['write' => 'writing', 'read' => 'reading', 'cycle' => 'connecting, getting and closing', 'size' => 'the size of'];

    /** "a 50x50 array" */
    public static function payload(string $payload): string
    {
        return self::PAYLOADS[$payload] ?? Plain::line($payload);
    }

    /** "read a 50x50 array" */
    public static function work(Cell $cell): string
    {
        return (self::DOES[$cell->operation] ?? Plain::line($cell->operation)) . ($cell->operation === 'cycle' ? ', ' : ' ') . self::payload($cell->payload);
    }

    /** "reading a 50x50 array" */
    public static function doing(Cell $cell): string
    {
        return (self::DOING[$cell->operation] ?? Plain::line($cell->operation)) . ($cell->operation === 'cycle' ? ' for ' : ' ') . self::payload($cell->payload);
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
