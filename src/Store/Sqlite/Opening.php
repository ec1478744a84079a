<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Driver\Sqlite\SqliteConnection;
use Larder\System\Failure;
use Larder\System\Fork;
use Larder\System\MachineBoot;

/**
 * Opens a connection to a database that is whole, of this boot and of this version, and sets the connection up.
 *
 * A web server's process keeps its connection from request to request, and only the first request checks all that. What
 * may go wrong later (the file was replaced, the epoch has ended) shows in the file's inode and in the change counter.
 */
final class Opening
{
    /**
     * @param int   $budget  bytes
     * @param float $timeout seconds
     */
    public function __construct(
        private readonly DatabaseFiles $files,
        private readonly int $budget,
        private readonly float $timeout,
    ) {}

    /**
     * @param ?array{int, string, string} $newest what DatabaseFiles::newest() has told this request; an epoch that has ended since has
     *                                            no change counter of that inode
     *
     * @throws Failure
     */
    public function open(?array $newest): Database
    {
        $pid = Fork::pid();
        Database::leaveToParent($pid);
        try {
            return $this->reuse($pid, $newest) ?? $this->asItIs($pid) ?? $this->files->locked($this->timeout, fn(): Database => $this->verified($pid));
        } catch (\PDOException $e) {
            throw Failure::because('sqlite', 'cannot open ' . $this->files->database, $e);
        }
    }

    /**
     * The connection that an earlier request of this process has set up, if there is one. That request has inspected the file. One
     * that no request has set up is opened and not read, until it is inspected.
     *
     * @param ?array{int, string, string} $newest
     */
    private function reuse(int $pid, ?array $newest): ?Database
    {
        $inode = $this->files->inode();
        if ($inode === 0 || !$this->isPersistent()) {
            return null;
        }
        [$start, $epoch, $bell] = $newest ?? $this->files->newest();
        if ($epoch === '') {
            return null;
        }
        $pdo = $this->connect($pid, $inode);
        if (!SqliteConnection::isKept($pdo) || $this->files->endIfCut($this->timeout)) {
            return null;
        }
        $log = SqliteConnection::logInode($this->files->database);
        if (!SqliteConnection::hasLog($pdo, $log)) {
            // PHP cannot close it, and as long as it is open SQLite takes its index for that of the log which now has the name.
            $this->files->locked($this->timeout, function () use ($inode): void {
                $this->files->inode() === $inode && $this->files->endWithoutLocks();
            });

            return null;
        }

        return SqliteConnection::resume($pdo) ? $this->database($pdo, $log, $epoch, $bell, $pid, $start) : null;
    }

    /**
     * Opens the database without the lock, so that a hundred processes can open at once. This is the usual case: there is
     * nothing to create or to heal. If another process ends the epoch meanwhile, the change counter is deleted, as for every
     * process that has the database open already.
     */
    private function asItIs(int $pid): ?Database
    {
        $this->files->inspect('', '-wal', '-shm', '-journal');
        $inode = $this->files->inode();
        // SQLite would open a database that this process cannot write for reading only. But this process could remove
        // nothing from it, so it must not serve anything from it.
        if ($inode === 0 || $this->files->size() === 0 || !\is_writable($this->files->database)) {
            return null;
        }
        SqliteConnection::mendModes($this->files->database);
        try {
            $pdo = $this->connect($pid, $inode);
            $log = $this->setUp($pdo);

            $database = $this->current($pdo, $log, $pid, $inode, MachineBoot::current());

            return $database !== null && $this->isBehind($database) ? null : $database;
        } catch (\PDOException) {
            // verified() finds out what is wrong, under the lock.
            return null;
        }
    }

