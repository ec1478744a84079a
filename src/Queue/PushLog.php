<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\System\Clock;
use Larder\System\Fork;
use Larder\System\Ownership;
use Larder\System\PrivateFile;
use Larder\System\Quiet;
use Larder\System\Signals;

/**
 * Messages on their way into a queue's database: a push appends a record to this file, and the process that next looks into the database
 * first brings them there. So a push neither opens SQLite nor waits for its lock.
 *
 *     header    "LrdQlog3" | epoch 8 | room 4 | checksum 4 | applied 4 | half of an epoch 4
 *     record    length 4 | checksum 4 | payload | index 4 | checksum 4 | seal 8           index: 1 for the first
 *     seal      epoch xor the place behind the record
 *     payload   id 28 | priority 4 | body
 *
 * Only who holds the database's write lock begins a log: so it can give room for so many messages as the queue's limit allows.
 * Who appends holds the file's lock, and appends only behind a whole record: then nothing ever follows a torn one, which a
 * process leaves that is killed while it writes. The epoch is random, so that no body can look like the end of a record, and
 * not even a copy of this log looks so in another place. Readers go from record to record by their lengths, and search for
 * nothing: a record that is damaged is passed over if its seal stands where its length says.
 *
 * A power cut may take the log's end and leave the database, which then knows more of the log than there is, until it has
 * grown again. So the database notes how the last record ended that it has. If the log does not say so there, all of it counts
 * as new, and some messages come a second time.
 *
 * If the database is deleted, what it had goes with it, and what it had not yet comes into the next one: for that the
 * header knows up to where a database has this log. A process that is late with that note writes it for an epoch that is over.
 *
 * Callers keep PHP quiet (Quiet) and signals held (Signals) around every call but push().
 *
 * @phpstan-type Pushed array{id: string, priority: int, body: string, isDamaged: bool}
 */
final class PushLog
{
    private const MAGIC = 'LrdQlog3';
    public const HEADER = 32;
    private const NOTE = 24;
    private const TAIL = 16;
    private const AROUND = 8 + 28 + 4 + self::TAIL;

    /** Bytes of a log after which a claim begins a new one. */
    public const LONG = 65_536;

    /** Bytes of a log; a push that would make it longer empties it into the database first. */
    private const SIZE = 262_144;

    /** Messages that a log may take. */
    public const ROOM = 4_000;

    /** Bytes of a body; larger ones go to the database directly. */
    private const BODY = 32_768;

    /** How often an appender tries to get the lock, which others hold for microseconds. */
    private const TRIES = 8;

    /** @var ?resource */
    private mixed $handle = null;
    private int $pid = 0;
    private bool $isLocked = false;

    private readonly string $file;
    private readonly string $waiters;

    public static function file(string $directory, string $queue): string
    {
        return "$directory/queue-$queue.log";
    }

    public function __construct(string $directory, string $queue, private readonly bool $isFull = false)
    {
        $this->file = self::file($directory, $queue);
        $this->waiters = "$directory/queue-$queue.waiters";
    }

    /**
     * Appends a message, and wakes a worker if one waits.
     *
     * @return ?string its id; null: it cannot be done here now, and nothing was done
     *
     * @throws QueueFailure it may be there or not
     */
    public function push(int $priority, string $body): ?string
    {
        // As Signals::hold() does, which need not be loaded where there are no signals.
        $held = \function_exists('pcntl_async_signals') ? Signals::hold() : null;
        Quiet::begin();
        try {
            $id = MessageId::next();
            if (!$this->append($id, $priority, $body)) {
                return null;
            }
            \clearstatcache();
            // Where no file can be opened, not even that of a class, the waiter looks by itself a second later.
            \is_dir($this->waiters) && \class_exists(Waiters::class) && (new Waiters($this->waiters))->wake(1);

            return $id;
        } finally {
            Quiet::end();
            unset($held);
        }
    }

    /** @throws QueueFailure */
    private function append(string $id, int $priority, string $body): bool
    {
        if (\strlen($body) > self::BODY || !$this->open('r+') || ($size = $this->lock(self::TRIES)) === null) {
            return false;
        }
        try {
            $start = $size < self::HEADER || $size >= self::SIZE ? '' : $this->bytes(0, self::HEADER);
            $header = self::header($start);
            $tail = $header === null || $size === self::HEADER ? '' : $this->bytes($size - self::TAIL, self::TAIL);
            if ($header === null || ($tail !== '' && \substr($tail, 8) !== self::seal($header[0], $size))) {
                return false;
            }
            $index = 1 + ($tail === '' ? 0 : self::int($tail, 0));
            if ($index > $header[1]) {
                return false;
            }
            $payload = $id . \pack('N', $priority & 0xFFFFFFFF) . $body;
            $sum = \pack('N', \crc32($payload));
            $seal = self::seal($header[0], $size + 8 + \strlen($payload) + self::TAIL);
            $this->write($size, \pack('N', \strlen($payload)) . $sum . $payload . \pack('N', $index) . $sum . $seal);

            return true;
        } finally {
            $this->unlock();
        }
    }

