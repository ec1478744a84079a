<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Driver\Sqlite\Connection;
use Larder\System\Failure;
use Larder\System\Process;
use Larder\System\Quiet;

/**
 * A queue in an SQLite database of its own, queue.db, which several queues of a directory share.
 *
 * What a process has pushed outlives its death by whatever cause, and with `synchronous=full` a power cut too. With "normal",
 * the default, SQLite may lose the last commits in a power cut and is never damaged by one (sqlite.org/pragma.html).
 *
 * A message is ready, delayed, claimed or dead. Two partial indexes keep the claim cheap however many wait: ready ones by
 * priority and age, and those with a time (delayed and claimed ones) by that. A claim first lets those be ready whose time
 * has come.
 */
final class SqliteTransport implements Transport
{
    private const READY = 0;
    private const DELAYED = 1;
    private const CLAIMED = 2;
    private const DEAD = 3;

    /** "LrdQ" */
    private const APPLICATION = 0x4C726451;

    /** Pages of the write-ahead log. */
    private const LOG = 1_000;

    /** Messages whose time has come that one claim lets be ready, so that a pile of them does not stop everybody. */
    private const PROMOTED = 500;

    private const SCHEMA = <<<'SQL'
        CREATE TABLE IF NOT EXISTS message (
            n INTEGER PRIMARY KEY AUTOINCREMENT,
            queue TEXT NOT NULL, state INTEGER NOT NULL, priority INTEGER NOT NULL, due INTEGER NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0, token TEXT NOT NULL DEFAULT '', key TEXT, error TEXT NOT NULL DEFAULT '', body BLOB NOT NULL
        );
        CREATE INDEX IF NOT EXISTS ready ON message (queue, priority DESC, n) WHERE state = 0;
        CREATE INDEX IF NOT EXISTS timed ON message (queue, due) WHERE state IN (1, 2);
        CREATE INDEX IF NOT EXISTS dead ON message (queue, n) WHERE state = 3;
        CREATE UNIQUE INDEX IF NOT EXISTS waiting ON message (queue, key) WHERE key IS NOT NULL AND state IN (0, 1);
        CREATE TABLE IF NOT EXISTS queue (name TEXT PRIMARY KEY, paused INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
        SQL;

    private ?Connection $connection = null;
    private readonly Waiters $waiters;

    public function __construct(
        private readonly string $directory,
        private readonly string $queue,
        private readonly int $limit,
        private readonly Retry $retry,
        private readonly bool $isFull,
        private readonly float $timeout,
    ) {
        $this->waiters = new Waiters("$directory/waiters-$queue");
    }

    public function push(array $messages): array
    {
        $ids = $this->inTransaction(function (Connection $connection) use ($messages): array {
            $now = self::now();
            $insert = $connection->statement('INSERT INTO message (queue, state, priority, due, key, body) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING');
            $ids = [];
            $this->checkRoom($connection, \count($messages));
            foreach ($messages as $message) {
                $insert->bindValue(1, $this->queue);
                $insert->bindValue(2, $message['delay'] > 0 ? self::DELAYED : self::READY, \PDO::PARAM_INT);
                $insert->bindValue(3, $message['priority'], \PDO::PARAM_INT);
                $insert->bindValue(4, $now + $message['delay'], \PDO::PARAM_INT);
                $insert->bindValue(5, $message['key']);
                $insert->bindValue(6, $message['body'], \PDO::PARAM_LOB);
                $insert->execute();
                $ids[] = $insert->rowCount() === 1 ? self::text(self::one($connection->statement('SELECT last_insert_rowid()'), [])) : $this->waiting($connection, (string) $message['key']);
            }

            return $ids;
        });
        $this->waiters->wake(\count($messages));

        return $ids;
    }

    public function claim(int $most, int $visibility, array $acknowledged = []): array
    {
        return $this->inTransaction(function (Connection $connection) use ($most, $visibility, $acknowledged): array {
            foreach ($acknowledged as [$id, $token]) {
                $this->remove($connection, $id, $token);
            }
            if (self::one($connection->statement('SELECT paused FROM queue WHERE name = ?'), [$this->queue]) === 1) {
                return [];
            }
            $now = self::now();
            $this->promote($connection, $now);
            $claim = $connection->statement(
                'UPDATE message SET state = ' . self::CLAIMED . ', due = ?, attempts = attempts + 1, token = ?'
                . ' WHERE n = (SELECT n FROM message WHERE queue = ? AND state = ' . self::READY . ' ORDER BY priority DESC, n LIMIT 1) RETURNING n, attempts, body',
            );
            $claimed = [];
            while (\count($claimed) < $most) {
                $token = \bin2hex(\random_bytes(8));
                $row = self::row($claim, [$now + $visibility, $token, $this->queue]);
                if ($row === null) {
                    break;
                }
                $claimed[] = ['id' => self::text($row[0]), 'token' => $token, 'body' => self::text($row[2]), 'attempts' => (int) self::text($row[1])];
            }

            return $claimed;
        });
    }

    public function acknowledge(array $claims): array
    {
        return $this->inTransaction(fn(Connection $connection): array => \array_map(fn(array $claim): bool => $this->remove($connection, $claim[0], $claim[1]), $claims));
    }

    public function release(string $id, string $token, int $delay, string $error): bool
    {
        $isReleased = $this->inTransaction(function (Connection $connection) use ($id, $token, $delay, $error): bool {
            $attempts = self::one($connection->statement('SELECT attempts FROM message WHERE n = ? AND token = ? AND state = ' . self::CLAIMED), [$id, $token]);
            if (!\is_int($attempts)) {
                return false;
            }
            $state = $attempts >= $this->retry->most ? self::DEAD : ($delay > 0 ? self::DELAYED : self::READY);

            return $this->change($connection, $id, $token, $state, self::now() + ($state === self::DEAD ? 0 : $delay), $error);
        });
        $isReleased && $delay <= 0 && $this->waiters->wake(1);

        return $isReleased;
    }

    public function extend(string $id, string $token, int $visibility): bool
    {
        return $this->inTransaction(fn(Connection $connection): bool => self::done($connection->statement('UPDATE message SET due = ? WHERE n = ? AND token = ? AND state = ' . self::CLAIMED), [self::now() + $visibility, $id, $token]) === 1);
    }

    public function bury(string $id, string $token, string $error): bool
    {
        return $this->inTransaction(fn(Connection $connection): bool => $this->change($connection, $id, $token, self::DEAD, self::now(), $error));
    }

    public function size(): int
    {
        return $this->inTransaction(fn(Connection $connection): int => $this->count($connection));
    }

    public function stats(): array
    {
        return $this->inTransaction(function (Connection $connection): array {
            $now = self::now();
            $this->promote($connection, $now);
            $count = fn(int $state): int => (int) self::text(self::one($connection->statement("SELECT COUNT(*) FROM message WHERE queue = ? AND state = $state"), [$this->queue]));
            $due = self::one($connection->statement('SELECT due FROM message WHERE queue = ? AND state = ' . self::READY . ' ORDER BY priority DESC, n LIMIT 1'), [$this->queue]);

            return [
                'ready' => $count(self::READY), 'delayed' => $count(self::DELAYED), 'claimed' => $count(self::CLAIMED), 'dead' => $count(self::DEAD),
                'paused' => self::one($connection->statement('SELECT paused FROM queue WHERE name = ?'), [$this->queue]) === 1,
                'late' => \is_int($due) ? \max(0, $now - $due) / 1000 : null,
            ];
        });
    }

    public function dead(int $limit): array
    {
        return $this->inTransaction(function (Connection $connection) use ($limit): array {
            $statement = $connection->statement('SELECT n, body, attempts, error, due FROM message WHERE queue = ? AND state = ' . self::DEAD . ' ORDER BY n LIMIT ?');
            $statement->execute([$this->queue, $limit]);
            /** @var list<list<mixed>> $rows */
            $rows = $statement->fetchAll(\PDO::FETCH_NUM);

            return \array_map(static fn(array $row): array => [
                'id' => self::text($row[0]), 'body' => self::text($row[1]), 'attempts' => (int) self::text($row[2]), 'error' => self::text($row[3]), 'at' => (int) self::text($row[4]),
            ], $rows);
        });
    }

    public function retryDead(array $ids): int
    {
        $count = $this->inTransaction(function (Connection $connection) use ($ids): int {
            $retry = 'UPDATE OR IGNORE message SET state = ' . self::READY . ', attempts = 0, token = \'\', due = ? WHERE queue = ? AND state = ' . self::DEAD;
            if ($ids === []) {
                return self::done($connection->statement($retry), [self::now(), $this->queue]);
            }

            return \array_sum(\array_map(fn(string $id): int => self::done($connection->statement("$retry AND n = ?"), [self::now(), $this->queue, $id]), $ids));
        });
        $this->waiters->wake($count);

        return $count;
    }

    public function purge(): int
    {
        return $this->inTransaction(fn(Connection $connection): int => self::done($connection->statement('DELETE FROM message WHERE queue = ? AND state IN (0, 1)'), [$this->queue]));
    }

    public function pause(bool $isPaused): void
    {
        $this->inTransaction(fn(Connection $connection): int => self::done($connection->statement('INSERT INTO queue (name, paused) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET paused = excluded.paused'), [$this->queue, (int) $isPaused]));
        $isPaused || $this->waiters->wake(\PHP_INT_MAX);
    }

    public function wait(int $milliseconds): void
    {
        // Registered before the last look: who commits after that sees the waiter.
        $this->waiters->register();
        [$ready, $due] = $this->inTransaction(fn(Connection $connection): array => [
            self::one($connection->statement('SELECT 1 FROM message WHERE queue = ? AND state = ' . self::READY . ' AND NOT EXISTS (SELECT 1 FROM queue WHERE name = ? AND paused = 1) LIMIT 1'), [$this->queue, $this->queue]),
            self::one($connection->statement('SELECT MIN(due) FROM message WHERE queue = ? AND state IN (1, 2)'), [$this->queue]),
        ]);
        if ($ready === null) {
            $this->waiters->wait(\is_int($due) ? \max(0, \min($milliseconds, $due - self::now())) : $milliseconds);
        }
    }

    /** Lets messages be ready whose time has come; a claimed one that had its last attempt is dead. */
    private function promote(Connection $connection, int $now): void
    {
        $select = $connection->statement('SELECT n, state, attempts FROM message WHERE queue = ? AND state IN (1, 2) AND due <= ? ORDER BY due LIMIT ' . self::PROMOTED);
        $select->execute([$this->queue, $now]);
        foreach ($select->fetchAll(\PDO::FETCH_NUM) as $row) {
            /** @var array{int, int, int} $row */
            $isDead = $row[1] === self::CLAIMED && $row[2] >= $this->retry->most;
            // One with its key may wait by now: then this one has been done, or will be.
            self::done($connection->statement('UPDATE OR REPLACE message SET state = ?, token = \'\', error = CASE WHEN ? THEN ? ELSE error END WHERE n = ?'), [
                $isDead ? self::DEAD : self::READY, (int) $isDead, 'Nobody acknowledged it in time, ' . $row[2] . ' times.', $row[0],
            ]);
        }
    }

    private function checkRoom(Connection $connection, int $more): void
    {
        $count = $this->count($connection);
        if ($count + $more > $this->limit) {
            throw new QueueFull("The queue \"$this->queue\" holds $count waiting messages, and may hold $this->limit (option \"limit\"). Start more workers (bin/larder queue:work $this->queue), or raise the limit.");
        }
    }

    private function count(Connection $connection): int
    {
        return (int) self::text(self::one($connection->statement('SELECT (SELECT COUNT(*) FROM message WHERE queue = ? AND state = 0) + (SELECT COUNT(*) FROM message WHERE queue = ? AND state = 1)'), [$this->queue, $this->queue]));
    }

    private function waiting(Connection $connection, string $key): string
    {
        return self::text(self::one($connection->statement('SELECT n FROM message WHERE queue = ? AND key = ? AND state IN (0, 1)'), [$this->queue, $key]));
    }

    private function remove(Connection $connection, string $id, string $token): bool
    {
        return self::done($connection->statement('DELETE FROM message WHERE n = ? AND token = ? AND state = ' . self::CLAIMED), [$id, $token]) === 1;
    }

    private function change(Connection $connection, string $id, string $token, int $state, int $due, string $error): bool
    {
        return self::done($connection->statement('UPDATE OR REPLACE message SET state = ?, due = ?, token = \'\', error = ? WHERE n = ? AND token = ? AND state = ' . self::CLAIMED), [$state, $due, \substr($error, 0, 8_000), $id, $token]) === 1;
    }

    /**
     * @template T
     *
     * @param \Closure(Connection): T $work
     *
     * @return T
     */
    private function inTransaction(\Closure $work): mixed
    {
        Quiet::begin();
        try {
            $connection = $this->connection();
            $connection->begin();
            try {
                $done = $work($connection);
                $connection->commit();

                return $done;
            } catch (\Throwable $throwable) {
                if (!$connection->rollBack()) {
                    $this->connection = null;
                }
                throw $throwable;
            }
        } catch (\PDOException $error) {
            $this->connection = null;
            throw new QueueFailure("The queue \"$this->queue\" in $this->directory: " . (Connection::isDamage($error) ? 'the database is damaged; move queue.db away (SQLite can recover what is readable: .recover), and start anew' : $error->getMessage()), 0, $error);
        } catch (Failure $failure) {
            throw new QueueFailure($failure->getMessage(), 0, $failure);
        } finally {
            Quiet::end();
        }
    }

    private function connection(): Connection
    {
        if ($this->connection !== null && $this->connection->isOurs()) {
            return $this->connection;
        }
        $file = $this->directory . '/queue.db';
        if (!\is_file($file)) {
            $this->make($file);
        }
        $pdo = Connection::open($file, Connection::canPersist() ? 'larder-queue' : null);
        if (!Connection::resume($pdo, $this->timeout)) {
            Connection::setUp($pdo, self::APPLICATION, $this->timeout, self::LOG);
            $pdo->exec('PRAGMA synchronous=' . ($this->isFull ? 'FULL' : 'NORMAL'));
        }

        return $this->connection = new Connection($pdo, Process::id(), Connection::canPersist());
    }

    /** Makes the database beside its place and moves it there, so that nobody meets half of one. */
    private function make(string $file): void
    {
        $new = $file . '.' . \bin2hex(\random_bytes(6));
        $old = \umask(0o077);
        try {
            $pdo = new \PDO('sqlite:' . $new, null, null, [\PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION]);
            $pdo->exec('PRAGMA application_id=' . self::APPLICATION . '; PRAGMA journal_mode=DELETE;' . self::SCHEMA);
            $pdo = null;
        } finally {
            \umask($old);
        }
        // link() fails where another process was first.
        \link($new, $file);
        \unlink($new);
    }

    /** @param list<mixed> $values */
    private static function done(\PDOStatement $statement, array $values): int
    {
        $statement->execute($values);

        return $statement->rowCount();
    }

    /**
     * @param list<mixed> $values
     *
     * @return ?list<mixed>
     */
    private static function row(\PDOStatement $statement, array $values): ?array
    {
        $statement->execute($values);
        /** @var list<list<mixed>> $rows */
        $rows = $statement->fetchAll(\PDO::FETCH_NUM);

        return $rows[0] ?? null;
    }

    /** @param list<mixed> $values */
    private static function one(\PDOStatement $statement, array $values): mixed
    {
        return self::row($statement, $values)[0] ?? null;
    }

    private static function text(mixed $value): string
    {
        return \is_scalar($value) ? (string) $value : '';
    }

    private static function now(): int
    {
        return (int) (\microtime(true) * 1000);
    }
}