    /**
     * The database on this connection, if it is of this version and belongs to this boot, this file and an epoch that has
     * not ended.
     *
     * @throws Failure|\PDOException
     */
    private function current(\PDO $pdo, int $log, int $pid, int $inode, MachineBoot $boot): ?Database
    {
        if (!Schema::isCurrent((int) SqliteConnection::text(SqliteConnection::value($pdo, 'PRAGMA user_version')))) {
            return null;
        }
        $known = $this->known($pdo);

        return $boot->is(new MachineBoot($known['boot'] ?? '', (int) ($known['booted'] ?? 0))) && ($known['file'] ?? '') === $this->files->identity($inode)
            ? $this->database($pdo, $log, $known['epoch'] ?? '', $known['bell'] ?? '', $pid) : null;
    }

    /**
     * Whether another program has cut the write-ahead log or written over it. SQLite takes what comes before the first damaged
     * frame for the whole, where no process has the database open (sqlite.org/fileformat2.html, section 4.1).
     */
    private function isBehind(Database $database): bool
    {
        // In this order: meanwhile others may commit.
        $reached = $database->counter->reached();

        return $database->number(SqliteStore::END) < $reached;
    }

    /** Null: the epoch has ended. */
    private function database(\PDO $pdo, int $log, string $epoch, string $bell, int $pid, int $start = 0): ?Database
    {
        $counter = $this->files->counter($epoch);

        return $bell === (string) $counter->inode() && $counter->isWritable() ? new Database($pdo, $epoch, $counter, $pid, $this->files, $log, $this->isPersistent(), $start) : null;
    }

    /** Opens a database that is whole, of this boot and of this version, or creates one. The caller holds the lock. */
    private function verified(int $pid): Database
    {
        $boot = MachineBoot::current();
        $database = $pdo = null;
        for ($attempt = 0; $attempt < 3; $attempt++) {
            if ($this->files->size() === 0) {
                $this->files->create($boot);
            }
            $inode = $this->files->inode();
            $this->files->inspect('', '-wal', '-shm', '-journal');
            SqliteConnection::mendModes($this->files->database);
            try {
                $pdo = $this->connect($pid, $inode);
                $log = $this->setUp($pdo);
                $database = $this->current($pdo, $log, $pid, $inode, $boot);
                if ($database !== null && $this->isBehind($database)) {
                    $this->files->commitsAreLost();
                    $database = null;
                }
                if ($database === null) {
                    // The database may be behind, an older release's, a restored backup, or half removed.
                    $pdo = null;
                    $this->files->create($boot);
                    continue;
                }

                return $database;
            } catch (\PDOException $e) {
                if (!Database::isDamage($e)) {
                    throw $e;
                }
                $database = $pdo = null;
                $this->files->clear(true);
            }
        }
        throw Failure::because('sqlite', $this->files->database . ' is damaged as soon as it is created; is the disk sound?');
    }

    private function connect(int $pid, int $inode): \PDO
    {
        // The name contains the process id, because a fork must not share the connection, the inode, because the file may be
        // replaced, and the time-out, which is not looked at again.
        return SqliteConnection::open($this->files->database, $this->isPersistent() ? "larder-$pid-$inode-" . Schema::VERSION . '-' . SqliteConnection::milliseconds($this->timeout) : null);
    }

    private function isPersistent(): bool
    {
        return Fork::mayKeepConnections();
    }

    /**
     * @return int the inode of the connection's write-ahead log
     *
     * @throws Failure|\PDOException
     */
    private function setUp(\PDO $pdo): int
    {
        return SqliteConnection::setUp($pdo, $this->files->database, Schema::APPLICATION, $this->timeout, self::logPages($this->budget));
    }

    /** Pages of the write-ahead log after which SQLite copies it into the database: a quarter of the budget, at most 4 MB. */
    public static function logPages(int $budget): int
    {
        return \max(16, \min(1000, \intdiv($budget, 4 * 4096)));
    }

    /** @return array<string, string> */
    private function known(\PDO $pdo): array
    {
        $known = [];
        foreach ($pdo->query('SELECT name, value FROM m', \PDO::FETCH_NUM) ?: [] as $row) {
            \assert(\is_array($row));
            $known[SqliteConnection::text($row[0])] = SqliteConnection::text($row[1]);
        }

        return $known;
    }
}
