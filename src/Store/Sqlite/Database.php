<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Store\StoreFailure;

/**
 * One connection to the database of a directory, its statements, and its bell.
 *
 * A database file, its write-ahead log and its bell belong together and to one epoch; where one of them is missing
 * or wrong, Home ends the epoch and begins another. Statements live here, and nowhere else, so that a forked child
 * can let go of all of them at once.
 */
final class Database
{
    /** PDO's own busy time-out, by which a connection that nobody has set up yet is known (pdo_sqlite, sqlite_driver.c). */
    private const UNTOUCHED = 60000;

    /** Error codes: sqlite.org/rescode.html. */
    private const CORRUPT = 11;
    private const NOT_A_DATABASE = 26;

    /** PDO::SQLITE_ATTR_OPEN_FLAGS and SQLITE_OPEN_READWRITE, whose names PHP 8.5 moves: never create an empty file. */
    private const OPEN_FLAGS = 1000;
    private const READ_WRITE = 2;

    /** @var array<string, \PDOStatement> */
    private array $statements = [];

    /** @var array<int, \WeakReference<self>> all that are open in this process */
    private static array $open = [];

    private function __construct(
        private ?\PDO $pdo,
        public readonly string $epoch,
        public readonly Bell $bell,
        private readonly int $pid,
        private readonly Home $home,
        /** Inode of the write-ahead log that this connection has open. */
        private readonly int $log,
    ) {
        self::$open[\spl_object_id($this)] = \WeakReference::create($this);
    }

