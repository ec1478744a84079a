<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use function Larder\append;

use Larder\Store\Change;
use Larder\System\FileLock;
use Larder\System\Ownership;
use Larder\System\Quiet;

/**
 * Holds changes that have left their process and are not in the database yet. Processes append them to a file beside it,
 * named after the epoch (tail.<epoch>), in a fifth of the time that a commit takes.
 *
 *     file     generation 8 | record | record | …
 *     record   magic 4 | length of the rest 4 | CRC-32 of the rest 4 | length of key 4, expiry 8, limit 8, kind 1, writer 12, key, body
 *
 * A set that follows a miss has the kind b. Between its key and its body stand the length 2 of what comes before the payload
 * in its bounded form, the payload's length 4, and what comes before the payload.
 *
 * A process that appends takes the file's lock and never waits for it: if it fails to lock or to write, it does not
 * append. The process that holds the change counter's lock applies the records, from where the last one stopped. The
 * transaction that applies them notes in the database how far it got (`m`, "tail": generation and offset), so each record
 * is applied once, wherever a process is killed. When all records are applied and nobody appends, the file begins anew
 * with another generation.
 *
 * A record that a killed process left half written fails its checksum, and reading goes on at the next magic.
 *
 * A process compares the records that it has appended itself with the file, which costs a sixth of taking them apart.
 */
final class ChangeLog
{
    /** Bytes of a body; longer ones are not appended, since every appended body is written twice. */
    public const LONGEST_BODY = 16_384;

    private const GENERATION = SqliteWatch::EMPTY_LOG;
    private const MAGIC = "\nLt3";
    private const HEAD = 12;
    private const FIXED = 33;

    /** Seconds to wait for the lock before reading the file without it. */
    private const PATIENCE = 0.01;

    /** Bytes from which on nobody appends: some process keeps the file from beginning anew. */
    private const LONGEST = 4_194_304;

    /** @var ?resource */
    private $file = null;

    /** Bytes of the file in which, as far as this process knows, no other process's change waits. */
    private int $known = self::GENERATION;

    /** @var array<int, array{string, Change}> what this process has appended, by its record's offset: the rest of the record, and what it says */
    private array $own = [];

    /** Whether the extension appends; null: not checked yet. */
    private static ?bool $inC = null;

    public function __construct(private readonly string $path) {}

    /** False: changes may wait. Costs one stat. */
    public function isEmpty(): bool
    {
        \clearstatcache();

        return SqliteWatch::size($this->path) <= self::GENERATION;
    }

    /** False: another program has removed it, and with it what waited. Costs one stat. */
    public function exists(): bool
    {
        \clearstatcache();

        return \file_exists($this->path);
    }

    /**
     * Whether another process has appended something that waits. Costs one seek: for each read of a request that has begun.
     * Misses what has exactly the length of what lay there before; isEmpty() misses nothing.
     */
    public function hasOthers(): bool
    {
        $file = $this->file ?? $this->open();
        if ($file === null) {
            return false;
        }
        \fseek($file, 0, \SEEK_END);
        $size = \ftell($file);

        return $size !== $this->known && $size > self::GENERATION;
    }

    /**
     * False: not appended, since another process is appending, the disk is full, or the file has been deleted with its epoch.
     * To the extension a file whose directory was moved away is still there: SqliteStore::settle() finds out.
     */
    public function append(Change $change): bool
    {
        \assert(\strlen($change->writer) === 12);
        $rest = \pack('NJJ', \strlen($change->key), $change->expiry, $change->limit);
        $rest .= $change->bounded === null
            ? $change->kind . $change->writer . $change->key . $change->body
            : 'b' . $change->writer . $change->key . \pack('nN', \strlen($change->bounded) - $change->payload, $change->payload)
                . \substr($change->bounded, 0, -$change->payload) . $change->body;
        $file = $this->file ?? $this->open();
        if ($file === null) {
            return false;
        }
        $at = (self::$inC ??= \function_exists('Larder\append')) ? append($file, self::MAGIC, $rest, self::GENERATION, self::LONGEST) : -1;
        if ($at < 0) {
            $at = $this->put($file, $rest);
        }
        if ($at === 0) {
            return false;
        }
        if ($at === self::GENERATION) {
            $this->own = [];
        }
        $this->own[$at] = [$rest, $change];
        if ($at === $this->known || $at === self::GENERATION) {
            $this->known = $at + self::HEAD + \strlen($rest);
        }

        return true;
    }

    /**
     * Appends a record, as the extension's append() does. Begins the file if it is empty.
     *
     * @param resource $file
     *
     * @return int where the record begins; 0: not appended
     */
    private function put($file, string $rest): int
    {
        if (!\flock($file, \LOCK_EX | \LOCK_NB)) {
            return 0;
        }
        \fseek($file, 0, \SEEK_END);
        $at = (int) \ftell($file);
        if ($at < self::GENERATION) {
            $at = $this->begin() ? self::GENERATION : self::LONGEST;
        }
        $done = false;
        if ($at < self::LONGEST) {
            $done = $this->write(self::MAGIC . \pack('NN', \strlen($rest), \crc32($rest)) . $rest);
            // The disk is full: cut off the half-written record.
            $done || \ftruncate($file, $at);
        }
        \flock($file, \LOCK_UN);
        \clearstatcache();

        return $done && \file_exists($this->path) ? $at : 0;
    }