    /** Bytes of the log; 0: there is none. */
    public function size(): int
    {
        \clearstatcache();

        // Without the warning of a file that is not there, which takes longer than all of it.
        return \is_file($this->file) ? (int) \filesize($this->file) : 0;
    }

    /**
     * Reads records.
     *
     * @param array<string, array{int, string}> $applied epochs; up to where the log of each is in the database, and how it ends there
     *
     * @return ?array{string, int, string, list<Pushed>} epoch, end of the last whole record, how it ends, and records; null: there is no log
     *
     * @throws QueueFailure there is one that cannot be read
     */
    public function read(array $applied): ?array
    {
        $flaw = Ownership::flaw($this->file);
        $handle = $flaw === null ? $this->opened('r') : throw new QueueFailure("$flaw.");
        if ($handle === null) {
            return null;
        }
        \stream_set_read_buffer($handle, 0);
        $header = self::header($bytes = (string) \fread($handle, self::HEADER));
        if ($header === null && \preg_match('/^LrdQlog(?!3)[0-9]/', $bytes) === 1) {
            throw new QueueFailure("Nothing was done: $this->file is of another release of Larder; empty the queue with that one, or move the file away to go on without its messages.");
        }
        $epoch = $header[0] ?? $this->firstEpoch((string) \stream_get_contents($handle));
        if ($epoch === null) {
            return null;
        }
        [$start, $known] = $applied[$epoch] ?? [\substr($bytes, self::NOTE + 4, 4) === \substr($epoch, -4) ? self::int($bytes, self::NOTE) : self::HEADER, ''];
        $at = $start > self::HEADER && $start <= $this->size() ? self::TAIL : 0;
        $start = $at === 0 ? self::HEADER : $start;
        $all = (string) \stream_get_contents($handle, null, $start - $at);
        if ($at > 0 && (!\str_starts_with($all, $known) || \substr($all, $at - 8, 8) !== self::seal($epoch, $start))) {
            $at = 0;
            $start = self::HEADER;
            $all = (string) \stream_get_contents($handle, null, $start);
        }
        $start -= $at;
        $records = [];
        while ($at < \strlen($all)) {
            $end = $at + 8 + self::TAIL + ($at + 8 > \strlen($all) ? \strlen($all) : self::int($all, $at));
            if ($end > \strlen($all) || \substr($all, $end - 8, 8) !== self::seal($epoch, $start + $end)) {
                if (\str_ends_with($all, self::seal($epoch, $start + \strlen($all)))) {
                    // A whole record is the last one, so this one is not: how long it was cannot be told.
                    throw $this->damaged();
                }
                // Torn, or being written just now.
                break;
            }
            $payload = self::payload($all, $at);
            if ($payload !== null) {
                $priority = self::int($payload, 28);
                $records[] = ['id' => \substr($payload, 0, 28), 'priority' => $priority > 0x7FFFFFFF ? $priority - 0x100000000 : $priority, 'body' => \substr($payload, 32), 'isDamaged' => false];
            } else {
                $records[] = ['id' => MessageId::next(), 'priority' => 0, 'body' => '', 'isDamaged' => true];
            }
            $at = $end;
        }

        return [$epoch, $start + $at, $at === 0 ? '' : \substr($all, $at - self::TAIL, self::TAIL), $records];
    }

    /**
     * The epoch of a log whose header is damaged, by its first record.
     *
     * @param string $records what follows the header
     *
     * @return ?string null: there is no record: the log was just being begun, or its data went in a power cut
     *
     * @throws QueueFailure that record is damaged too
     */
    private function firstEpoch(string $records): ?string
    {
        if (\trim($records, "\0") === '') {
            return null;
        }
        $payload = self::payload($records, 0) ?? throw $this->damaged();
        $end = 8 + \strlen($payload) + self::TAIL;

        return self::seal(\substr($records, $end - 8, 8), self::HEADER + $end);
    }

    private function damaged(): QueueFailure
    {
        return new QueueFailure("Nothing was done: $this->file is damaged, and messages that were accepted may be in it; move it away to go on without them.");
    }

    /** How a record ends that ends at this place; and of that, the epoch. */
    private static function seal(string $epoch, int $place): string
    {
        return $epoch ^ \pack('J', $place);
    }

    /** Of the record there; null: there is none that is whole. */
    private static function payload(string $bytes, int $at): ?string
    {
        $length = \strlen($bytes) < $at + self::AROUND ? 0 : self::int($bytes, $at);
        $payload = \substr($bytes, $at + 8, $length);

        return $length > 31 && $at + 8 + $length + self::TAIL <= \strlen($bytes) && \crc32($payload) === self::int($bytes, $at + 4) ? $payload : null;
    }

