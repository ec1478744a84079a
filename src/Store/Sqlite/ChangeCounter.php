<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\LockHolders;
use Larder\System\Quiet;

/**
 * Tells in one stat whether anything changed, and lets one process write at a time.
 *
 * A file beside the database, named after its epoch (bell.<epoch>), whose size is a sequence lock. Its content means
 * nothing. Up to a megabyte it grows by writing a byte, which is cheapest, and then as a hole, so that it takes no more
 * disk space and never has to be cut (ext4 ends at 16 TiB, after 8 million million changes).
 *
 *     writer   flock ─ size odd ─ COMMIT ─ size even ─ unlock        reader   size ─ (even: same as last time?)
 *                                                                             └ no, or odd: SELECT; keep the size
 *
 * Why no change can be missed. A reader keeps a size s that it saw before it read the database, and later takes an
 * even size of s for "nothing changed". A commit lies between an odd and the next even size. If its odd size came
 * after the reader saw s, the size has outgrown s by then and never comes back. If it came before, then s, being
 * even, was made after that commit or by heal() below, and the reader's SELECT came after s: it has the change.
 * A change that is not yet between its two sizes has not been committed.
 *
 * A writer may be killed anywhere. Before the odd size nothing has happened. After it the size stays odd, and no reader
 * takes an odd size for "nothing changed": readers ask the database. The killed writer's lock is free, and the process
 * that takes it makes a small commit before it makes the size even (Database::heal()). That commit is needed: a
 * writer killed inside COMMIT can leave complete frames in the write-ahead log that are not yet in its index
 * (sqlite.org/walformat.html, section 2.3); they come to life when the index is rebuilt, unless another commit has
 * been written over them.
 *
 * Deleting the change counter ends the epoch: since() no longer finds it, and a writer checks for it after its commit.
 * Names are never used again, so a stat of the name is enough.
 */
final class ChangeCounter
{
    /** Bytes from which on the file grows as a hole. */
    private const SOLID = 1 << 20;

    /** @var ?resource */
    private $file = null;
    private bool $held = false;
    /** @var int<0, max> */
    private int $size = 0;

    public function __construct(private readonly string $path) {}

    /** Its size in bytes; -1: the change counter was deleted, and the epoch has ended. */
    public function size(): int
    {
        \clearstatcache();

        return SqliteWatch::size($this->path);
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

    /** Makes this process the only writer if nobody holds the lock; never waits. */
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

    /**
     * Makes the size odd before COMMIT: from now on every reader asks the database. The caller holds the lock.
     *
     * @throws Failure
     */
    public function ring(): void
    {
        if (($this->size & 1) === 0) {
            if (!$this->grow()) {
                throw Failure::because('sqlite', 'cannot make ' . $this->path . ' longer; is the disk full?');
            }
        }
    }

    /**
     * Makes the size even after COMMIT or ROLLBACK, and releases the lock. If the size cannot be made even it stays odd,
     * which makes readers slower, never wrong.
     *
     * May be called without the lock, and when an exception left lock() between taking the lock and noting it.
     */
    public function unlock(bool $finished = true): void
    {
        $file = $this->file;
        if ($file === null) {
            return;
        }
        // A signal handler may throw here too.
        try {
            if ($this->held && $finished && ($this->size & 1) === 1) {
                $this->grow();
            }
        } finally {
            \flock($file, \LOCK_UN);
            $this->held = false;
            LockHolders::remove($this->path, $this);
        }
    }

    /** Ends the epoch: without its change counter nobody reads or writes in it any more. */
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

        return $this->file = $file;
    }

    private function grow(): bool
    {
        if ($this->file === null) {
            return false;
        }
        $done = false;
        if ($this->size < self::SOLID) {
            // On a full disk fwrite() raises a notice.
            Quiet::begin();
            try {
                $done = \fwrite($this->file, '.') === 1;
            } finally {
                Quiet::end();
            }
        }
        // A hole needs no disk space.
        if (!$done && !\ftruncate($this->file, $this->size + 1)) {
            return false;
        }
        $this->size++;

        return true;
    }

    /** @param resource $file */
    private function take($file): void
    {
        $this->held = true;
        \fseek($file, 0, \SEEK_END);
        $this->size = \max(0, (int) \ftell($file));
    }
}
