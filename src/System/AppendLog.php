<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Records that processes append to one file, and that outlive them.
 *
 *     file     generation 8 | end 8 | record | record | …
 *     record   length of the content 4 | checksum 4 | content
 *
 * The file may be longer than its end: it was filled with zeros before it is needed, or a process was killed while it
 * appended. A writer holds the lock, writes behind the end, and then the new end, which lies within one page and so is
 * written at once or not at all. Readers go from record to record by their lengths, up to the end, and search for nothing: a
 * content may hold what looks like a record. The checksum (CRC-32 of the content, and of the generation) does not match
 * where another program has written over the file, or a record of another generation lies.
 *
 * The caller keeps PHP quiet (Quiet).
 */
final class AppendLog
{
    public const HEADER = 16;

    /** Bytes of a record beside its content. */
    public const AROUND = 8;

    /** @param resource $handle */
    private function __construct(private readonly string $path, private mixed $handle) {}

    /** @return ?self null: there is no such file, or it cannot be opened, or another user may have put it there */
    public static function open(string $path): ?self
    {
        // Not a mode that creates the file: an empty one would count as damaged.
        $handle = Ownership::status($path) === null ? false : \fopen($path, 'r+e');
        if ($handle === false) {
            return null;
        }
        // A read must see what other processes have written.
        \stream_set_read_buffer($handle, 0);

        return new self($path, $handle);
    }

    /** The bytes of a log of these records, in a new generation. */
    public static function bytes(string ...$contents): string
    {
        $generation = \random_bytes(8);
        $records = self::records($generation, $contents);

        return $generation . \pack('J', self::HEADER + \strlen($records)) . $records;
    }

    /** @param float $seconds how long to wait for another process; 0: one try */
    public function lock(float $seconds): bool
    {
        return FileLock::take($this->handle, $seconds);
    }

    public function unlock(): void
    {
        \flock($this->handle, \LOCK_UN);
    }

    /** Whether it is still the file at its path: another process may have removed it before this one had the lock. */
    public function isThere(): bool
    {
        \clearstatcache();

        return \is_file($this->path) && \fileinode($this->path) === (\fstat($this->handle)['ino'] ?? 0);
    }

    /** Bytes of the file, which holds so many without taking more of the disk. */
    public function size(): int
    {
        return \fstat($this->handle)['size'] ?? 0;
    }

    /**
     * Appends. The caller holds the lock.
     *
     * @param list<string> $contents
     *
     * @return bool false: the file has no room for them, or is damaged, or cannot be written
     */
    public function append(array $contents): bool
    {
        [$generation, $end] = $this->header();
        $records = self::records($generation, $contents);

        return $end !== 0 && $end + \strlen($records) <= $this->size()
            && $this->write($end, $records) && $this->write(8, \pack('J', $end + \strlen($records)));
    }

    /**
     * Reads. The caller holds the lock.
     *
     * @param string $mark where the last read ended, as it returned it; '': the beginning, where it reads too if the log has
     *                     begun anew since
     *
     * @return ?array{list<string>, string} the contents, and the mark behind them; null: it is damaged
     */
    public function read(string $mark = ''): ?array
    {
        [$generation, $end] = $this->header();
        $offset = \str_starts_with($mark, $generation) ? (int) \substr($mark, 8) : self::HEADER;
        if ($end === 0 || $end < $offset) {
            return null;
        }
        $bytes = $end === $offset ? '' : (string) \stream_get_contents($this->handle, $end - $offset, $offset);
        $contents = [];
        for ($at = 0; $at < $end - $offset; $at += self::AROUND + \strlen($content)) {
            /** @var array{length: int, sum: int} $head */
            $head = $at + self::AROUND > \strlen($bytes) ? ['length' => \PHP_INT_MAX, 'sum' => 0] : \unpack('Nlength/Nsum', $bytes, $at);
            $content = \substr($bytes, $at + self::AROUND, $head['length']);
            if (\strlen($content) !== $head['length'] || self::sum($generation, $content) !== $head['sum']) {
                return null;
            }
            $contents[] = $content;
        }

        return [$contents, $generation . $end];
    }

    /** Begins anew, with these bytes (see bytes()). The caller holds the lock. A process killed here leaves a damaged log, or the one before. */
    public function restart(string $bytes): bool
    {
        return $this->write(0, $bytes);
    }

    /** @return array{string, int} generation and end; the end is 0 where the file is damaged */
    private function header(): array
    {
        $header = \fseek($this->handle, 0) === 0 ? (string) \fread($this->handle, self::HEADER) : '';
        if (\strlen($header) < self::HEADER) {
            return ['', 0];
        }
        /** @var array{1: int} $end */
        $end = \unpack('J', $header, 8);

        return [\substr($header, 0, 8), $end[1] < self::HEADER || $end[1] > $this->size() ? 0 : $end[1]];
    }

    /** @param array<string> $contents */
    private static function records(string $generation, array $contents): string
    {
        $records = '';
        foreach ($contents as $content) {
            $records .= \pack('NN', \strlen($content), self::sum($generation, $content)) . $content;
        }

        return $records;
    }

    private static function sum(string $generation, string $content): int
    {
        return \crc32($content) ^ \crc32($generation);
    }

    private function write(int $at, string $bytes): bool
    {
        return \fseek($this->handle, $at) === 0 && \fwrite($this->handle, $bytes) === \strlen($bytes);
    }
}
