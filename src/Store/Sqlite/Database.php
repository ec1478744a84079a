<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\System\Failure;
use Larder\System\Process;

/**
 * One connection to the database of a directory, its statements, and its bell.
 *
 * A database file, its write-ahead log and its bell belong together and to one epoch; where one of them is missing
 * or wrong, DatabaseFiles ends the epoch and begins another. Statements live here, and nowhere else, so that a forked child
 * can let go of all of them at once.
 */
final class Database
{
    /** Error codes: sqlite.org/rescode.html. */
    private const CORRUPT = 11;
    private const NOT_A_DATABASE = 26;
    /** A file ends before what another one says is in it: the log was deleted or cut under those who have it open. */
    private const SHORT_READ = 522;

    /** @var array<string, \PDOStatement> */
    private array $statements = [];

    private bool $inTransaction = false;

    public readonly ChangeLog $tail;

    /** @var array<int, \WeakReference<self>> all that are open in this process */
    private static array $open = [];

    public function __construct(
        private ?\PDO $pdo,
        public readonly string $epoch,
        public readonly ChangeCounter $bell,
        private readonly int $pid,
        private readonly DatabaseFiles $home,
        /** Inode of the write-ahead log that this connection has open. */
        private readonly int $log,
        bool $isPersistent,
    ) {
        $this->tail = $home->tail($epoch);
        self::$open[\spl_object_id($this)] = $reference = \WeakReference::create($this);
        if ($isPersistent) {
            // A request that ends in the middle of a transaction (time, memory) would leave its lock on the database
            // to an idle process.
            \register_shutdown_function(static function () use ($reference): void {
                $database = $reference->get();
                $database?->inTransaction === true && $database->rollBack();
            });
        }
    }

    /** A statement of this connection, prepared once. */
    public function statement(string $sql): \PDOStatement
    {
        return $this->statements[$sql] ??= $this->pdo()->prepare($sql);
    }

    public function run(string $sql): void
    {
        $this->pdo()->exec($sql);
    }

    /** @return list<list<mixed>> */
    public function rows(string $sql): array
    {
        $statement = $this->statement($sql);
        $statement->execute();

        /** @var list<list<mixed>> */
        return $statement->fetchAll(\PDO::FETCH_NUM);
    }

    /** The first column of the first row; 0 if there is none. */
    public function number(string $sql): int
    {
        $value = $this->rows($sql)[0][0] ?? 0;

        return \is_int($value) ? $value : (int) (\is_string($value) ? $value : 0);
    }

    /** Changes the row with this id. */
    public function change(string $sql, int $id): void
    {
        $statement = $this->statement($sql);
        $statement->bindValue(1, $id, \PDO::PARAM_INT);
        $statement->execute();
    }

    /** Keeps something about the whole, in the table m. */
    public function note(string $name, int|string $value): void
    {
        $statement = $this->statement('INSERT INTO m(name, value) VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value');
        $statement->bindValue(1, $name);
        $statement->bindValue(2, $value, \is_int($value) ? \PDO::PARAM_INT : \PDO::PARAM_STR);
        $statement->execute();
    }

    /** Opened by this process, and not by one that it was forked from? */
    public function isOurs(): bool
    {
        return $this->pid === Process::id();
    }

    /** @throws \PDOException */
    public function begin(): void
    {
        $this->statement('BEGIN IMMEDIATE')->execute();
        $this->inTransaction = true;
    }

    /** @throws \PDOException */
    public function commit(): void
    {
        $this->statement('COMMIT')->execute();
        $this->inTransaction = false;
    }

    /** Ends a transaction that could not be finished; false if it is not certain that it has ended. */
    public function rollBack(): bool
    {
        $this->inTransaction = false;
        try {
            $this->run('ROLLBACK');
        } catch (\PDOException $e) {
            // SQLite has ended it by itself after some errors: sqlite.org/lang_transaction.html, section 3.
            return \str_contains($e->getMessage(), 'no transaction is active');
        }

        return true;
    }