    /**
     * The waiting changes. The caller holds the change counter's lock.
     *
     * @param string $mark where the last applier stopped, as this method returned it; '' at first
     *
     * @return ?array{list<Change>, string} the changes in their order, and the mark behind them; null: none
     */
    public function read(string $mark): ?array
    {
        if ($this->isEmpty()) {
            return null;
        }
        // With the file's lock, nobody is in the middle of an append: a half-written record is a killed process's.
        $isWhole = $this->lock(self::PATIENCE);
        if ($this->file === null) {
            return null;
        }
        $bytes = $isWhole ? $this->all() : Quiet::call(fn(): string|false => \file_get_contents($this->path));
        if (!\is_string($bytes) || \strlen($bytes) <= self::GENERATION) {
            return null;
        }
        $generation = \bin2hex(\substr($bytes, 0, self::GENERATION));
        $this->known = \strlen($bytes);
        $offset = \str_starts_with($mark, $generation . ':') ? (int) \substr($mark, \strlen($generation) + 1) : self::GENERATION;
        $end = \strlen($bytes);
        if ($offset >= $end) {
            return null;
        }
        $changes = [];
        $read = $offset;
        $own = $this->own;
        $this->own = [];
        while (true) {
            if (isset($own[$offset])) {
                [$rest, $change] = $own[$offset];
                $length = \strlen($rest);
                if ($offset + self::HEAD + $length <= $end && \substr_compare($bytes, $rest, $offset + self::HEAD, $length) === 0) {
                    $changes[] = $change;
                    $read = $offset += self::HEAD + $length;
                    continue;
                }
            }
            $offset = \strpos($bytes, self::MAGIC, $offset);
            if ($offset === false) {
                break;
            }
            $change = self::parse($bytes, $offset);
            if ($change === null) {
                $offset++;
                continue;
            }
            $changes[] = $change;
            $read = $offset;
        }

        return $changes === [] && !$isWhole ? null : [$changes, $generation . ':' . ($isWhole ? $end : $read)];
    }

    /** Begins the file anew if nothing was appended after the mark. The caller holds the change counter's lock and has committed what it read. */
    public function clear(string $mark): void
    {
        if (!$this->lock()) {
            return;
        }
        \assert($this->file !== null);
        \fseek($this->file, 0, \SEEK_END);
        if ((int) \ftell($this->file) === (int) \substr($mark, 2 * self::GENERATION + 1)) {
            $this->begin();
        }
        \flock($this->file, \LOCK_UN);
    }

    /** In a forked child: the open file, and its lock, are the parent's too. */
    public function forget(): void
    {
        $this->file = null;
        $this->known = self::GENERATION;
        $this->own = [];
    }

    /**
     * @param int $offset set to the one behind the record
     *
     * @return ?Change null: no whole record lies there
     */
    private static function parse(string $bytes, int &$offset): ?Change
    {
        if (\strlen($bytes) < $offset + self::HEAD + self::FIXED) {
            return null;
        }
        /** @var array{length: int, sum: int, key: int, expiry: int, limit: int} $head */
        $head = \unpack('Nlength/Nsum/Nkey/Jexpiry/Jlimit', $bytes, $offset + 4);
        $length = $head['length'];
        $rest = \substr($bytes, $offset + self::HEAD, $length);
        if (\strlen($rest) !== $length || \crc32($rest) !== $head['sum']) {
            return null;
        }
        $at = self::FIXED + $head['key'];
        if ($length < $at) {
            return null;
        }
        $offset += self::HEAD + $length;
        $kind = $rest[20];
        $key = \substr($rest, self::FIXED, $head['key']);
        $writer = \substr($rest, 21, 12);
        if ($kind !== 'b') {
            return new Change($key, $kind === 's' ? \substr($rest, $at) : null, $writer, $head['limit'], $head['expiry'], kind: $kind);
        }
        /** @var array{before: int, payload: int} $two */
        $two = \unpack('nbefore/Npayload', $rest, $at);
        $body = \substr($rest, $at + 6 + $two['before']);
        $change = new Change($key, $body, $writer, $head['limit'], $head['expiry']);
        $change->payload = $two['payload'];
        $change->bounded = \substr($rest, $at + 6, $two['before']) . \substr($body, -$change->payload);

        return $change;
    }

    /** Reads the file and releases its lock, which the caller holds. Reads by the locked handle: on Windows no other may read. */
    private function all(): string
    {
        \assert($this->file !== null);
        \fseek($this->file, 0);
        $bytes = (string) \stream_get_contents($this->file);
        \flock($this->file, \LOCK_UN);

        return $bytes;
    }

    /** Empties the file and begins another generation. The caller holds the file's lock. */
    private function begin(): bool
    {
        \assert($this->file !== null);
        if (!\ftruncate($this->file, 0)) {
            return false;
        }
        \fseek($this->file, 0);
        $this->known = self::GENERATION;

        return $this->write(\random_bytes(self::GENERATION));
    }

    private function write(string $bytes): bool
    {
        \assert($this->file !== null);
        Quiet::begin();
        try {
            // On a full disk fwrite() raises a notice.
            return \fwrite($this->file, $bytes) === \strlen($bytes);
        } finally {
            Quiet::end();
        }
    }

    /** @param float $seconds how long to wait; 0: one try */
    private function lock(float $seconds = 0.0): bool
    {
        $file = $this->file ?? $this->open();

        return $file !== null && FileLock::take($file, $seconds);
    }

    /** @return ?resource */
    private function open()
    {
        // Not a mode that creates the file: one that was deleted with its epoch must stay deleted.
        $file = Ownership::flaw($this->path) === null ? Quiet::call(fn() => \fopen($this->path, 'r+e')) : null;

        return $this->file = \is_resource($file) ? $file : null;
    }
}