    /** Notes up to where a database has this log. */
    public function note(string $epoch, int $applied): void
    {
        if ($this->open('r+') && $this->handle !== null) {
            \fseek($this->handle, self::NOTE);
            \fwrite($this->handle, \pack('N', $applied) . \substr($epoch, -4));
        }
    }

    /** Keeps all processes from appending; false: one appends now. */
    public function close(): bool
    {
        return ($this->open('r+') || $this->open('x+')) && $this->lock(1) !== null;
    }

    /** Begins anew, after close() and after all is in the database. Lets others append. */
    public function restart(string $epoch, int $room): void
    {
        if ($this->handle === null) {
            return;
        }
        try {
            $header = self::MAGIC . $epoch . \pack('N', $room);
            \ftruncate($this->handle, 0);
            \fseek($this->handle, 0);
            \fwrite($this->handle, $header . \pack('N', \crc32($header)) . \pack('N', self::HEADER) . \substr($epoch, -4));
            $this->isFull && \fsync($this->handle);
        } finally {
            $this->unlock();
        }
    }

    /** Lets others append. */
    public function unlock(): void
    {
        if ($this->isLocked && $this->handle !== null) {
            \flock($this->handle, \LOCK_UN);
            if ($this->isFull) {
                // By fsync() it has a buffer, which takes what the disk then has no room for (php-src, main/streams/plain_wrapper.c, php_stdiop_sync()).
                $this->handle = null;
            }
        }
        $this->isLocked = false;
    }

    private function open(string $mode): bool
    {
        // A lock belongs to parent and child: a forked child opens its own.
        if ($this->handle !== null && $this->pid === Fork::pid() && $mode === 'r+') {
            return true;
        }
        $this->handle = null;
        \clearstatcache();
        if (\is_link($this->file)) {
            throw new QueueFailure("Nothing was done: $this->file is a symbolic link; remove it.");
        }
        $handle = $this->opened($mode);
        if ($handle === null) {
            return false;
        }
        $this->handle = $handle;
        $this->pid = Fork::pid();
        \stream_set_read_buffer($handle, 0);
        \stream_set_write_buffer($handle, 0);

        return true;
    }

    /**
     * @return ?resource null: there is no file, or with x+ there is one
     *
     * @throws QueueFailure it is there and cannot be opened
     */
    private function opened(string $mode): mixed
    {
        $handle = $mode === 'x+' ? PrivateFile::open($this->file, $mode) : \fopen($this->file, "{$mode}e");
        if ($handle === false && $mode !== 'x+') {
            \clearstatcache();
            if (\file_exists($this->file)) {
                // Another process may have made it just now.
                $handle = \fopen($this->file, "{$mode}e");
                $handle === false && throw new QueueFailure("Nothing was done: $this->file cannot be opened (" . Quiet::$reason . ').');
            }
        }

        return $handle === false ? null : $handle;
    }

    /** @return ?int<0, max> bytes of the file, which is locked now; null: another process has it locked */
    private function lock(int $tries): ?int
    {
        for ($try = 0; $this->handle !== null; $try++) {
            if (\flock($this->handle, \LOCK_EX | \LOCK_NB)) {
                $stat = \fstat($this->handle);
                if ($stat !== false && $stat['nlink'] === 1) {
                    $this->isLocked = true;

                    return \max(0, $stat['size']);
                }
                // It was deleted. The next call opens the new one.
                $this->handle = null;
            } elseif ($try < $tries) {
                Clock::pause(20 << $try);
            } else {
                break;
            }
        }

        return null;
    }

    /**
     * @param int<0, max> $size where
     *
     * @throws QueueFailure
     */
    private function write(int $size, string $record): void
    {
        \assert($this->handle !== null);
        \fseek($this->handle, $size);
        if (\fwrite($this->handle, $record) !== \strlen($record)) {
            $reason = Quiet::$reason;
            \ftruncate($this->handle, $size);
            throw new QueueFailure("The message was not accepted: $this->file cannot be written ($reason).");
        }
        if ($this->isFull && !\fdatasync($this->handle)) {
            throw new QueueFailure("It is not certain that the disk has the message: $this->file cannot be synchronized.");
        }
    }

    private function bytes(int $from, int $length): string
    {
        return $this->handle === null || $length < 1 || \fseek($this->handle, $from) !== 0 ? '' : (string) \fread($this->handle, $length);
    }

    /** @return ?array{string, int} epoch and room; null: it is no header */
    private static function header(string $bytes): ?array
    {
        return \strlen($bytes) >= self::HEADER && \str_starts_with($bytes, self::MAGIC) && self::int($bytes, 20) === \crc32(\substr($bytes, 0, 20))
            ? [\substr($bytes, 8, 8), self::int($bytes, 16)]
            : null;
    }

    private static function int(string $bytes, int $at): int
    {
        return \ord($bytes[$at]) << 24 | \ord($bytes[$at + 1]) << 16 | \ord($bytes[$at + 2]) << 8 | \ord($bytes[$at + 3]);
    }
}
