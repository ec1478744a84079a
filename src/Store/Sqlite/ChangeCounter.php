<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\LockHolders;
use Larder\System\MachineBoot;
use Larder\System\Quiet;

/**
 * Tells in one stat whether anything changed, and lets one process write at a time.
 *
 * A file beside the database, named after its epoch (bell.<epoch>). Its first part holds the change log; behind that only its
 * size means something: it is a sequence lock, and grows with each change. First it grows by writing bytes, which is cheapest,
 * and then as a hole, so that it takes no more disk space and never has to be cut (ext4 ends at 16 TiB, after 4 million
 * million changes).
 *
 *     size modulo 4   2        nothing waits in the change log
 *                     0        something does
 *                     3, 1     a process commits, or has failed or died while doing so; before that it was 2, 0
 *
 *     commit   flock ─ size odd ─ COMMIT ─ size even ─ unlock        reader   size ─ (even: same as last time?)
 *     append   flock ─ record ─ size even ─ unlock                            └ no, or odd: SELECT; keep the size
 *
 * Why no change can be missed. A reader keeps a size s that it saw before it read the database, and later takes an
 * even size of s for "nothing changed". A commit lies between an odd and the next even size. If its odd size came
 * after the reader saw s, the size has outgrown s by then and never comes back. If it came before, then s, being
 * even, was made after that commit or by heal() below, and the reader's SELECT came after s: it has the change.
 * A change that is not yet between its two sizes has not been committed. No reader sees an appended change before the
 * size has grown; who reads while something waits applies it first.
 *
 * A writer may be killed anywhere. Before the odd size nothing has happened. After it the size stays odd, and no reader
 * takes an odd size for "nothing changed": readers ask the database. The killed writer's lock is free, and the process
 * that takes it makes a small commit before it makes the size even (Database::heal()). That commit is needed: a
 * writer killed inside COMMIT can leave complete frames in the write-ahead log that are not yet in its index
 * (sqlite.org/walformat.html, section 2.3); they come to life when the index is rebuilt, unless another commit has
 * been written over them. A process killed while it appends has changed nothing until the size has grown; what it has written
 * is written over.
 *
 * A file that grows over a page's edge is seen, and left by a killed writer, with the edge as its size (Linux writes page by
 * page). An edge is a multiple of 4, and tells that something waits: then a process that wants to know waits for the lock. No record's
 * step crosses one.
 *
 * Deleting the change counter ends the epoch: since() no longer finds it, and a writer checks for it after its commit.
 * Names are never used again, so a stat of the name is enough. A file shorter than its first part was cut by another program.
 */
final class ChangeCounter
{
    /** Bytes for the change log. */
    public const AREA = 1 << 20;

    /** Its size at first. */
    public const FIRST = self::AREA + 2;

    /** Bytes by which the file grows with each record, but for the first one. */
    public const STEP = 4;

    /** Bytes from which on the file grows as a hole. */
    private const SOLID = 8 * self::AREA;

    /** @var ?resource */
    private $file = null;
    private bool $held = false;

    /** Its size, as long as the lock is held, and when it was held last. */
    public int $size = 0;

    /** Whether the change log has been emptied for the next even size. */
    private bool $isEmptied = false;

    public function __construct(private readonly string $path) {}

    /** Whether a file of that size tells that nothing waits, and no process commits. */
    public static function isSettled(int $size): bool
    {
        return ($size & 3) === 2 && $size >= self::FIRST;
    }

    /** Whether something waits in a change log of that size, or another program has cut it. */
    public static function waits(int $size): bool
    {
        return ($size & 2) === 0 || $size < self::FIRST;
    }

    /** Its size in bytes; -1: the change counter was deleted, and the epoch has ended. */
    public function size(): int
    {
        \clearstatcache();

        return SqliteWatch::size($this->path);
    }

