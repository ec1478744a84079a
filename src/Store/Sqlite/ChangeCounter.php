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
 * A file beside the database, named after its epoch, whose size is a sequence lock. What is in it means nothing:
 * it grows by a byte at a time, which is cheapest, up to a megabyte, and then as a hole, so that it takes no more
 * room and never has to be cut (ext4 ends at 16 TiB, after 8 million million changes).
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
 * Killed anywhere: before the odd size nothing has happened. After it the size stays odd, and an odd size is never
 * taken for "nothing changed": readers ask the database, and whoever gets the lock, which died with its holder,
 * makes a small commit of its own before it makes the size even (Database::heal()). That commit is needed: a
 * writer killed inside COMMIT can leave complete frames in the write-ahead log that are not yet in its index
 * (sqlite.org/walformat.html, section 2.3); they come to life when the index is rebuilt, unless another commit has
 * been written over them.
 *
 * Removing the bell ends the epoch: since() no longer finds it, and a writer looks for it after its commit. Names
 * are never used again, so a stat of the name is enough.
 */
final class ChangeCounter
{
    /** Bytes from which on it grows as a hole. */
    private const SOLID = 1 << 20;

    /** @var ?resource */
    private $file = null;
    private bool $held = false;
    /** @var int<0, max> */
    private int $size = 0;

    public function __construct(private readonly string $path) {}

    /** In bytes; -1 if the bell is gone, and the epoch with it. */
    public function size(): int
    {
        \clearstatcache();

        // filesize() then answers from what is_file() found, and cannot warn of a file that went meanwhile.
        return \is_file($this->path) ? (int) \filesize($this->path) : -1;
    }

    public function exists(): bool
    {
        \clearstatcache();

        return \is_file($this->path);
    }

    /** Whether it is there, and this process may ring it: a process that has it open already may still. */
    public function isWritable(): bool
    {
        \clearstatcache();

        return \is_writable($this->path);
    }

    /**
     * Becomes the only writer; false if the bell is gone.
     *
     * Tries rather than waits: a holder that was stopped (SIGSTOP, a debugger) never gives it back.
     *
     * @param float $timeout seconds
     *
     * @throws Failure if somebody else kept it for so long
     */
    public function lock(float $timeout): bool
    {
        if ($this->held) {
            // A signal handler that uses the cache, called in the middle of a write.
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

    /** Becomes the only writer if that is possible at once. */
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
            // This process holds it.
        } finally {
            $this->held || LockHolders::remove($this->path, $this);
        }

        return $this->held;
    }

    /** With the lock: did the writer before die between its odd and its even size? */
    public function isLeftOdd(): bool
    {
        return ($this->size & 1) === 1;
    }

    /**
     * With the lock, before COMMIT: from now on everybody asks the database.
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
     * After COMMIT or ROLLBACK. A bell that cannot be made even stays odd: slower, never wrong.
     *
     * Also without the lock, or when lock() was left by an exception between taking it and saying so.
     */
    public function unlock(bool $finished = true): void
    {
        $file = $this->file;
        if ($file === null) {
            return;
        }
        // Here too a signal handler may throw.
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

    /** Ends the epoch: without a bell nobody reads or writes in it any more. */
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
            // Not a mode that creates: a bell that is gone must stay gone.
            $file = \fopen($this->path, 'r+');
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
            // On a full disk fwrite() would raise a notice.
            Quiet::begin();
            try {
                $done = \fwrite($this->file, '.') === 1;
            } finally {
                Quiet::end();
            }
        }
        // A hole needs no room.
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
