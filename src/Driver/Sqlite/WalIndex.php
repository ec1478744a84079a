<?php

declare(strict_types=1);

namespace Larder\Driver\Sqlite;

use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\Quiet;

/**
 * The index of a write-ahead log, the file -shm beside a database, by which SQLite's processes know of each other's commits.
 *
 * SQLite always maps it into memory (sqlite.org/wal.html, section 6). If another program cuts it short, as a cleaner does
 * with `> larder.db-shm`, the kernel kills each process that looks into it: with SIGBUS, which PHP cannot catch. Therefore
 * nobody but root can open the file for writing once SQLite has it: its mode forbids that to the user's own programs too.
 * Only while a process opens the database, which takes a fraction of a millisecond, the mode allows it. And a process that
 * has kept a connection from an earlier request looks at the file's size before it uses the connection.
 */
final class WalIndex
{
    private const WRITABLE = 0o600;
    private const SEALED = 0o400;

    /** Bytes of the parts in which SQLite makes and maps it (wal.c, WALINDEX_PGSZ). */
    private const PART = 32_768;

    /** Bytes that no index reaches: it has a part for 16 MB of the write-ahead log. */
    private const MOST = 4 << 20;

    /**
     * @var list<resource> closing one would release the locks that SQLite holds on the same file
     *
     * @phpstan-ignore property.onlyWritten (kept open, and that is all)
     */
    private static array $mended = [];

    private readonly string $file;

    public function __construct(string $database)
    {
        $this->file = "$database-shm";
    }

    /**
     * Runs $work, in which SQLite opens the index. Many processes can do so at once.
     *
     * @template T
     *
     * @param string        $lock    the file that they lock
     * @param float         $timeout seconds
     * @param \Closure(): T $work
     *
     * @return T
     *
     * @throws Failure if another process replaces the files, and takes longer
     */
    public function opening(string $lock, float $timeout, \Closure $work): mixed
    {
        $handle = FileLock::file($lock) ?? throw Failure::because('sqlite', "cannot open $lock; make its directory writable for the user who runs this");
        if (!FileLock::take($handle, $timeout, \LOCK_SH)) {
            throw Failure::because('sqlite', "another process has held the lock $lock for $timeout s");
        }
        try {
            $this->unseal();

            return $work();
        } finally {
            \flock($handle, \LOCK_UN);
            // The last one of those who open it at once gets the lock.
            FileLock::take($handle, 0.0) && $this->seal();
            \fclose($handle);
        }
    }

    /** The caller holds the lock. */
    public function unseal(): void
    {
        $this->allow(self::WRITABLE);
    }

    /** The caller holds the lock. */
    public function seal(): void
    {
        $this->allow(self::SEALED);
    }

    /** Whether another program has removed it or cut it short. Ask only while this process has the database open. */
    public function isCut(): bool
    {
        \clearstatcache();

        return !\is_file($this->file) || \filesize($this->file) < self::PART;
    }

    /** Makes the file as long as what processes have mapped, with zeros, from which SQLite sees that it must make the index anew. */
    public function mend(): void
    {
        if (!$this->isCut()) {
            return;
        }
        Quiet::call(function (): void {
            if (!\is_file($this->file)) {
                return;
            }
            \chmod($this->file, self::WRITABLE);
            $handle = \fopen($this->file, 'r+e');
            if ($handle !== false) {
                \ftruncate($handle, self::MOST);
                self::$mended[] = $handle;
            }
            \chmod($this->file, self::SEALED);
        });
    }

    private function allow(int $mode): void
    {
        Quiet::call(fn(): bool => \is_file($this->file) && \chmod($this->file, $mode));
    }
}
