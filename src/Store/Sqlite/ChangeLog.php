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

    /** Bytes to read at once; all if a record is longer. */
    private const CHUNK = 4096;

    /** Size of the file when the log that this process knows was empty; -1: it knows none. */
    public int $emptied = -1;

    /** The last position that this process knows of it: the journal ends there. */
    public int $position = 0;

    /** Where the next record begins. */
    private int $end = self::HEADER;

    public function __construct(private readonly ChangeCounter $counter) {}

    /** What the file begins with, in an epoch that begins at this position. */
    public static function first(int $position): string
    {
        return self::header(0, ChangeCounter::FIRST, $position);
    }

    /**
     * Appends a change behind those that this process knows, unless something has changed since the file had this size.
     *
     * @param bool $isHeld the lock, by the caller
     *
     * @return int the file's size; -1: not appended
     */
    public function append(Change $change, int $size, bool $isHeld = false): int
    {
        \assert(\strlen($change->writer) === self::SIGNED - 1);
        $rest = ($this->position + 1) . " $change->expiry " . \strlen($change->key) . " $change->kind$change->writer$change->key$change->body";
        $length = \strlen($rest);
        $end = $this->end + self::HEAD + $length;
        if ($end > ChangeCounter::AREA) {
            return -1;
        }
        $size = $this->counter->append($this->end, \pack('NN', $length, \crc32($rest)) . $rest, $size, $isHeld);
        if ($size >= 0) {
            $this->position++;
            $this->end = $end;
        }

        return $size;
    }

    /**
     * The changes that wait and that this process does not know yet: all of them, if $emptied is another one then. The caller holds
     * the lock.
     *
     * @return ?array{int, list<array{Change, int}>} the flags, and the changes, each with its position; null: another program has
     *         changed the file
     */
    public function read(): ?array
    {
        $from = 0;
        $bytes = $this->counter->read(0, self::CHUNK);
        $header = self::parse($bytes);
        if ($header === null || ($header['size'] !== $this->counter->size && ChangeCounter::isSettled($this->counter->size))) {
            return null;
        }
        if ($header['size'] !== $this->emptied) {
            $this->begin($header['size'], $header['position']);
        }
        $changes = [];
        $known = $this->position - $header['position'];
        for ($left = $this->counter->steps($this->emptied) - $known; $left > 0; $left--) {
            $length = self::length($bytes, $this->end - $from);
            foreach ($length < 0 ? [self::CHUNK, ChangeCounter::AREA] : [] as $most) {
                if ($length < 0) {
                    $from = $this->end;
                    $bytes = $this->counter->read($from, \min($most, ChangeCounter::AREA - $from));
                    $length = self::length($bytes, 0);
                }
            }
            $change = $length < 0 ? null : self::change(\substr($bytes, $this->end - $from, $length), $this->position + 1);
            if ($change === null) {
                $this->forget();

                return null;
            }
            $changes[] = [$change, ++$this->position];
            $this->end += $length;
        }

        return [$header['flags'], $changes];
    }

    /** @return int of the record there; -1: the bytes end before it does */
    private static function length(string $bytes, int $at): int
    {
        if (\strlen($bytes) < $at + self::HEAD) {
            return -1;
        }
        /** @var array{length: int} $head */
        $head = \unpack('Nlength', $bytes, $at);
        $length = self::HEAD + $head['length'];

        return \strlen($bytes) < $at + $length ? -1 : $length;
    }

    /** Null: another program has changed the record, or it is not the one of this position. */
    private static function change(string $record, int $position): ?Change
    {
        /** @var array{sum: int} $head */
        $head = \unpack('Nsum', $record, 4);
        $rest = \substr($record, self::HEAD);
        $parts = \explode(' ', $rest, 4);
        if (\crc32($rest) !== $head['sum'] || \count($parts) < 4 || (int) $parts[0] !== $position) {
            return null;
        }
        [, $expiry, $length, $signed] = $parts;
        $kind = $signed[0];

        return new Change(
            \substr($signed, self::SIGNED, (int) $length),
            $kind === 's' ? \substr($signed, self::SIGNED + (int) $length) : null,
            \substr($signed, 1, self::SIGNED - 1),
            expiry: (int) $expiry,
            kind: $kind,
        );
    }

    /** Empties the log: what waited is in the table now, in which the journal ends at $position. The caller holds the lock. */
    public function clear(int $position, int $flags): void
    {
        $size = $this->counter->sizeWhenEmpty();
        $this->begin($size, $position);
        $this->counter->empty(self::header($flags, $size, $position));
    }

    /** Makes the next read() begin with the first record. */
    public function forget(): void
    {
        $this->emptied = -1;
    }

    private function begin(int $emptied, int $position): void
    {
        $this->emptied = $emptied;
        $this->position = $position;
        $this->end = self::HEADER;
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
