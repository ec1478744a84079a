<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Driver\Sqlite\DurableDatabase;
use Larder\Driver\Sqlite\SqliteConnection;
use Larder\System\Failure;
use Larder\System\Quiet;
use Larder\System\Signals;

/**
 * The SQLite database of one queue: makes it, opens it, runs its transactions, and says what is wrong with it.
 *
 * A message moves between four tables: ready, delayed, claimed and dead. Ready ones lie in the order in which they are handed
 * out and delayed ones in that of their times, without an index beside. Only a few are claimed at a time.
 */
final class QueueDatabase
{
    /** "LrdQ" */
    private const APPLICATION = 0x4C726451;

    /** Pages of the write-ahead log. */
    private const LOG = 1_000;

    /** Pages that are free, and times the pages in use, from which on the file is made smaller. */
    private const MANY = 1_000;
    private const MOSTLY = 3;

    /** Pages in use with which that would keep the others waiting for too long: 40 MB. */
    private const MOST = 10_000;

    /**
     * `rank` is the priority with its sign turned, `n` the place in the order of pushes, `sum` a checksum, `due` the time at
     * which a message is ready, free again, or died (milliseconds). The table `waiting` has the keys of what is ready or delayed,
     * and of what is claimed and has its key until it was handled. `claimed` has a row 0, whose token counts what waits: a claim
     * writes that page in any case. The one row of `state` knows the last n; up to where the log of pushes (PushLog) is in the
     * tables and how it ends there, that before it too; and how many messages the log may yet add.
     */
    private const SCHEMA = <<<'SQL'
        CREATE TABLE state (paused INTEGER NOT NULL, last INTEGER NOT NULL, epoch BLOB NOT NULL, applied INTEGER NOT NULL, tail BLOB NOT NULL, was BLOB NOT NULL, was_applied INTEGER NOT NULL, was_tail BLOB NOT NULL, room INTEGER NOT NULL);
        INSERT INTO state VALUES (0, 0, '', 0, '', '', 0, '', 0);
        CREATE TABLE ready (%1$s, PRIMARY KEY (rank, n)) WITHOUT ROWID;
        CREATE TABLE delayed (%1$s, PRIMARY KEY (due, n)) WITHOUT ROWID;
        CREATE TABLE claimed (%1$s, token INTEGER NOT NULL, PRIMARY KEY (n));
        INSERT INTO claimed VALUES (0, 0, '', NULL, 0, '', 0, %2$d, '', 0);
        CREATE TABLE dead (%1$s, PRIMARY KEY (due, n)) WITHOUT ROWID;
        CREATE UNIQUE INDEX dead_id ON dead (id);
        CREATE TABLE waiting (key BLOB PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;
        SQL;

    private const COLUMNS = 'rank INTEGER NOT NULL, n INTEGER NOT NULL, id TEXT NOT NULL, key BLOB, attempts INTEGER NOT NULL,'
        . ' error BLOB NOT NULL, sum INTEGER NOT NULL, due INTEGER NOT NULL, body BLOB NOT NULL';

    private readonly DurableDatabase $database;

    public static function file(string $directory, string $queue): string
    {
        return "$directory/queue-$queue.db";
    }

    /** Whether the queue is there, or cannot be seen: in a directory of another user, or outside open_basedir. */
    public static function mayBe(string $directory, string $queue): bool
    {
        return Quiet::call(static function () use ($directory, $queue): bool {
            for ($nearest = $directory; $nearest !== '/' && !\is_dir($nearest); $nearest = \dirname($nearest));

            // Accepted messages may wait in the log after the database was moved away.
            return !\is_executable($nearest) || \file_exists(self::file($directory, $queue)) || \file_exists(PushLog::file($directory, $queue));
        });
    }

    public function __construct(string $directory, private readonly string $queue, bool $isFull, float $timeout)
    {
        $this->database = new DurableDatabase(self::file($directory, $queue), self::APPLICATION, \sprintf(self::SCHEMA, self::COLUMNS, \PHP_INT_MAX), $isFull, $timeout, self::LOG);
    }

    /**
     * @template T
     *
     * @param \Closure(SqliteConnection): T $work
     * @param bool                    $isTransaction false for what is one statement, which is one by itself
     *
     * @return T
     *
     * @throws QueueFailure
     */
    public function run(\Closure $work, bool $isTransaction = true): mixed
    {
        $held = Signals::hold();
        Quiet::begin();
        try {
            return $isTransaction ? $this->database->transaction($work) : $work($this->database->connection());
        } catch (\Throwable $error) {
            throw $this->explained($error);
        } finally {
            Quiet::end();
            unset($held);
        }
    }

    /**
     * Begins a transaction: SqliteConnection::commit() ends it, or failed(). The caller keeps PHP quiet and signals held.
     *
     * @throws QueueFailure
     */
    public function begin(): SqliteConnection
    {
        try {
            return $this->database->begin();
        } catch (\Throwable $error) {
            throw $this->explained($error);
        }
    }

    /** Rolls a transaction back. @return \Throwable what to throw */
    public function failed(SqliteConnection $connection, \Throwable $error): \Throwable
    {
        $this->database->rollBack($connection);

        return $this->explained($error);
    }

    /**
     * Gives the disk back what a backlog has taken that is drained by now: by itself SQLite keeps the pages for later messages.
     * Only a small part of the file is still in use then, so that this costs little. If another process uses the database, that
     * one does it later, when it has nothing to do.
     */
    public function shrink(): void
    {
        $held = Signals::hold();
        Quiet::begin();
        try {
            $connection = $this->database->connection();
            $free = $connection->number('PRAGMA freelist_count');
            if ($free < self::MANY) {
                return;
            }
            $used = $connection->number('PRAGMA page_count') - $free;
            if ($free < self::MOSTLY * $used || $used > self::MOST) {
                return;
            }
            $connection->waiting(1, 'VACUUM');
            $connection->waiting(1, 'PRAGMA wal_checkpoint(TRUNCATE)');
        } catch (\PDOException|Failure $error) {
            if (!$error instanceof \PDOException || SqliteConnection::isDamage($error)) {
                throw $this->explained($error);
            }
        } finally {
            Quiet::end();
            unset($held);
        }
    }

    private function explained(\Throwable $error): \Throwable
    {
        if ($error instanceof \TypeError) {
            // A column holds what this class has not written into it.
            $error = SqliteConnection::damage($error->getMessage());
        }
        if ($error instanceof \PDOException) {
            $this->database->close();

            // No statement of the queue's breaks a constraint, unless a row is not as it was written.
            return new QueueFailure("The queue \"$this->queue\": " . (SqliteConnection::isDamage($error) || SqliteConnection::breaksConstraint($error)
                ? "the database {$this->database->file} is damaged (" . $error->getMessage() . '). Move it away, and the queue starts anew; docs/queue.md says how to read what is readable'
                : SqliteConnection::advice($error) . ' (' . $error->getMessage() . "; {$this->database->file})"), 0, $error);
        }

        return $error instanceof Failure ? new QueueFailure($error->getMessage(), 0, $error) : $error;
    }
}
