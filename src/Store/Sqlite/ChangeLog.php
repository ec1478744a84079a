<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use function Larder\append;

use Larder\Store\Change;
use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\Ownership;
use Larder\System\Quiet;

/**
 * Holds changes that have left their process and are not in the database yet. Processes append them to a file beside it,
 * named after the epoch (tail.<epoch>), in a fifth of the time that a commit takes.
 *
 *     file     generation 8 | end 8 | record | record | …
 *     record   length of the rest 4 | checksum 4 | length of key 4, expiry 8, limit 8, kind 1, writer 12, key, body
 *
 * A set that follows a miss has the kind b. Between its key and its body stand the length 2 of what comes before the payload
 * in its bounded form, the payload's length 4, and what comes before the payload.
 *
 * A process that appends takes the file's lock and never waits for it: if it fails to lock or to write, it does not
 * append. It writes the record where the header says that the last one ends, and then the new end, which lies within one
 * page and so is written at once or not at all. So what a killed process has left half written lies behind the end, where
 * nobody reads and the next process writes. Readers go from record to record by their lengths, up to the end, and search
 * for nothing: a value may hold records of its own.
 *
 * The process that holds the change counter's lock applies the records, from where the last one stopped. The
 * transaction that applies them notes in the database how far it got (`m`, "tail": generation and offset), so each record
 * is applied once, wherever a process is killed. When all records are applied and nobody appends, the file begins anew
 * with another generation.
 *
 * If the file is shorter than its end, or a record before the end does not have its checksum (CRC-32 of the rest, and of the
 * generation), another program has changed it. What waited there is lost then, and the epoch ends with it.
 *
 * A process compares the records that it has appended itself with the file, which costs a sixth of taking them apart.
 */
final class ChangeLog
{
    /** Bytes of a body; longer ones are not appended, since every appended body is written twice. */
    public const LONGEST_BODY = 16_384;

    private const HEADER = SqliteWatch::EMPTY_LOG;

    /** Bytes of the generation, and where the end stands. */
    private const GENERATION = 8;

    /** Bytes of a record before the rest. */
    private const HEAD = 8;
    private const FIXED = 33;

    /** Seconds to wait for the lock before reading the file without it. */
    private const PATIENCE = 0.01;

    /** Bytes from which on nobody appends: some process keeps the file from beginning anew. */
    private const LONGEST = 4_194_304;

    /** As many stats cost what opening the file does. */
    private const FEW = 8;

    private int $asked = 0;

    /** @var ?resource */
    private $file = null;

    /** Bytes of the file in which, as far as this process knows, no other process's change waits. */
    private int $known = self::HEADER;

    /** @var array<int, array{string, Change}> what this process has appended, by its record's offset: the rest of the record, and what it says */
    private array $own = [];

    /** Whether a change could not be appended since this process last read the file. */
    private bool $hasRefused = false;

    /** Whether the extension appends; null: not checked yet. */
    private static ?bool $inC = null;

    public function __construct(private readonly string $path) {}

    /** What a file begins with, in a new generation. */
    public static function header(): string
    {
        return \random_bytes(self::GENERATION) . \pack('J', self::HEADER);
    }

    /** False: changes may wait. Costs one stat. */
    public function isEmpty(): bool
    {
        \clearstatcache();

        return SqliteWatch::size($this->path) === self::HEADER;
    }

    /** As isEmpty(), unless this process knows a reason to read the file: its own change may have been cut off. */
    public function isSettled(): bool
    {
        return $this->own === [] && !$this->hasRefused && $this->isEmpty();
    }

    /** False: another program has removed it, and with it what waited. Costs one stat. */
    public function exists(): bool
    {
        \clearstatcache();

        return \file_exists($this->path);
    }

    /**
     * Whether another process has appended something that waits: for each read of a request that has begun. Costs a stat, and
     * one seek from the time on when opening the file pays. Misses what has exactly the length of what lay there before;
     * isEmpty() misses nothing.
     */
    public function hasOthers(): bool
    {
        if ($this->file === null && $this->asked++ < self::FEW) {
            \clearstatcache();
            $size = SqliteWatch::size($this->path);
        } else {
            $file = $this->file ?? $this->open();
            $size = $file === null || \fseek($file, 0, \SEEK_END) !== 0 ? -1 : \ftell($file);
        }

        // -1: another program has removed it.
        return $size !== -1 && $size !== $this->known && $size !== self::HEADER;
    }