    /**
     * With the bell's lock: a commit over what a killed writer may have left behind (see ChangeCounter).
     *
     * @throws \PDOException
     */
    public function heal(): void
    {
        $this->run("UPDATE m SET value = value + 1 WHERE name = 'heals'");
    }

    /**
     * What becomes of an error: a damaged database is put aside, and the caller goes on with a new epoch.
     *
     * @param float $timeout seconds
     *
     * @throws Failure for every other error
     */
    public function failed(\PDOException $error, float $timeout): void
    {
        $bell = $this->bell;
        if (!self::isDamage($error) && $bell->exists() && $this->home->inode() !== 0) {
            throw Failure::because('sqlite', self::advice($error) . ': ' . $this->home->database, $error);
        }
        $home = $this->home;
        $home->locked($timeout, static function () use ($bell, $home): void {
            // Unless somebody else has been here: one damage, one new epoch.
            if ($bell->exists()) {
                $home->clear(true);
            }
        });
    }

    /** Bytes of the write-ahead log's file. */
    public function logSize(): int
    {
        return $this->home->logSize();
    }

    public function __destruct()
    {
        unset(self::$open[\spl_object_id($this)]);
        if (!$this->isOurs()) {
            $this->leave();
        }
    }

    /**
     * In a forked child: closes what was opened before the fork.
     *
     * SQLite says not to touch a connection after a fork, and rather to leak it. PHP cannot leak: it closes at the
     * child's end what is still there. And here a leaked connection is worse than a closed one: SQLite counts its
     * locks by file in the process's memory, which a fork copies, so the child's own new connection would believe
     * in locks that only the parent has (os_unix.c, unixLock: a second shared lock is only counted), and the
     * parent, closing, would delete the log under it. Closing first lets the child lock for itself. It takes
     * nothing from the parent, whose locks are its process's, and writes nothing while anybody else has the
     * database open (wal.c, sqlite3WalClose: only with an exclusive lock).
     *
     * All connections of the process have to go, for they share those counts.
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
        if ($this->pdo === null) {
            return;
        }
        $this->bell->forget();
        $this->tail->forget();
        try {
            // With the lock, so that nobody opens the database between the look and the closing.
            $this->home->locked(1.0, function (): void {
                $log = $this->home->logInode();
                if ($log !== $this->log && $log !== 0 && $this->bell->exists()) {
                    // The parent and all others have closed the database, and so deleted the log that is open here;
                    // whoever came then has made a new one. Closing would take that for its own and delete it,
                    // unless the database is gone too (pager.c, databaseIsUnmoved).
                    $this->home->clear(false);
                }
                $this->close();
            });
        } catch (Failure) {
            // Then nobody can write there.
            $this->close();
        }
    }

    private function close(): void
    {
        $this->statements = [];
        $this->pdo = null;
    }

    private function pdo(): \PDO
    {
        return $this->pdo ?? throw Failure::because('sqlite', 'a connection from before the fork was used');
    }

    /** Heals what a killed writer left, if nobody is writing. */
    public function mend(): void
    {
        if (($this->bell->size() & 1) === 1 && $this->bell->tryLock()) {
            $healed = false;
            try {
                if ($this->bell->isLeftOdd()) {
                    $this->heal();
                }
                $healed = true;
            } finally {
                $this->bell->unlock($healed);
            }
        }
    }

    public static function isDamage(\PDOException $error): bool
    {
        $code = self::code($error);

        return $code === self::SHORT_READ || ($code & 0xff) === self::CORRUPT || ($code & 0xff) === self::NOT_A_DATABASE;
    }

    /** With the finer kind in the upper bits (sqlite.org/rescode.html, section 2). */
    private static function code(\PDOException $error): int
    {
        $code = $error->errorInfo[1] ?? 0;

        return \is_int($code) ? $code : 0;
    }

    private static function advice(\PDOException $error): string
    {
        return match (self::code($error) & 0xff) {
            5, 6 => 'another program keeps the database locked',
            8 => 'the database cannot be written; give its directory to the user who runs this',
            13 => 'the disk is full, or a quota reached',
            10 => 'the disk gave an error',
            default => 'an error from SQLite',
        };
    }
}