    /**
     * @return ?array{int, int} see ChangeLog::state(). Null too if it was not written since the machine's boot: then the first to open the
     *                          database ends the epoch, and all that a request sets would be of an older one
     */
    public function noted(int $size): ?array
    {
        DatabaseFiles::own($this->path);
        $written = \is_file($this->path) ? (int) \filemtime($this->path) : 0;

        return $written < MachineBoot::time() ? null : ChangeLog::state($this->path, $size);
    }

    /** @see ChangeLog::reached() */
    public function reached(): int
    {
        return ChangeLog::reached($this->path);
    }

    public function exists(): bool
    {
        \clearstatcache();

        return \file_exists($this->path);
    }

    /** 0: it was deleted. */
    public function inode(): int
    {
        \clearstatcache();

        return \is_file($this->path) ? (int) \fileinode($this->path) : 0;
    }

    /** Whether it exists and this process may write it. (A process that has it open already still can.) */
    public function isWritable(): bool
    {
        \clearstatcache();

        return \is_writable($this->path);
    }

    /**
     * Makes this process the only writer. False: the change counter was deleted.
     *
     * Polls instead of blocking: a stopped holder (SIGSTOP, a debugger) never releases the lock.
     *
     * @param float $timeout seconds
     *
     * @throws Failure if another process holds the lock for longer
     */
    public function lock(float $timeout): bool
    {
        if ($this->held) {
            // A signal handler uses the cache in the middle of a write.
            throw Failure::because('sqlite', 'a write was begun inside another one');
        }
        $file = $this->file ?? $this->open();
        if ($file === null) {
            return false;
        }
        LockHolders::add('sqlite', $this->path, $this);
        try {
            if (!FileLock::take($file, $timeout)) {
                throw Failure::because('sqlite', \sprintf('another process has been writing for %.2f s: %s', $timeout, $this->path));
            }
            $this->take($file);
        } finally {
            $this->held || LockHolders::remove($this->path, $this);
        }

        return true;
    }

    public function isHeld(): bool
    {
        return $this->held;
    }

    /** Makes this process the only writer if the lock is free; never waits. */
    public function tryLock(): bool
    {
        $file = $this->held ? null : $this->file ?? $this->open();
        if ($file === null) {
            return false;
        }
        try {
            LockHolders::add('sqlite', $this->path, $this);
            if (FileLock::take($file, 0.0)) {
                $this->take($file);
            }
        } catch (Failure) {
            // This process holds it already.
        } finally {
            $this->held || LockHolders::remove($this->path, $this);
        }

        return $this->held;
    }

    /** Whether the previous writer died between its odd and its even size. The caller holds the lock. */
    public function isLeftOdd(): bool
    {
        return ($this->size & 1) === 1;
    }

    /** Whether another program has cut the file short. The caller holds the lock. */
    public function isCut(): bool
    {
        return $this->size < self::FIRST;
    }

    /**
     * Makes the size odd before COMMIT: from now on every reader asks the database. The caller holds the lock.
     *
     * @throws Failure
     */
    public function ring(): void
    {
        if (($this->size & 1) === 0 && !$this->growTo($this->size + 1)) {
            throw Failure::because('sqlite', 'cannot make ' . $this->path . ' longer; is the disk full?');
        }
    }

    /** The next size at which the change log is empty. */
    public function sizeWhenEmpty(): int
    {
        return ($this->size + 1 & ~3) + 2;
    }

    /** How many records were appended since the change log was empty, at that size. The caller holds the lock. */
    public function steps(int $empty): int
    {
        // Of 2 the first, of STEP each other one, and 1 if a process was about to commit.
        return \intdiv($this->size - $empty + 2, self::STEP);
    }