    /**
     * @param float $timeout seconds
     *
     * @throws StoreFailure
     */
    public static function open(Home $home, int $budget, float $timeout): self
    {
        $pid = (int) \getmypid();
        self::leaveToParent($pid);
        try {
            return self::reuse($home, $pid, $timeout) ?? $home->locked(
                $timeout,
                static fn(): self => self::verified($home, $pid, $budget, $timeout),
            );
        } catch (\PDOException $e) {
            throw StoreFailure::because('sqlite', 'cannot open ' . $home->database, $e);
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

    /** Opened by this process, and not by one that it was forked from? */
    public function isOurs(): bool
    {
        return $this->pid === \getmypid();
    }

    /** Ends a transaction that could not be finished; false if it is not certain that it has ended. */
    public function rollBack(): bool
    {
        try {
            $this->run('ROLLBACK');
        } catch (\PDOException $e) {
            // SQLite has ended it by itself after some errors: sqlite.org/lang_transaction.html, section 3.
            return \str_contains($e->getMessage(), 'no transaction is active');
        }

        return true;
    }

    /**
     * With the bell's lock: a commit over what a killed writer may have left behind (see Bell).
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
     * @throws StoreFailure for every other error
     */
    public function failed(\PDOException $error, float $timeout): void
    {
        $bell = $this->bell;
        if (!self::isDamage($error) && $bell->exists() && $this->home->inode() !== 0) {
            throw StoreFailure::because('sqlite', self::advice($error) . ': ' . $this->home->database, $error);
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
    private static function leaveToParent(int $pid): void
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
        $home = $this->home;
        if ($this->bell->exists() && $home->logInode() !== $this->log) {
            // The parent and all others have closed the database since, and so deleted the log that is open here.
            // Closing would take a newer one for it and delete that, unless the database is gone too
            // (pager.c, databaseIsUnmoved).
            try {
                $home->locked(1.0, static fn() => $home->clear(false));
            } catch (StoreFailure) {
                // Then nobody can write there, and nothing is lost.
            }
        }
        $this->statements = [];
        $this->pdo = null;
    }

    private function pdo(): \PDO
    {
        return $this->pdo ?? throw StoreFailure::because('sqlite', 'a connection from before the fork was used');
    }

    /** The connection that an earlier request of this process has set up, if there is one. */
    private static function reuse(Home $home, int $pid, float $timeout): ?self
    {
        $inode = $home->inode();
        if ($inode === 0 || !self::isPersistent()) {
            return null;
        }
        $pdo = self::connect($home, $pid, $inode);
        if (self::value($pdo, 'PRAGMA busy_timeout') === self::UNTOUCHED) {
            return null;
        }
        // A request that ran out of time or memory may have left a transaction open.
        $pdo->setAttribute(\PDO::ATTR_ERRMODE, \PDO::ERRMODE_SILENT);
        $pdo->exec('ROLLBACK');
        $pdo->setAttribute(\PDO::ATTR_ERRMODE, \PDO::ERRMODE_EXCEPTION);
        $pdo->exec('PRAGMA busy_timeout=' . self::milliseconds($timeout));
        $epoch = self::text(self::value($pdo, "SELECT value FROM m WHERE name = 'epoch'"));
        $bell = $home->bell($epoch);

        return $bell->exists() ? new self($pdo, $epoch, $bell, $pid, $home, $home->logInode()) : null;
    }

    /** A connection to a database that is known to be whole, of this boot and of this version. With the lock. */
    private static function verified(Home $home, int $pid, int $budget, float $timeout): self
    {
        $boot = Boot::current();
        $database = $pdo = null;
        for ($attempt = 0; $attempt < 3; $attempt++) {
            if ($home->size() === 0) {
                $home->create($boot);
            }
            $inode = $home->inode();
            try {
                $pdo = self::connect($home, $pid, $inode);
                self::setUp($pdo, $budget, $timeout);
                $known = self::known($pdo);
                $bell = $home->bell($known['epoch'] ?? '');
                if (
                    !$boot->is(new Boot($known['boot'] ?? '', (int) ($known['booted'] ?? 0)))
                    || ($known['file'] ?? '') !== (string) $inode
                    || !$bell->exists()
                ) {
                    // Perhaps behind, or a copy of an older state (a restored backup), or half removed.
                    $pdo = null;
                    $home->create($boot);
                    continue;
                }
                $database = new self($pdo, $known['epoch'] ?? '', $bell, $pid, $home, $home->logInode());
                $database->mend();

                return $database;
            } catch (\PDOException $e) {
                if (!self::isDamage($e)) {
                    throw $e;
                }
                $database = $pdo = null;
                $home->clear(true);
            }
        }
        throw StoreFailure::because('sqlite', "$home->database is damaged as soon as it is made; is the disk sound?");
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

    private static function connect(Home $home, int $pid, int $inode): \PDO
    {
        return new \PDO('sqlite:' . $home->database, null, null, [
            \PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION,
            // Named after the process, for a fork must not share it, and the file, which may be another next time.
            \PDO::ATTR_PERSISTENT => self::isPersistent() ? "larder-$pid-$inode" : false,
            self::OPEN_FLAGS => self::READ_WRITE,
        ]);
    }

    /** A command line ends after one request, and its forked children must be able to close. */
    private static function isPersistent(): bool
    {
        return \PHP_SAPI !== 'cli' && \PHP_SAPI !== 'phpdbg' && \PHP_SAPI !== 'embed';
    }

    /**
     * No mmap: a file that is cut short by somebody else must give an error, not a SIGBUS.
     *
     * @throws StoreFailure|\PDOException
     */
    private static function setUp(\PDO $pdo, int $budget, float $timeout): void
    {
        $pdo->exec('PRAGMA busy_timeout=' . self::milliseconds($timeout));
        if (self::value($pdo, 'PRAGMA application_id') !== Schema::APPLICATION) {
            throw StoreFailure::because('sqlite', 'larder.db is not one of Larder\'s own; move it away, or name another directory');
        }
        if (self::value($pdo, 'PRAGMA journal_mode') !== 'wal' && self::value($pdo, 'PRAGMA journal_mode=WAL') !== 'wal') {
            throw StoreFailure::because('sqlite', 'no write-ahead log is possible there (a network file system?); name a local directory');
        }
        $log = self::logPages($budget);
        $pdo->exec("PRAGMA synchronous=OFF; PRAGMA mmap_size=0; PRAGMA cache_size=-4096; PRAGMA wal_autocheckpoint=$log;"
            . ' PRAGMA journal_size_limit=' . $log * 4096);
        Schema::upgrade($pdo, (int) self::text(self::value($pdo, 'PRAGMA user_version')));
    }

    /** Length at which the write-ahead log is written back, in pages: a quarter of the budget, at most 4 MB. */
    public static function logPages(int $budget): int
    {
        return \max(16, \min(1000, \intdiv($budget, 4 * 4096)));
    }

    /** @return array<string, string> */
    private static function known(\PDO $pdo): array
    {
        $known = [];
        foreach ($pdo->query('SELECT name, value FROM m') ?: [] as $row) {
            \assert(\is_array($row));
            $known[self::text($row[0])] = self::text($row[1]);
        }

        return $known;
    }

    private static function value(\PDO $pdo, string $sql): mixed
    {
        $statement = $pdo->query($sql);

        return $statement === false ? null : ($statement->fetchAll(\PDO::FETCH_COLUMN)[0] ?? null);
    }

    private static function text(mixed $value): string
    {
        return \is_scalar($value) ? (string) $value : '';
    }

    private static function milliseconds(float $timeout): int
    {
        // One more than PDO's own would say that nobody has been here (reuse()).
        return \min(self::UNTOUCHED - 1, \max(1, (int) ($timeout * 1000)));
    }

    private static function isDamage(\PDOException $error): bool
    {
        $code = self::code($error);

        return $code === self::CORRUPT || $code === self::NOT_A_DATABASE;
    }

    private static function code(\PDOException $error): int
    {
        $code = $error->errorInfo[1] ?? 0;

        return \is_int($code) ? $code & 0xff : 0;
    }

    private static function advice(\PDOException $error): string
    {
        return match (self::code($error)) {
            5, 6 => 'another program keeps the database locked',
            8 => 'the database cannot be written; give its directory to the user who runs this',
            13 => 'the disk is full, or a quota reached',
            10 => 'the disk gave an error',
            default => 'an error from SQLite',
        };
    }
}
