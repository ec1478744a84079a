<?php

declare(strict_types=1);

namespace Larder\Driver\Sqlite;

use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\Fork;
use Larder\System\Quiet;

/**
 * A connection to an SQLite database: opens it, prepares its statements, runs its transactions and explains its errors.
 *
 * In a web server PHP keeps the connection from request to request. This object holds all prepared statements, so that a
 * forked child can drop all of them at once.
 *
 * A web request prepares each statement that it executes. Of a bare column SQLite then notes table, name and declared type,
 * 5,000 instructions; "SELECT +value" spares that.
 */
class SqliteConnection
{
    /** Error codes: sqlite.org/rescode.html. */
    private const CORRUPT = 11;
    private const CONSTRAINT = 19;
    private const NOT_A_DATABASE = 26;
    /** A file is shorter than another one says: the write-ahead log was deleted or cut while processes had it open. */
    private const SHORT_READ = 522;
    /** The index of the write-ahead log cannot grow: unlike for other files, SQLite does not say that the disk is full (os_unix.c, unixShmMap). */
    private const NO_ROOM_FOR_INDEX = 4874;

    /**
     * What a kept connection is left in, noted where PDO keeps it with the connection, in the mode of fetching by default (all
     * here name the mode that they need). PDO's own default means that the connection is not set up yet. Above it stands
     * the inode of the connection's write-ahead log, as far as there is room: PHP 8.5 keeps 16 bits of this mode, and two
     * logs that follow each other differ in the lowest ones.
     */
    private const READY = \PDO::FETCH_NUM;
    private const CHANGED = \PDO::FETCH_ASSOC;
    private const STATE = 0xf;
    private const BITS = 4;
    private const LOG = \PHP_VERSION_ID < 80500 ? 0x3ffffff0 : 0xfff0;

    /**
     * PDO::SQLITE_ATTR_OPEN_FLAGS, whose name PHP 8.5 moves, with SQLITE_OPEN_READWRITE (never create an empty file) and
     * SQLITE_OPEN_NOMUTEX: one thread alone uses a connection of PHP (sqlite.org/threadsafe.html, section 2).
     */
    private const OPEN_FLAGS = 1000;
    private const READ_WRITE_NO_MUTEX = 0x2 | 0x8000;
    /** PDO::SQLITE_ATTR_EXTENDED_RESULT_CODES. */
    private const EXTENDED_CODES = 1002;

    /** The first version with INSERT … ON CONFLICT DO UPDATE (sqlite.org/lang_upsert.html, section 3). */
    private const OLDEST = '3.24.0';

    /** The mode's bit for the user. */
    private const WRITABLE = 0o200;

    /** Milliseconds. */
    private const LONGEST_WAIT = 60_000;

    /** What follows a database's name while closeStranded() closes a connection to it. */
    private const APART = '.apart';

    /** Seconds to wait for the lock under which a file is made, which takes milliseconds. */
    private const GATE = 5.0;

    /** @var array<string, \PDOStatement> */
    private array $statements = [];

    /** @var array<string, \PDOStatement> those of execute() */
    private array $bound = [];

    /** @var array<string, array<int, mixed>> what is bound to them, by reference */
    private array $values = [];

    /** @var array<string, \PDOStatement> those of find() */
    private array $finding = [];

    /** What is bound to all of them, by reference. */
    private mixed $sought = '';

    /** What its user has prepared over it; as long as that lives, the connection is open. */
    public ?object $prepared = null;

    private ?\PDOStatement $begin = null;
    private ?\PDOStatement $commit = null;

    /** Whether there may be one to roll back at the end of the script. True before it begins: PHP's time limit may strike right after that. */
    private bool $inTransaction = false;

    /** @param int $log inode of the write-ahead log that it has open */
    public function __construct(private ?\PDO $pdo, private readonly string $file, public readonly int $pid, bool $isPersistent, private readonly int $log)
    {
        if ($isPersistent) {
            $reference = \WeakReference::create($this);
            // If a request ends in the middle of a transaction (out of time or memory), its lock on the database must not
            // stay with an idle process.
            \register_shutdown_function(static function () use ($reference): void {
                $connection = $reference->get();
                $connection?->inTransaction === true && $connection->rollBack();
            });
        }
    }

