<?php

declare(strict_types=1);

namespace Larder\Counter;

use Larder\Driver\Sqlite\Connection;
use Larder\System\Failure;
use Larder\System\Process;

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

    private ?Connection $connection = null;

    public function __construct(
        private readonly string $directory,
        private readonly string $name,
        private readonly bool $isFull,
        private readonly float $timeout,
    ) {}

    public function add(int $by): int
    {
        return $this->run($by, fn(Connection $connection): int => $this->sum($connection, $by));
    }

    public function value(): int
    {
        return $this->run(0, $this->stored(...));
    }

    public function reset(): void
    {
        $this->run(0, $this->zero(...));
    }

    /**
     * One transaction, which holds other writers off from its start.
     *
     * @template T
     *
     * @param \Closure(Connection): T $work
     *
     * @return T
     *
     * @throws CounterFailure
     */
    public function inTransaction(int $by, \Closure $work): mixed
    {
        return $this->run($by, static function (Connection $connection) use ($work): mixed {
            $connection->begin();
            try {
                $done = $work($connection);
                $connection->commit();

                return $done;
            } catch (\Throwable $throwable) {
                $connection->rollBack();
                throw $throwable;
            }
        });
    }

    public function sum(Connection $connection, int $by): int
    {
        return $this->execute($connection, self::ADD, [$by, $this->name])[0] ?? $this->execute($connection, self::BEGIN, [$this->name, $by])[0];
    }

    public function zero(Connection $connection): int
    {
        return $this->execute($connection, 'INSERT INTO counter (name, value) VALUES (?, 0) ON CONFLICT (name) DO UPDATE SET value = 0 RETURNING value', [$this->name])[0];
    }

    public function stored(Connection $connection): int
    {
        return $this->execute($connection, 'SELECT value FROM counter WHERE name = ?', [$this->name])[0] ?? 0;
    }

    /** How much of a cell is in the value; null: the database does not know the cell. */
    public function seen(Connection $connection, int $cell): ?int
    {
        return $this->execute($connection, 'SELECT seen FROM cell WHERE id = ?', [$cell])[0] ?? null;
    }

    public function see(Connection $connection, int $cell, int $seen): void
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
    private function execute(Connection $connection, string $sql, array $values): array
    {
        $statement = $connection->statement($sql);
        foreach ($values as $i => $value) {
            $statement->bindValue($i + 1, $value, \is_int($value) ? \PDO::PARAM_INT : \PDO::PARAM_LOB);
        }
        $statement->execute();
        $value = $statement->fetchColumn();
        // The step after the row commits, and throws if it cannot.
        $statement->fetchColumn();

        return \is_int($value) ? [$value] : [];
    }

    /**
     * @template T
     *
     * @param \Closure(Connection): T $work
     *
     * @return T
     *
     * @throws CounterFailure
     */
    private function run(int $by, \Closure $work): mixed
    {
        try {
            return $work($this->connection());
        } catch (\PDOException $error) {
            if (($error->errorInfo[1] ?? 0) === self::CHECK) {
                throw CounterOverflow::of($this->name, $by);
            }
            $this->connection = null;
            throw new CounterFailure("The counters in $this->directory: " . (Connection::isDamage($error) ? 'the database is damaged; move counters.db away (SQLite can recover what is readable: .recover), and start anew' : Connection::advice($error) . ' (' . $error->getMessage() . ')'), 0, $error);
        } catch (Failure $failure) {
            $this->connection = null;
            throw new CounterFailure($failure->getMessage(), 0, $failure);
        }
    }

    private function connection(): Connection
    {
        if ($this->connection !== null && $this->connection->isOurs()) {
            return $this->connection;
        }
        $file = $this->directory . '/counters.db';
        \is_file($file) || Connection::make($file, self::APPLICATION, self::SCHEMA);
        $isKept = Connection::canPersist();
        $pdo = Connection::open($file, $isKept ? 'larder-counter' . ($this->isFull ? '-full' : '') : null);
        if (!Connection::resume($pdo, $this->timeout)) {
            Connection::setUp($pdo, self::APPLICATION, $this->timeout, self::LOG);
            $pdo->exec('PRAGMA synchronous=' . ($this->isFull ? 'FULL' : 'NORMAL'));
        }

        return $this->connection = new Connection($pdo, Process::id(), $isKept);
    }
}
