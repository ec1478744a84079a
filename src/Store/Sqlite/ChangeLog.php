<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Store\Change;
use Larder\System\Quiet;

/**
 * Holds changes that have left their process and are not in the table yet: they lie at the beginning of the change counter's
 * file, which outlives the process, in a fifth of the time that a commit takes.
 *
 *     file     checksum 4 | flags 4 | size 8 | position 8 | record | record | … up to ChangeCounter::AREA
 *     record   length of the rest 4 | checksum 4 | position, expiry, key's length, each with a space; kind 1, writer 12, key, body
 *
 * Each change in it has been judged and has its position: the process that applies it puts a row into the table, and decides nothing.
 * Who appends or applies holds the change counter's lock, so that nothing comes between a judgement and its change.
 *
 * The header is written when the log is emptied: where the journal ended, whether a space was ever flushed, and how long the
 * file was then. It grows by ChangeCounter::STEP with each record that was written whole, so the length tells how many
 * records there are; what a killed process has left half written lies behind them. Readers go from record to record by
 * their lengths and search for nothing: a value may hold records of its own. As long as the file has the length in the
 * header, a reader need not ask the database for what the header tells.
 *
 * If the header or a record does not have its checksum (CRC-32), another program has changed the file. What waited there is
 * lost then, and the epoch ends with it.
 */
final class ChangeLog
{
    /** Bytes of a body; longer ones are not appended, since every appended body is written twice. */
    public const LONGEST_BODY = 16_384;

    /** A flag: a flush marker was made in this epoch. */
    public const FLUSHED = 1;

    private const HEADER = 24;

    /** Bytes of a record before the rest, and of kind and writer. */
    private const HEAD = 8;
    private const SIGNED = 13;

    /** Where the next record begins. */
    private int $end = self::HEADER;

    public function __construct(private readonly ChangeCounter $counter) {}

    /** What the file begins with, in an epoch that begins at this position. */
    public static function first(int $position): string
    {
        return self::header(0, ChangeCounter::FIRST, $position);
    }

    /**
     * Appends a change behind those that this process has appended since the log was empty, unless something has changed since the
     * file had this size.
     *
     * @return int the file's size; -1: not appended
     */
    public function append(Change $change, int $position, int $size): int
    {
        \assert(\strlen($change->writer) === self::SIGNED - 1);
        $rest = "$position $change->expiry " . \strlen($change->key) . " $change->kind$change->writer$change->key$change->body";
        $length = \strlen($rest);
        $at = $this->end;
        $this->end += self::HEAD + $length;

        return $this->end <= ChangeCounter::AREA ? $this->counter->append($at, \pack('NN', $length, \crc32($rest)) . $rest, $size) : -1;
    }

    /**
     * The changes that wait, from all processes. The caller holds the lock.
     *
     * @return ?list<array{Change, int}> each with its position; null: another program has written over the file
     */
    public function read(): ?array
    {
        $bytes = $this->counter->read(ChangeCounter::AREA);
        $header = self::parse($bytes);
        if ($header === null) {
            return null;
        }
        $changes = [];
        $at = self::HEADER;
        $position = $header['position'];
        for ($left = $this->counter->steps($header['size']); $left > 0; $left--) {
            /** @var array{length: int, sum: int}|false $head */
            $head = \strlen($bytes) < $at + self::HEAD ? false : \unpack('Nlength/Nsum', $bytes, $at);
            $rest = $head === false ? '' : \substr($bytes, $at + self::HEAD, $head['length']);
            $parts = \explode(' ', $rest, 4);
            if ($head === false || \crc32($rest) !== $head['sum'] || \count($parts) < 4 || (int) $parts[0] !== ++$position) {
                return null;
            }
            [, $expiry, $length, $signed] = $parts;
            $kind = $signed[0];
            $body = self::SIGNED + (int) $length;
            $changes[] = [new Change(
                \substr($signed, self::SIGNED, (int) $length),
                $kind === 's' ? \substr($signed, $body) : null,
                \substr($signed, 1, self::SIGNED - 1),
                expiry: (int) $expiry,
                kind: $kind,
            ), $position];
            $at += self::HEAD + $head['length'];
        }

        return $changes;
    }

    /** Empties the log: what waited is in the table now, in which the journal ends at $position. The caller holds the lock. */
    public function clear(int $position, int $flags): void
    {
        $this->end = self::HEADER;
        $this->counter->empty(self::header($flags, $this->counter->sizeWhenEmpty(), $position));
    }

    /**
     * Begins to append to an empty log that another process may have emptied. The caller holds the lock.
     *
     * @return ?int the flags; null: another program has changed the file
     */
    public function begin(): ?int
    {
        $this->end = self::HEADER;
        $header = self::parse($this->counter->read(self::HEADER));

        return $header === null || $header['size'] !== $this->counter->size ? null : $header['flags'];
    }

    /**
     * What the header tells of a file of that size.
     *
     * @return ?array{int, int} the journal's end and the flags; null: nothing
     */
    public static function state(string $path, int $size): ?array
    {
        $header = self::headerOf($path);

        return $header === null || $header['size'] !== $size ? null : [$header['position'], $header['flags']];
    }

    /** A position that the table has reached, if all that was committed is there: where the journal ended when the log was emptied last. */
    public static function reached(string $path): int
    {
        return self::headerOf($path)['position'] ?? 0;
    }

    private static function header(int $flags, int $size, int $position): string
    {
        $rest = \pack('NJJ', $flags, $size, $position);

        return \pack('N', \crc32($rest)) . $rest;
    }

    /** @return ?array{flags: int, size: int, position: int} */
    private static function headerOf(string $path): ?array
    {
        Quiet::begin();
        try {
            return self::parse((string) \file_get_contents($path, length: self::HEADER));
        } finally {
            Quiet::end();
        }
    }

    /** @return ?array{flags: int, size: int, position: int} */
    private static function parse(string $bytes): ?array
    {
        if (\strlen($bytes) < self::HEADER) {
            return null;
        }
        /** @var array{sum: int, flags: int, size: int, position: int} $header */
        $header = \unpack('Nsum/Nflags/Jsize/Jposition', $bytes);

        return $header['sum'] === \crc32(\substr($bytes, 4, self::HEADER - 4)) ? $header : null;
    }
}