    /**
     * Opens an existing database file.
     *
     * @param ?string $persistent the name under which PHP keeps the connection for this process's next request; null: PHP does not
     *
     * @throws \PDOException
     */
    public static function open(string $file, ?string $persistent): \PDO
    {
        return new \PDO('sqlite:' . $file, null, null, [
            \PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION,
            \PDO::ATTR_PERSISTENT => $persistent ?? false,
            self::OPEN_FLAGS => self::READ_WRITE_NO_MUTEX,
            self::EXTENDED_CODES => true,
        ]);
    }

    /**
     * Makes the files beside a database writable for its user, if the database is.
     *
     * SQLite gives them the mode that the database has when it makes them (os_unix.c, findCreateFileMode). If it was read-only
     * at that time, no process could write to it afterwards.
     */
    public static function mendModes(string $file): void
    {
        \clearstatcache();
        foreach (['-wal', '-shm'] as $part) {
            if (\is_file($file . $part) && (\fileperms($file . $part) & self::WRITABLE) === 0 && (\fileperms($file) & self::WRITABLE) !== 0) {
                Quiet::call(static fn(): bool => \chmod($file . $part, 0o600));
            }
        }
    }

    /**
     * Makes a database file for open(), beside its place, and moves it there: no process meets half of one. One process at a time,
     * so that none replaces another's.
     *
     * @param int    $application the file's application_id
     * @param string $schema      its statements
     *
     * @throws \PDOException
     */
    public static function make(string $file, int $application, string $schema): void
    {
        $gate = FileLock::file("$file.gate");
        if ($gate === null || !FileLock::take($gate, self::GATE)) {
            return;
        }
        $new = $file . '.' . \bin2hex(\random_bytes(6));
        Quiet::begin();
        try {
            \clearstatcache();
            // What closeStranded() was killed over.
            \is_file($file) || !\is_file($file . self::APART) || \rename($file . self::APART, $file);
            \clearstatcache();
            $handle = \is_file($file) ? null : FileLock::file($new);
            if ($handle !== null) {
                \fclose($handle);
                $pdo = new \PDO('sqlite:' . $new, null, null, [\PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION]);
                $pdo->exec("PRAGMA application_id=$application;$schema");
                // Here no other process is at it: one that changes the mode of a file that others open is told at once that it is locked.
                self::value($pdo, 'PRAGMA journal_mode=WAL');
                $pdo = null;
                \chmod($new, 0o600) && \rename($new, $file);
            }
        } finally {
            foreach ([$new, "$new-wal", "$new-shm"] as $left) {
                \is_file($left) && \unlink($left);
            }
            Quiet::end();
            \fclose($gate);
        }
    }

    /**
     * Inode of a database's write-ahead log; 0: there is none.
     *
     * The last process to close a database deletes its log. SQLite knows the last one by locks on the database's file, and POSIX
     * releases them when the process that holds them closes that file, which it may have opened to copy it (sqlite.org/howtocorrupt.html,
     * section 2.2). The log that such a process has open is then deleted by others, and another one lies under its name: what it
     * reads there is old, and what it writes there is lost.
     */
    public static function logInode(string $file): int
    {
        \clearstatcache();

        // fileinode() answers from is_file()'s stat, so it cannot warn.
        return \is_file("$file-wal") ? (int) \fileinode("$file-wal") : 0;
    }

    /** Whether PHP kept the connection from an earlier request. Asks SQLite nothing. */
    public static function isKept(\PDO $pdo): bool
    {
        return \in_array(self::noted($pdo) & self::STATE, [self::READY, self::CHANGED], true);
    }

    /** Whether a connection that PHP kept has this write-ahead log open. */
    public static function hasLog(\PDO $pdo, int $inode): bool
    {
        return (self::noted($pdo) & self::LOG) === ($inode << self::BITS & self::LOG);
    }

