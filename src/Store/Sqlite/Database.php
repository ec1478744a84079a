<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Driver\Sqlite\SqliteConnection;
use Larder\System\Failure;
use Larder\System\Fork;

/**
 * A connection to the database of a directory, with its change counter and its change log.
 *
 * A database file, its write-ahead log and its change counter belong together and to one epoch; where one of them is
 * missing or wrong, DatabaseFiles ends the epoch and begins another.
 */
final class Database extends SqliteConnection
{
    public readonly ChangeLog $changeLog;

    /** @var array<int, \WeakReference<self>> all databases that are open in this process */
    private static array $open = [];

    public function __construct(
        \PDO $pdo,
        public readonly string $epoch,
        public readonly ChangeCounter $counter,
        int $pid,
        private readonly DatabaseFiles $files,
        int $log,
        bool $isPersistent,
        /** Where the epoch began, unless the database itself was asked for its epoch: it holds no position below. */
        public readonly int $start = 0,
    ) {
        parent::__construct($pdo, $files->database, $pid, $isPersistent, $log);
        $this->changeLog = new ChangeLog($counter);
        self::$open[\spl_object_id($this)] = \WeakReference::create($this);
    }

    /** Changes the row with this id. */
    public function change(string $sql, int $id): void
    {
        $statement = $this->statement($sql);
        $statement->bindValue(1, $id, \PDO::PARAM_INT);
        $statement->execute();
    }

    /** Notes a fact about the whole database in the table m. */
    public function note(string $name, int|string $value): void
    {
        $statement = $this->statement('REPLACE INTO m(name, value) VALUES(?, ?)');
        $statement->bindValue(1, $name);
        $statement->bindValue(2, $value, \is_int($value) ? \PDO::PARAM_INT : \PDO::PARAM_STR);
        $statement->execute();
    }

    /** What note() has kept, a number; 0: nothing. */
    public function noted(string $name): int
    {
        return $this->number("SELECT value FROM m WHERE name = '$name'");
    }

    /**
     * Makes a commit over the frames that a killed writer may have left (see ChangeCounter). The caller holds the change
     * counter's lock.
     *
     * @throws \PDOException
     */
    public function heal(): void
    {
        $this->run("UPDATE m SET value = value + 1 WHERE name = 'heals'");
    }

    /** Ends the epoch, since its change log was damaged: what waited there cannot be told. */
    public function endWithoutLog(): void
    {
        $this->files->logIsLost();
        $this->counter->end();
    }

    /**
     * Handles an error: puts a damaged database aside, and the caller goes on with a new epoch.
     *
     * @param float $timeout seconds
     *
     * @throws Failure for every other error
     */
    public function failed(\PDOException $error, float $timeout): void
    {
        $counter = $this->counter;
        if (!self::isDamage($error) && $counter->exists() && $this->files->inode() !== 0) {
            throw Failure::because('sqlite', self::advice($error) . ': ' . $this->files->database, $error);
        }
        $files = $this->files;
        $files->locked($timeout, static function () use ($counter, $files): void {
            // Only if no other process has done so already: one damage, one new epoch.
            if ($counter->exists()) {
                $files->clear(true);
            }
        });
    }

    /** Bytes of the write-ahead log's file. */
    public function logSize(): int
    {
        return $this->files->logSize();
    }

    public function __destruct()
    {
        unset(self::$open[\spl_object_id($this)]);
        if (!$this->isOurs()) {
            $this->leave();
        } else {
            $this->leaveIfStranded();
        }
    }

    /** Closes it if others have deleted its write-ahead log. As long as it is open no other connection of this process reads the new one. */
    public function leaveIfStranded(): void
    {
        $this->isStranded() && $this->leave();
    }

    /**
     * In a forked child: closes what was opened before the fork.
     *
     * SQLite says to leak a connection after a fork rather than to touch it. PHP cannot leak: it closes open connections
     * when the child ends. And here a leaked connection is worse than a closed one. SQLite counts its locks by file in the
     * process's memory, which a fork copies. So the child's own new connection would rely on locks that only the parent
     * holds (os_unix.c, unixLock: a second shared lock is only counted), and the parent, when it closes, would delete the
     * write-ahead log under it. Closing first lets the child lock for itself. It takes nothing from the parent, whose
     * locks belong to the parent's process, and writes nothing while any process has the database open (wal.c,
     * sqlite3WalClose: only with an exclusive lock).
     *
     * All connections of the process must be closed, because they share those counts.
     */
    public static function leaveToParent(int $pid): void
    {
        foreach (self::$open as $id => $reference) {
            $database = $reference->get();
            if ($database === null || $database->pid !== $pid) {
                $database?->leave();
                unset(self::$open[$id]);
            }
        }
    }

    private function leave(): void
    {
        if (!$this->isOpen()) {
            return;
        }
        $this->counter->forget();
        try {
            // Under the lock, so that no process opens the database between the check and the closing.
            $this->files->locked(1.0, function (): void {
                if ($this->isStranded() && $this->counter->exists() && (SqliteConnection::logInode($this->files->database) !== 0 || Fork::mayKeepConnections())) {
                    // All other processes have closed the database, which deleted the write-ahead log that is open here,
                    // and a later process has made a new one. Closing would take that for its own and delete it, unless
                    // the database is deleted too (pager.c, databaseIsUnmoved). What PHP keeps it does not close, and its
                    // index would be taken for the new log's.
                    $this->isOurs() ? $this->files->endWithoutLocks() : $this->files->clear(false);
                }
                $this->close();
            });
        } catch (Failure) {
            // The lock could not be taken, so no process can write there either.
            $this->close();
        }
    }
}
