<?php

declare(strict_types=1);

namespace Larder\Driver\Sqlite;

use Larder\System\Failure;
use Larder\System\Fork;
use Larder\System\Ownership;

/**
 * A database file that must not forget, unlike a cache's: makes it where there is none, opens it and runs its transactions.
 *
 * A commit outlives this process; a power cut may take the last ones, but for those of a full one.
 */
final class DurableDatabase
{
    /** The first version with RETURNING (sqlite.org/lang_returning.html). */
    private const OLDEST = '3.35.0';

    private ?SqliteConnection $connection = null;

    /** The file's inode when the connection was opened: what goes into a file that was deleted since is lost. */
    private int $inode = 0;

    /**
     * @param int    $application the file's application_id
     * @param string $schema      the statements of an empty one
     * @param bool   $isFull      whether a commit waits for the disk
     * @param float  $timeout     seconds that a statement may wait for other processes
     * @param int    $logPages    pages of the write-ahead log after which SQLite copies it into the database
     */
    public function __construct(
        public readonly string $file,
        private readonly int $application,
        private readonly string $schema,
        private readonly bool $isFull,
        private readonly float $timeout,
        private readonly int $logPages,
    ) {}

    public function __destruct()
    {
        $this->close();
    }

    /** @throws Failure|\PDOException */
    public function connection(): SqliteConnection
    {
        $inode = $this->inode();

        return $this->inode === $inode && $this->connection?->isOurs() === true && !$this->connection->isStranded() ? $this->connection : $this->open($inode);
    }

    /**
     * One transaction, which holds other writers off from its start.
     *
     * @template T
     *
     * @param \Closure(SqliteConnection): T $work
     *
     * @return T
     *
     * @throws Failure|\PDOException
     */
    public function transaction(\Closure $work): mixed
    {
        $connection = $this->begin();
        try {
            $done = $work($connection);
            $connection->commit();
        } catch (\Throwable $throwable) {
            $this->rollBack($connection);
            throw $throwable;
        }
        if ($connection->isStranded()) {
            throw Failure::because('sqlite', "another process closed $this->file in the middle of a commit, which may be lost; do not read that file in a process that uses it");
        }

        return $done;
    }

    /**
     * Runs $work and throws what goes wrong there as its user's own exception.
     *
     * @template T
     *
     * @param \Closure(): T                   $work
     * @param class-string<\RuntimeException> $as
     * @param string                          $what is kept, for the message
     *
     * @return T
     *
     * @throws \RuntimeException of that class
     */
    public function attempt(\Closure $work, string $as, string $what): mixed
    {
        try {
            return $work();
        } catch (\PDOException|Failure $error) {
            $this->close();
            throw new $as($error instanceof Failure ? $error->getMessage() : "$what in " . \dirname($this->file) . ': ' . SqliteConnection::complaint($error, \basename($this->file)), 0, $error);
        }
    }

    /**
     * Begins a transaction, which the caller ends by SqliteConnection::commit() or rollBack().
     *
     * @throws Failure|\PDOException
     */
    public function begin(): SqliteConnection
    {
        $connection = $this->connection();
        $connection->begin();
        if ($connection->isStranded()) {
            $connection->rollBack();
            $connection = $this->connection();
            $connection->begin();
        }

        return $connection;
    }

    public function rollBack(SqliteConnection $connection): void
    {
        $connection->rollBack() || $this->close();
    }

    /** The next call opens it again. */
    public function close(): void
    {
        $connection = $this->connection;
        $this->connection = null;
        if ($connection?->isStranded() === true && $this->inode === $this->inode()) {
            $connection->closeStranded();
        }
    }

    private function open(int $inode): SqliteConnection
    {
        $this->close();
        if ($inode === 0) {
            Ownership::check('sqlite', $this->file);
            SqliteConnection::make($this->file, $this->application, $this->schema);
            $inode = $this->inode();
        }
        $this->inode = $inode;
        $isKept = Fork::mayKeepConnections();
        $pid = Fork::pid();
        // The name has all that setUp() sets and that another object may want otherwise.
        $pdo = SqliteConnection::open($this->file, $isKept ? "larder-$pid-$inode-" . SqliteConnection::milliseconds($this->timeout) . ($this->isFull ? '-full' : '') : null);
        $log = SqliteConnection::logInode($this->file);
        if (SqliteConnection::isKept($pdo)) {
            SqliteConnection::hasLog($pdo, $log) || throw Failure::because('sqlite', "this process has itself read $this->file (a backup?), which releases its locks there; restart PHP, and let another process read it");
            WalIndex::mend($this->file);
        } else {
            // A kept one's was inspected by the request that has set it up. SQLite reads it, and opens the others, with the first statement.
            foreach (['', '-wal', '-shm', '-journal'] as $part) {
                Ownership::check('sqlite', $this->file . $part);
            }
            SqliteConnection::mendModes($this->file);
        }
        if (!SqliteConnection::resume($pdo)) {
            $log = SqliteConnection::setUp($pdo, $this->file, $this->application, $this->timeout, $this->logPages, self::OLDEST, $this->isFull ? 'FULL' : 'NORMAL');
        }

        return $this->connection = new SqliteConnection($pdo, $this->file, $pid, $isKept, $log);
    }

    /** 0: there is no file. */
    private function inode(): int
    {
        \clearstatcache();

        return \is_file($this->file) ? (int) \fileinode($this->file) : 0;
    }
}