    /**
     * False: not appended, since another process is appending, the disk is full, or the file has been deleted with its epoch,
     * or cut by another program.
     * By the extension it is appended also where the directory was moved away: SqliteStore::settle() finds out.
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
        $at = match (true) {
            $file === null => 0,
            self::$inC ??= \function_exists('Larder\append') => append($file, $rest, self::LONGEST),
            default => $this->put($file, $rest),
        };
        if ($at === 0) {
            $this->hasRefused = true;

            return false;
        }
        if ($at === self::HEADER) {
            $this->own = [];
        }
        $this->own[$at] = [$rest, $change];
        if ($at === $this->known || $at === self::HEADER) {
            $this->known = $at + self::HEAD + \strlen($rest);
        }

        return true;
    }

    /**
     * Appends a record, as the extension's append() does.
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
        Quiet::begin();
        try {
            \clearstatcache();
            $size = SqliteWatch::size($this->path);
            \fseek($file, 0);
            [$generation, $end] = self::parts((string) \fread($file, self::HEADER));
            if ($end < self::HEADER || $end > $size || $end >= self::LONGEST) {
                return 0;
            }
            $record = \pack('NN', \strlen($rest), self::sum($generation, $rest)) . $rest;
            // On a full disk fwrite() raises a notice.
            if (self::write($file, $end, $record) && self::write($file, self::GENERATION, \pack('J', $end + \strlen($record)))) {
                return $end;
            }
            // Nobody reads behind the end; there may be no room for anything else.
            \ftruncate($file, $end);

            return 0;
        } finally {
            Quiet::end();
            \flock($file, \LOCK_UN);
        }
    }

    /**
     * The waiting changes. The caller holds the change counter's lock.
     *
     * @param string $mark where the last applier stopped, as this method returned it; '' at first
     *
     * @return ?array{list<Change>, string} the changes in their order, and the mark behind them; null: another program has
     *         removed the file, cut it or written over it
     *
     * @throws Failure it cannot be opened
     */
    public function read(string $mark): ?array
    {
        // With the file's lock, what is wrong is not just being written.
        $isWhole = $this->lock(self::PATIENCE);
        $file = $this->file;
        if ($file === null) {
            return $this->exists() ? throw Failure::because('sqlite', Ownership::flaw($this->path) ?? "cannot open $this->path (" . Quiet::$reason . ')') : null;
        }
        \fseek($file, 0);
        $bytes = (string) \stream_get_contents($file);
        $isWhole && \flock($file, \LOCK_UN);
        [$generation, $end] = self::parts($bytes);
        $offset = \str_starts_with($mark, \bin2hex($generation) . ':') ? (int) \substr($mark, 2 * self::GENERATION + 1) : self::HEADER;
        $changes = [];
        $own = $this->own;
        $this->own = [];
        $this->hasRefused = false;
        $this->known = $end;
        $isSound = $offset <= $end && $end <= \strlen($bytes);
        while ($isSound && $offset < $end) {
            if (isset($own[$offset])) {
                [$rest, $change] = $own[$offset];
                $length = \strlen($rest);
                if ($offset + self::HEAD + $length <= $end && \substr_compare($bytes, $rest, $offset + self::HEAD, $length) === 0) {
                    $changes[] = $change;
                    $offset += self::HEAD + $length;
                    continue;
                }
            }
            $change = self::parse($bytes, $offset, $end, $generation);
            $isSound = $change !== null;
            $change === null || $changes[] = $change;
        }
        if (!$isSound && $isWhole) {
            return null;
        }

        return [$changes, $changes === [] && !$isSound ? $mark : \bin2hex($generation) . ":$offset"];
    }

    /** Begins the file anew if nothing was appended after the mark. The caller holds the change counter's lock and has committed what it read. */
    public function clear(string $mark): void
    {
        if (!$this->lock()) {
            return;
        }
        \assert($this->file !== null);
        $file = $this->file;
        Quiet::begin();
        try {
            \fseek($file, 0);
            [$generation, $end] = self::parts((string) \fread($file, self::HEADER));
            $size = \fstat($file)['size'] ?? 0;
            // First the header, by one call: whoever finds a file of more bytes than that looks at it.
            if (\bin2hex($generation) . ":$end" === $mark && $size > self::HEADER && self::write($file, 0, self::header())) {
                $this->known = self::HEADER;
                \ftruncate($file, self::HEADER);
            }
        } finally {
            Quiet::end();
            \flock($file, \LOCK_UN);
        }
    }

    /** In a forked child: the open file, and its lock, are the parent's too. */
    public function forget(): void
    {
        $this->file = null;
        $this->known = self::HEADER;
        $this->own = [];
    }

    /**
     * @param int $offset set to the one behind the record
     *
     * @return ?Change null: no whole record lies there
     */
    private static function parse(string $bytes, int &$offset, int $end, string $generation): ?Change
    {
        if ($end < $offset + self::HEAD + self::FIXED) {
            return null;
        }
        /** @var array{length: int, sum: int, key: int, expiry: int, limit: int} $head */
        $head = \unpack('Nlength/Nsum/Nkey/Jexpiry/Jlimit', $bytes, $offset);
        $length = $head['length'];
        $at = self::FIXED + $head['key'];
        if ($offset + self::HEAD + $length > $end || $length < $at) {
            return null;
        }
        $rest = \substr($bytes, $offset + self::HEAD, $length);
        if (self::sum($generation, $rest) !== $head['sum']) {
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

    /**
     * @param string $bytes the file, or its beginning
     *
     * @return array{string, int} generation and end; the end is 0 where there is no header
     */
    private static function parts(string $bytes): array
    {
        if (\strlen($bytes) < self::HEADER) {
            return ['', 0];
        }
        /** @var array{1: int} $end */
        $end = \unpack('J', $bytes, self::GENERATION);

        return [\substr($bytes, 0, self::GENERATION), $end[1] < self::HEADER ? 0 : $end[1]];
    }

    /** Of a record; in another generation its bytes have another one. */
    private static function sum(string $generation, string $rest): int
    {
        return \crc32($rest) ^ \crc32($generation);
    }

    /** @param resource $file */
    private static function write($file, int $at, string $bytes): bool
    {
        return \fseek($file, $at) === 0 && \fwrite($file, $bytes) === \strlen($bytes);
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
        if (!\is_resource($file)) {
            return null;
        }
        // Each read asks the file.
        \stream_set_read_buffer($file, 0);

        return $this->file = $file;
    }
}
