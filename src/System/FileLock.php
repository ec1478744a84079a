<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * A lock for the processes of a server: flock(2) on a file. The kernel releases it when its holder dies, in whatever way.
 *
 * A waiter polls with growing pauses and never blocks in the kernel: a stopped holder must not stop the others.
 *
 * All files here are opened close-on-exec (fopen()'s "e"): a lock belongs to the open file, so a program that the
 * application has started, and that had inherited it, would keep a dead process's lock.
 *
 * The static methods lock a file that the caller holds open. An object opens the file itself. It opens the file again
 * after a fork, because parent and child share an open file and with it the lock, and when the path names another file.
 * The object's callers keep PHP quiet (Quiet) around every call.
 */
final class FileLock
{
    /** Tries without a pause, 15 µs in all: most holders run on another core, and have finished before this process would have slept. */
    private const AT_ONCE = 40;

    /** @var ?resource */
    private mixed $handle = null;
    private int $pid = 0;
    private int $inode = 0;
    private int $opened = 0;
    private bool $isRestored = false;

    /**
     * @param string $engine  named in failures
     * @param float  $timeout seconds
     */
    public function __construct(
        private readonly string $engine,
        private readonly string $path,
        private readonly float $timeout,
    ) {}

    /** @return resource|null null: the file cannot be opened, or another user may have put it there */
    public static function file(string $path)
    {
        if (Ownership::flaw($path) !== null) {
            return null;
        }
        Quiet::begin();
        try {
            $handle = PrivateFile::open($path, 'c+');

            return $handle === false ? null : $handle;
        } finally {
            Quiet::end();
        }
    }

    /**
     * Locks an open file exclusively.
     *
     * @param resource $handle
     * @param float    $seconds how long to wait for another process; 0: one try
     */
    public static function take($handle, float $seconds): bool
    {
        $backoff = null;
        for ($tries = 1; !\flock($handle, \LOCK_EX | \LOCK_NB); $tries++) {
            if ($seconds <= 0.0 || ($tries > self::AT_ONCE && !($backoff ??= new Backoff($seconds))->wait())) {
                return false;
            }
        }

        return true;
    }

    /**
     * The open file. Opens it again if the path now names another file.
     *
     * @return resource
     *
     * @throws Failure
     */
    public function handle(): mixed
    {
        if ($this->handle !== null && $this->pid === Fork::pid()) {
            \clearstatcache();
            if (\fileinode($this->path) === $this->inode) {
                return $this->handle;
            }
        }

        return $this->open();
    }

    /** Grows when the file is opened again: what the caller knew of its content no longer holds. */
    public function opened(): int
    {
        return $this->opened;
    }

    public function inode(): int
    {
        return $this->inode;
    }

    /**
     * Whether a program has set the file's time of writing, as what restores a backup does, and it was not written to since:
     * its status then changed later than its content. A copy may have the inode of a deleted file.
     */
    public function isRestored(): bool
    {
        if ($this->isRestored && $this->handle !== null) {
            $this->isRestored = self::isSetBack(\fstat($this->handle));
        }

        return $this->isRestored;
    }

    /** @param array<string|int, int>|false $stat */
    private static function isSetBack(array|false $stat): bool
    {
        // A write and the change of the new file's mode may lie on both sides of a full second.
        return $stat !== false && $stat['ctime'] - $stat['mtime'] > 1;
    }

    /**
     * @return resource the file, locked by this process
     *
     * @throws Failure if another process holds it longer than the time-out
     */
    public function exclusive(): mixed
    {
        $backoff = null;
        while (($handle = $this->try()) === null) {
            $backoff ??= new Backoff($this->timeout);
            if (!$backoff->wait()) {
                throw Failure::because($this->engine, "another process has held the lock {$this->path} for {$this->timeout} s");
            }
        }

        return $handle;
    }

    /**
     * @return ?resource the file, locked by this process; null if another process holds the lock
     *
     * @throws Failure
     */
    public function try(): mixed
    {
        LockHolders::add($this->engine, $this->path, $this);
        $held = false;
        try {
            $handle = $this->handle();
            if (!\flock($handle, \LOCK_EX | \LOCK_NB, $wouldBlock)) {
                if ($wouldBlock !== 1) {
                    throw Failure::because($this->engine, "the file system of {$this->path} does not support locks; use a local one");
                }

                return null;
            }
            // Between opening and locking, the path may have come to name another file, which the others lock.
            if ($this->handle() !== $handle) {
                \flock($handle, \LOCK_UN);

                return null;
            }
            $held = true;

            return $handle;
        } finally {
            $held || LockHolders::remove($this->path, $this);
        }
    }

    public function release(): void
    {
        if ($this->handle !== null && $this->pid === Fork::pid()) {
            \flock($this->handle, \LOCK_UN);
        }
        LockHolders::remove($this->path, $this);
    }

    /**
     * @return resource
     *
     * @throws Failure
     */
    private function open(): mixed
    {
        $this->handle = null;
        $directory = \dirname($this->path);
        if (!\is_dir($directory)) {
            PrivateDirectory::make($directory);
        }
        Ownership::check($this->engine, $this->path);
        $handle = \fopen($this->path, 'c+e');
        if ($handle === false) {
            throw Failure::because($this->engine, "cannot open {$this->path} (" . Quiet::$reason . "); make its directory writable for the user who runs this, or name another one");
        }
        $stat = \fstat($handle);
        if ($stat === false || (($stat['mode'] & 0777) !== 0600 && !\chmod($this->path, 0600))) {
            throw Failure::because($this->engine, "{$this->path} belongs to another user; use a directory of this user's own");
        }
        // No read buffer: a read must see what other processes have written.
        \stream_set_read_buffer($handle, 0);
        $this->handle = $handle;
        $this->pid = Fork::pid();
        $this->inode = $stat['ino'];
        $this->isRestored = self::isSetBack($stat);
        $this->opened++;

        return $handle;
    }
}
