<?php

declare(strict_types=1);

namespace Larder\Counter;

use Larder\Driver\Sqlite\DurableDatabase;
use Larder\Driver\Sqlite\SqliteConnection;

/**
 * Counters in an SQLite database of their own, counters.db, which all counters of a directory share. An addition is one
 * statement, and with it one transaction.
 *
 * The table `cell` is CombiningEngine's: how much of what each of its cells has ever collected is in the counter's value.
 */
final class SqliteEngine implements Engine
{
    /** "LrdC" */
    private const APPLICATION = 0x4C726443;

    /** Pages of the write-ahead log. */
    private const LOG = 2_000;

    /** SQLITE_CONSTRAINT_CHECK (sqlite.org/rescode.html). */
    private const CHECK = 275;

    /** A sum that does not fit becomes a float (sqlite.org/datatype3.html), which the check refuses. */
    private const SCHEMA = <<<'SQL'
        CREATE TABLE counter (name BLOB PRIMARY KEY, value INTEGER NOT NULL CHECK (typeof(value) = 'integer')) WITHOUT ROWID;
        CREATE TABLE cell (id INTEGER PRIMARY KEY, seen INTEGER NOT NULL);
        SQL;

    /** First: SQLite compiles it in half the time, and each web request compiles its statements. */
    private const ADD = 'UPDATE counter SET value = value + ? WHERE name = ? RETURNING value';
    private const BEGIN = 'INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value RETURNING value';

    private readonly DurableDatabase $database;

    public function __construct(string $directory, private readonly string $name, bool $isFull = false, float $timeout = self::TIMEOUT)
    {
        $this->database = new DurableDatabase("$directory/counters.db", self::APPLICATION, self::SCHEMA, $isFull, $timeout, self::LOG);
    }

    public function add(int $by): int
    {
        return $this->attempt($by, fn(): int => $this->sum($this->database->connection(), $by));
    }

    public function value(): int
    {
        return $this->attempt(0, fn(): int => $this->stored($this->database->connection()));
    }

    public function reset(): void
    {
        $this->attempt(0, fn(): int => $this->zero($this->database->connection()));
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
     * @throws CounterFailure
     */
    public function inTransaction(int $by, \Closure $work): mixed
    {
        return $this->attempt($by, fn(): mixed => $this->database->transaction($work));
    }

    public function sum(SqliteConnection $connection, int $by): int
    {
        return $this->execute($connection, self::ADD, [$by, $this->name])[0] ?? $this->execute($connection, self::BEGIN, [$this->name, $by])[0];
    }

    public function zero(SqliteConnection $connection): int
    {
        return $this->execute($connection, 'INSERT INTO counter (name, value) VALUES (?, 0) ON CONFLICT (name) DO UPDATE SET value = 0 RETURNING value', [$this->name])[0];
    }

    public function stored(SqliteConnection $connection): int
    {
        return $this->execute($connection, 'SELECT +value FROM counter WHERE name = ?', [$this->name])[0] ?? 0;
    }

    /** How much of a cell is in the value; null: the database does not know the cell. */
    public function seen(SqliteConnection $connection, int $cell): ?int
    {
        return $this->execute($connection, 'SELECT +seen FROM cell WHERE id = ?', [$cell])[0] ?? null;
    }

    public function see(SqliteConnection $connection, int $cell, int $seen): void
    {
        $this->execute($connection, 'INSERT INTO cell (id, seen) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seen = excluded.seen RETURNING seen', [$cell, $seen]);
    }

    /**
     * @param non-empty-list<int|string> $values
     *
     * @return list<int> the first column of the first row
     *
     * @throws \PDOException
     */
    private function execute(SqliteConnection $connection, string $sql, array $values): array
    {
        $statement = $connection->statement($sql);
        foreach ($values as $i => $value) {
            $statement->bindValue($i + 1, $value, \is_int($value) ? \PDO::PARAM_INT : \PDO::PARAM_LOB);
        }
        try {
            $statement->execute();
        } catch (\PDOException $error) {
            // PDO does not reset a statement whose first execution fails, and then it takes no values (pdo_sqlite, sqlite_statement.c).
            $statement->closeCursor();
            throw $error;
        }
        $value = $statement->fetchColumn();
        // The step after the row commits, and throws if it cannot.
        $statement->fetchColumn();

        return \is_int($value) ? [$value] : [];
    }

    /**
     * @template T
     *
     * @param \Closure(): T $work
     *
     * @return T
     *
     * @throws CounterFailure
     */
    private function attempt(int $by, \Closure $work): mixed
    {
        return $this->database->attempt(function () use ($by, $work): mixed {
            try {
                return $work();
            } catch (\PDOException $error) {
                throw ($error->errorInfo[1] ?? 0) === self::CHECK ? CounterOverflow::of($this->name, $by) : $error;
            }
        }, CounterFailure::class, 'The counters');
    }
}