    /**
     * Writes a record into the change log, and then grows; all of it under the lock. If the caller does not hold it, it is taken for
     * this, without waiting. Nothing of the application's runs meanwhile: the caller holds signals, and no object is freed. So
     * LockHolders need not know of it.
     *
     * @param bool $isHeld by the caller; not by what its signal handler has interrupted
     *
     * @return int the new size; -1: the file had another size, was deleted, could not be written, or its lock is held
     */
    public function append(int $at, string $record, int $size, bool $isHeld): int
    {
        $file = $this->held === $isHeld ? $this->file : null;
        if ($file === null || (!$isHeld && !\flock($file, \LOCK_EX | \LOCK_NB))) {
            return -1;
        }
        // On a full disk fwrite() raises a notice.
        Quiet::begin();
        try {
            // By its name: it may have been deleted.
            \clearstatcache();
            if (!\is_file($this->path) || \filesize($this->path) !== $size
                || \fseek($file, $at) !== 0 || \fwrite($file, $record) !== \strlen($record)) {
                return -1;
            }
            // As growTo(), without its calls.
            $step = ($size & 2) === 0 ? '....' : '..';
            $grown = $size + \strlen($step);
            if ($grown >= self::SOLID ? !\ftruncate($file, $grown) : \fseek($file, $size) !== 0 || \fwrite($file, $step) !== \strlen($step)) {
                return -1;
            }

            return $this->size = $grown;
        } finally {
            $isHeld || \flock($file, \LOCK_UN);
            Quiet::end();
        }
    }

    /** Writes the header of an empty change log. The caller holds the lock, and has made the size odd. */
    public function empty(string $header): void
    {
        $this->isEmptied = $this->write(0, $header);
    }

    /** Whether something waits in the change log. The caller holds the lock. */
    public function hasWaiting(): bool
    {
        return ($this->size & 2) === 0;
    }

    /**
     * Releases the lock; before that it makes the size even, if the change log has been emptied after COMMIT. If not, the size
     * stays odd, which makes readers slower, never wrong, and who writes next heals.
     *
     * May be called without the lock, and when an exception left lock() between taking the lock and noting it.
     */
    public function unlock(): void
    {
        $file = $this->file;
        if ($file === null) {
            return;
        }
        // A signal handler may throw here too.
        try {
            if ($this->held && $this->isEmptied) {
                $this->growTo($this->sizeWhenEmpty());
            }
        } finally {
            \flock($file, \LOCK_UN);
            $this->held = $this->isEmptied = false;
            LockHolders::remove($this->path, $this);
        }
    }

    /** Ends the epoch: without its change counter no process reads or writes in it any more. */
    public function end(): void
    {
        Quiet::remove($this->path);
    }

    /** In a forked child: the open file, and a lock on it, are the parent's too. */
    public function forget(): void
    {
        $this->file = null;
        $this->held = false;
    }

    /** Bytes of the change log. The caller holds the lock. */
    public function read(int $at, int $bytes): string
    {
        return $this->file === null || \fseek($this->file, $at) !== 0 ? '' : (string) \stream_get_contents($this->file, $bytes);
    }

    private function write(int $at, string $bytes): bool
    {
        if ($this->file === null) {
            return false;
        }
        // On a full disk fwrite() raises a notice.
        Quiet::begin();
        try {
            return \fseek($this->file, $at) === 0 && \fwrite($this->file, $bytes) === \strlen($bytes);
        } finally {
            Quiet::end();
        }
    }

    /** By up to STEP bytes. */
    private function growTo(int $size): bool
    {
        // A hole needs no disk space.
        if (($size < self::SOLID && $this->write($this->size, \substr('....', $this->size - $size)))
            || ($this->file !== null && \ftruncate($this->file, \max(0, $size)))) {
            $this->size = $size;

            return true;
        }

        return false;
    }

    /** @return ?resource */
    private function open()
    {
        DatabaseFiles::own($this->path);
        Quiet::begin();
        try {
            // Not a mode that creates the file: a deleted change counter must stay deleted.
            $file = \fopen($this->path, 'r+e');
        } finally {
            Quiet::end();
        }
        if ($file === false) {
            if ($this->exists()) {
                throw Failure::because('sqlite', 'cannot write ' . $this->path . '; give the directory to the user who runs this');
            }

            return null;
        }
        // Others write into it.
        \stream_set_read_buffer($file, 0);

        return $this->file = $file;
    }

    /** @param resource $file */
    private function take($file): void
    {
        $this->held = true;
        \fseek($file, 0, \SEEK_END);
        $this->size = \max(0, (int) \ftell($file));
    }
}