    /**
     * Takes over a connection that PHP kept from an earlier request of this process. Asks SQLite nothing: each statement
     * costs more than all else here.
     *
     * @return bool false: the connection must be set up
     */
    public static function resume(\PDO $pdo): bool
    {
        $left = self::noted($pdo) & self::STATE;
        if ($left === self::CHANGED) {
            // A request that ran out of time or memory may have left a transaction open.
            $pdo->setAttribute(\PDO::ATTR_ERRMODE, \PDO::ERRMODE_SILENT);
            $pdo->exec('ROLLBACK');
            $pdo->setAttribute(\PDO::ATTR_ERRMODE, \PDO::ERRMODE_EXCEPTION);
        }

        return $left === self::READY;
    }

    /**
     * Sets up a new connection to a file in write-ahead mode.
     *
     * No mmap: if another program cuts the file short, SQLite must report an error and not die of SIGBUS (WalIndex
     * guards what it maps all the same). Writes do not wait for the disk: the caller must be able to lose them in a power cut.
     *
     * @param int    $application the file's application_id
     * @param float  $timeout     seconds that a statement may wait for other processes
     * @param int    $logPages    pages of the write-ahead log after which SQLite copies it into the database
     * @param string $oldest      the first version of SQLite that will do
     * @param string $synchronous OFF, NORMAL or FULL
     *
     * @throws Failure|\PDOException
     */
    public static function setUp(\PDO $pdo, string $file, int $application, float $timeout, int $logPages, string $oldest = self::OLDEST, string $synchronous = 'OFF'): int
    {
        $pdo->exec('PRAGMA busy_timeout=' . self::milliseconds($timeout));
        if (\version_compare(self::text($pdo->getAttribute(\PDO::ATTR_SERVER_VERSION)), $oldest, '<')) {
            throw Failure::because('sqlite', "needs SQLite $oldest or later; update it, or use another engine");
        }
        if (self::value($pdo, 'PRAGMA application_id') !== $application) {
            throw Failure::because('sqlite', 'the database does not belong to Larder; move it away, or name another directory');
        }
        if (self::value($pdo, 'PRAGMA journal_mode') !== 'wal' && self::value($pdo, 'PRAGMA journal_mode=WAL') !== 'wal') {
            throw Failure::because('sqlite', 'SQLite cannot use a write-ahead log there (a network file system?); name a local directory');
        }
        $pdo->exec("PRAGMA synchronous=$synchronous; PRAGMA mmap_size=0; PRAGMA cache_size=-4096; PRAGMA wal_autocheckpoint=$logPages;"
            . ' PRAGMA journal_size_limit=' . $logPages * 4096);
        $log = self::logInode($file);
        self::mark($pdo, self::READY, $log);

        return $log;
    }

    /** The first column of the first row; null: no row. */
    public static function value(\PDO $pdo, string $sql): mixed
    {
        $statement = $pdo->query($sql);

        return $statement === false ? null : ($statement->fetchAll(\PDO::FETCH_COLUMN)[0] ?? null);
    }

    public static function text(mixed $value): string
    {
        return \is_scalar($value) ? (string) $value : '';
    }

    /** A statement of this connection, prepared once. */
    public function statement(string $sql): \PDOStatement
    {
        return $this->statements[$sql] ??= ($this->pdo ?? $this->pdo())->prepare($sql);
    }

    /**
     * Runs a statement that is prepared once. Its values are bound once too, by reference: so integers stay integers, and no
     * call pays for binding.
     *
     * @param list<int|string|null> $values each an integer in every call, or in none
     * @param list<int>             $types  PDO's of the first values, which repeat; without, integers and texts
     */
    public function execute(string $sql, array $values = [], array $types = []): \PDOStatement
    {
        $statement = $this->bound[$sql] ?? $this->bind($sql, $values, $types);
        if ($values !== []) {
            $bound = &$this->values[$sql];
            foreach ($values as $i => $value) {
                $bound[$i] = $value;
            }
        }
        $statement->execute();

        return $statement;
    }

