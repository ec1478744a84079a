<?php

declare(strict_types=1);

namespace Larder\Lock;

use Larder\Driver\Sqlite\DurableDatabase;
use Larder\Driver\Sqlite\SqliteConnection;
use Larder\System\Clock;
use Larder\System\Fork;
use Larder\System\MachineBoot;
use Larder\System\ProcessId;

/**
 * Locks in an SQLite database of their own, locks.db.
 *
 * A lock's end counts from the machine's boot, so setting the clock does not move it. After another boot its holder
 * is dead; one that was handed over stands until its end by the wall clock.
 */
final class SqliteEngine implements Engine
{
    /** "LrdL" */
    private const APPLICATION = 0x4C72644C;

    /** Pages of the write-ahead log. */
    private const LOG = 1_000;

    /** One grant in so many removes locks that have ended. */
    private const SWEPT = 64;

    private const SCHEMA = <<<'SQL'
        CREATE TABLE lock (name BLOB PRIMARY KEY, owner TEXT NOT NULL, fence INTEGER NOT NULL, boot TEXT NOT NULL, until INTEGER NOT NULL, wall INTEGER NOT NULL, process TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE fence (last INTEGER NOT NULL);
        INSERT INTO fence VALUES (0);
        SQL;

    private readonly DurableDatabase $database;

    /** @var array<string, array{string, string, ?int}> names, owners and numbers of releases that failed: the next transaction makes them first */
    private array $given = [];

    /** Whose they are. */
    private int $process = 0;

    public function __construct(string $directory, float $timeout)
    {
        $this->database = new DurableDatabase("$directory/locks.db", self::APPLICATION, self::SCHEMA, false, $timeout, self::LOG);
    }

    public function acquire(string $name, string $owner, int $life, string $process): ?int
    {
        return $this->transaction(function (SqliteConnection $connection) use ($name, $owner, $life, $process): ?int {
            if ($this->holder($connection, $name) !== null) {
                return null;
            }
            $fence = (int) $connection->named('UPDATE fence SET last = last + 1 RETURNING last', [])[0][0];
            $connection->named('REPLACE INTO lock VALUES (:b_name, :owner, :fence, :boot, :until, :wall, :process)', ['b_name' => $name, 'owner' => $owner, 'fence' => $fence, 'process' => $process] + self::end($life));
            if ($fence % self::SWEPT === 0) {
                $connection->named('DELETE FROM lock WHERE wall < :wall AND (boot <> :boot OR until < :until)', self::end(0));
            }

            return $fence;
        });
    }

    public function refresh(string $name, string $owner, int $life, string $process): ?int
    {
        return $this->transaction(function (SqliteConnection $connection) use ($name, $owner, $life, $process): ?int {
            [$there, $fence] = $this->holder($connection, $name) ?? [null, 0];
            if ($there !== $owner) {
                return null;
            }
            $connection->named('UPDATE lock SET boot = :boot, until = :until, wall = :wall, process = :process WHERE name = :b_name', ['b_name' => $name, 'process' => $process] + self::end($life));

            return $fence;
        });
    }

    public function release(string $name, string $owner, ?int $fence = null): bool
    {
        try {
            return $this->transaction(fn(SqliteConnection $connection): bool => $this->remove($connection, $name, $owner, $fence));
        } catch (LockFailure $failure) {
            $this->process === Fork::pid() || $this->given = [];
            $this->process = Fork::pid();
            $this->given["$name $owner $fence"] = [$name, $owner, $fence];
            throw $failure;
        }
    }

    public function fence(string $name, string $owner): ?int
    {
        return $this->attempt(function () use ($name, $owner): ?int {
            [$there, $fence] = $this->holder($this->database->connection(), $name) ?? [null, 0];

            return $there === $owner ? $fence : null;
        });
    }

    public function owner(string $name): ?string
    {
        return $this->attempt(fn(): ?string => $this->holder($this->database->connection(), $name)[0] ?? null);
    }

    public function clear(string $prefix): void
    {
        $this->transaction(static fn(SqliteConnection $connection): array => $connection->named('DELETE FROM lock WHERE substr(name, 1, :length) = :b_prefix', ['length' => \strlen($prefix), 'b_prefix' => $prefix]));
    }

    private function remove(SqliteConnection $connection, string $name, string $owner, ?int $fence): bool
    {
        $holder = $this->holder($connection, $name);
        $isOwned = $holder !== null && $holder[0] === $owner && ($fence ?? $holder[1]) === $holder[1];
        $isOwned && $connection->named('DELETE FROM lock WHERE name = :b_name', ['b_name' => $name]);

        return $isOwned;
    }

    /** @return ?array{string, int} owner and fencing number; null: it is free */
    private function holder(SqliteConnection $connection, string $name): ?array
    {
        $row = $connection->named('SELECT +owner, +fence, +boot, +until, +wall, +process FROM lock WHERE name = :b_name', ['b_name' => $name])[0] ?? null;
        if ($row === null) {
            return null;
        }
        [$owner, $fence, $boot, $until, $wall, $process] = $row;
        // Where one boot cannot be told from another (no /proc), the wall clock must do.
        $isHeld = $boot === MachineBoot::id() && $boot !== ''
            ? $until > Clock::now() && ($process === '' || ProcessId::isAlive((string) $process) !== false)
            : ($process === '' || $boot === '') && $wall > Clock::wall();

        return $isHeld ? [(string) $owner, (int) $fence] : null;
    }

    /** @return array{boot: string, until: int, wall: int} this boot, and the end by both clocks */
    private static function end(int $life): array
    {
        return ['boot' => MachineBoot::id(), 'until' => Clock::now() + $life, 'wall' => Clock::wall() + $life];
    }

    /**
     * @template T
     *
     * @param \Closure(SqliteConnection): T $work
     *
     * @return T
     *
     * @throws LockFailure
     */
    private function transaction(\Closure $work): mixed
    {
        // A forked child must not give back for its parent, which may have taken a lock again by the same owner's text.
        $given = $this->process === Fork::pid() ? $this->given : [];
        $result = $this->attempt(fn(): mixed => $this->database->transaction(function (SqliteConnection $connection) use ($work, $given): mixed {
            foreach ($given as $release) {
                $this->remove($connection, ...$release);
            }

            return $work($connection);
        }));
        $this->given = \array_diff_key($this->given, $given);

        return $result;
    }

    /**
     * @template T
     *
     * @param \Closure(): T $work
     *
     * @return T
     *
     * @throws LockFailure
     */
    private function attempt(\Closure $work): mixed
    {
        return $this->database->attempt($work, LockFailure::class, 'The locks');
    }
}