    /**
     * @param list<int|string|null> $values
     * @param list<int>             $types
     */
    private function bind(string $sql, array $values, array $types): \PDOStatement
    {
        $statement = ($this->pdo ?? $this->pdo())->prepare($sql);
        $this->values[$sql] = $values;
        foreach ($values as $i => $value) {
            $statement->bindParam($i + 1, $this->values[$sql][$i], $types === [] ? (\is_int($value) ? \PDO::PARAM_INT : \PDO::PARAM_STR) : $types[$i % \count($types)]);
        }

        return $this->bound[$sql] = $statement;
    }

    /**
     * The first row of a statement with one parameter, a blob.
     *
     * @return list<mixed>|false
     */
    public function find(string $sql, string $blob): array|false
    {
        $statement = $this->finding[$sql] ?? null;
        if ($statement === null) {
            $statement = $this->finding[$sql] = ($this->pdo ?? $this->pdo())->prepare($sql);
            $statement->bindParam(1, $this->sought, \PDO::PARAM_LOB);
        }
        $this->sought = $blob;
        $statement->execute();
        /** @var list<mixed>|false $row */
        $row = $statement->fetch(\PDO::FETCH_NUM);
        $statement->closeCursor();

        return $row;
    }

    /**
     * Runs a statement with named parameters.
     *
     * @param array<string, int|string> $values by parameter; those that begin with "b_" may have any bytes
     *
     * @return list<list<int|string>>
     *
     * @throws \PDOException
     */
    public function named(string $sql, #[\SensitiveParameter] array $values = []): array
    {
        $statement = $this->statement($sql);
        foreach ($values as $parameter => $value) {
            $statement->bindValue($parameter, $value, \str_starts_with($parameter, 'b_') ? \PDO::PARAM_LOB : (\is_int($value) ? \PDO::PARAM_INT : \PDO::PARAM_STR));
        }
        $statement->execute();

        /** @var list<list<int|string>> */
        return $statement->fetchAll(\PDO::FETCH_NUM);
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

    /** The first column of the first row; 0: no row. */
    public function number(string $sql): int
    {
        $value = $this->rows($sql)[0][0] ?? 0;

        return \is_int($value) ? $value : (int) (\is_string($value) ? $value : 0);
    }

    /** Whether this process opened the connection, and not a process that it was forked from. */
    public function isOurs(): bool
    {
        return $this->pid === Fork::pid();
    }

    /** Whether others have deleted the write-ahead log that this connection has open: see logInode(). */
    public function isStranded(): bool
    {
        return self::logInode($this->file) !== $this->log;
    }

    /**
     * Closes a stranded connection, whatever still refers to it: as long as it is open, this process takes its index for that of the
     * log which now has the name.
     *
     * SQLite would take that log for its own and delete it, with what a killed process has left there, unless the database is
     * elsewhere (pager.c, databaseIsUnmoved).
     */
    public function closeStranded(): void
    {
        $gate = self::logInode($this->file) === 0 || Fork::mayKeepConnections() ? null : FileLock::file("$this->file.gate");
        if ($gate === null || !FileLock::take($gate, self::GATE)) {
            $this->close();

            return;
        }
        Quiet::begin();
        try {
            \rename($this->file, $this->file . self::APART);
            $this->close();
            \rename($this->file . self::APART, $this->file);
        } finally {
            Quiet::end();
            \fclose($gate);
        }
    }

    /** @throws \PDOException */
    public function begin(): void
    {
        self::mark($this->pdo(), self::CHANGED, $this->log);
        $this->begin ??= $this->pdo()->prepare('BEGIN IMMEDIATE');
        $this->inTransaction = true;
        $this->begin->execute();
    }

    /**
     * Begins a transaction that only reads.
     *
     * @throws \PDOException
     */
    public function beginReading(): void
    {
        self::mark($this->pdo(), self::CHANGED, $this->log);
        $begin = $this->statement('BEGIN');
        $this->inTransaction = true;
        $begin->execute();
    }

    /** @throws \PDOException */
    public function commit(): void
    {
        ($this->commit ??= $this->pdo()->prepare('COMMIT'))->execute();
        $this->inTransaction = false;
        self::mark($this->pdo(), self::READY, $this->log);
    }

    /** Rolls back a transaction. False: it is not certain that the transaction has ended. */
    public function rollBack(): bool
    {
        $this->inTransaction = false;
        try {
            $this->run('ROLLBACK');
        } catch (\PDOException $e) {
            // After some errors SQLite has rolled back by itself: sqlite.org/lang_transaction.html, section 3.
            if (!\str_contains($e->getMessage(), 'no transaction is active')) {
                return false;
            }
        }
        self::mark($this->pdo(), self::READY, $this->log);

        return true;
    }

    /** Runs a statement that waits for other processes for another time (milliseconds) than all others. */
    public function waiting(int $milliseconds, string $sql): int
    {
        $usual = $this->number('PRAGMA busy_timeout');
        self::mark($this->pdo(), self::CHANGED, $this->log);
        $this->run("PRAGMA busy_timeout=$milliseconds");
        try {
            return $this->number($sql);
        } finally {
            $this->run("PRAGMA busy_timeout=$usual");
            self::mark($this->pdo(), self::READY, $this->log);
        }
    }

    /** Notes what the next request of this process would find. */
    private static function mark(\PDO $pdo, int $state, int $log): void
    {
        $pdo->setAttribute(\PDO::ATTR_DEFAULT_FETCH_MODE, $state | $log << self::BITS & self::LOG);
    }

    private static function noted(\PDO $pdo): int
    {
        $noted = $pdo->getAttribute(\PDO::ATTR_DEFAULT_FETCH_MODE);

        return \is_int($noted) ? $noted : 0;
    }

    /** What is wrong with a database that must not forget, and what to do. */
    public static function complaint(\PDOException $error, string $file): string
    {
        return self::isDamage($error) ? "the database is damaged; move $file away (what is readable: sqlite3 FILE .dump), and start anew" : self::advice($error) . ' (' . $error->getMessage() . ')';
    }

    public static function isDamage(\PDOException $error): bool
    {
        $code = self::code($error);

        return $code === self::SHORT_READ || ($code & 0xff) === self::CORRUPT || ($code & 0xff) === self::NOT_A_DATABASE;
    }

    /** Whether a statement was refused for a column that may not be empty, or a key that is there already. */
    public static function breaksConstraint(\PDOException $error): bool
    {
        return (self::code($error) & 0xff) === self::CONSTRAINT;
    }

    /** A damage that SQLite itself does not notice. */
    public static function damage(string $what): \PDOException
    {
        $error = new \PDOException($what);
        $error->errorInfo = ['HY000', self::CORRUPT, $error->getMessage()];

        return $error;
    }

    /** The extended result code, which refines the code in its upper bits (sqlite.org/rescode.html, section 2). */
    private static function code(\PDOException $error): int
    {
        $code = $error->errorInfo[1] ?? 0;

        return \is_int($code) ? $code : 0;
    }

    /** What an error means, for messages. */
    public static function advice(\PDOException $error): string
    {
        return match (self::code($error) === self::NO_ROOM_FOR_INDEX ? 13 : self::code($error) & 0xff) {
            5, 6 => 'another program keeps the database locked',
            8 => 'the database cannot be written; give its directory to the user who runs this',
            13 => 'the disk is full, or a quota reached; make room there',
            14 => 'a file of the database cannot be opened; its directory is gone or read-only, the disk is full, or the process has too many files open (ulimit -n)',
            10 => 'the disk gave an error; see whether it is full (df) or fails (dmesg)',
            default => 'an error from SQLite',
        };
    }

    protected function isOpen(): bool
    {
        return $this->pdo !== null;
    }

    protected function close(): void
    {
        $this->statements = $this->bound = $this->values = $this->finding = [];
        $this->begin = $this->commit = $this->prepared = null;
        $this->pdo = null;
    }

    private function pdo(): \PDO
    {
        return $this->pdo ?? throw Failure::because('sqlite', 'a connection from before the fork was used');
    }

    /** A busy time-out as SQLite wants it. */
    public static function milliseconds(float $timeout): int
    {
        return \min(self::LONGEST_WAIT, \max(1, (int) ($timeout * 1000)));
    }
}
