<?php

declare(strict_types=1);

namespace Larder\Session;

use Larder\Driver\Sqlite\DurableDatabase;
use Larder\Driver\Sqlite\SqliteConnection;
use Larder\Lock\LockFailure;
use Larder\Lock\SqliteEngine as LockEngine;
use Larder\System\Clock;
use Larder\System\ProcessId;

/**
 * Sessions in an SQLite database of their own, sessions.db. Their locks are beside it, in locks.db.
 *
 * A session's end is a time of the wall clock, so that it stays over a boot.
 */
final class SqliteEngine implements Engine
{
    /** "LrdS" */
    private const APPLICATION = 0x4C726453;

    /** Pages of the write-ahead log. */
    private const LOG = 1_000;

    /** So many expired sessions a new one removes: PHP may never call gc() (session.gc_probability is 0 on Debian). */
    private const REMOVED = 10;

    /** So many sweep() removes in one transaction, for which all others wait. */
    private const SWEPT = 1_000;

    /** Milliseconds for which a lock is taken again, for a write. */
    private const WRITING = 10_000;

    private const SCHEMA = <<<'SQL'
        CREATE TABLE session (id TEXT PRIMARY KEY, until INTEGER NOT NULL, version TEXT NOT NULL, data BLOB NOT NULL);
        CREATE INDEX session_until ON session (until);
        SQL;

    private readonly DurableDatabase $database;
    private readonly ?LockEngine $locks;

    public function __construct(string $directory, float $timeout, bool $locks)
    {
        $this->database = new DurableDatabase("$directory/sessions.db", self::APPLICATION, self::SCHEMA, false, $timeout, self::LOG);
        $this->locks = $locks ? new LockEngine($directory, $timeout) : null;
    }

    public function read(string $key, string $owner, int $life, int $keep, bool $isKnown): ?array
    {
        return $this->attempt(function () use ($key, $owner, $life, $keep, $isKnown): ?array {
            if ($isKnown && !$this->isStored($key)) {
                return ['', ''];
            }
            $lock = self::lock($key);
            if ($this->locks !== null && !self::take($this->locks, $lock, $owner, $life)) {
                return null;
            }
            $isTaken = false;
            try {
                $until = Clock::wall() + $keep;
                [$version, $data, $end] = $this->database->connection()->named('SELECT +version, +data, +until FROM session WHERE id = :id AND until > :now', ['id' => $key, 'now' => Clock::wall()])[0] ?? ['', '', $until];
                $end < $until && $this->extend($key, $until);
                $isTaken = $version !== '' || !$isKnown;
            } finally {
                $isTaken || $this->locks?->release($lock, $owner);
            }

            return [(string) $version, (string) $data];
        });
    }

    public function write(string $key, string $owner, string $version, string $new, #[\SensitiveParameter] string $data, int $ttl): bool
    {
        return $this->attempt(function () use ($key, $owner, $version, $new, $data, $ttl): bool {
            $lock = self::lock($key);
            if ($this->locks !== null && $this->locks->fence($lock, $owner) === null && !self::take($this->locks, $lock, $owner, self::WRITING)) {
                return false;
            }
            try {
                return $this->database->transaction(function (SqliteConnection $connection) use ($key, $version, $new, $data, $ttl): bool {
                    $now = Clock::wall();
                    $there = $connection->named('SELECT +version FROM session WHERE id = :id AND until > :now', ['id' => $key, 'now' => $now])[0][0] ?? '';
                    // The lock may end just now. So the version decides, in the transaction that writes.
                    if ($this->locks === null ? $there === '' && $version !== '' : $there !== $version) {
                        return false;
                    }
                    $connection->named('REPLACE INTO session (id, until, version, data) VALUES (:id, :until, :version, :b_data)', ['id' => $key, 'until' => $now + $ttl, 'version' => $new, 'b_data' => $data]);
                    $there === '' && self::remove($connection, self::REMOVED);

                    return true;
                });
            } finally {
                $this->locks?->release($lock, $owner);
            }
        });
    }

    public function renew(string $key, string $owner, int $ttl): void
    {
        $this->attempt(function () use ($key, $ttl): void {
            $this->extend($key, Clock::wall() + $ttl);
        });
        $this->release($key, $owner);
    }

    public function release(string $key, string $owner): void
    {
        $this->attempt(fn(): ?bool => $this->locks?->release(self::lock($key), $owner));
    }

    public function destroy(string $key, string $owner): void
    {
        $this->attempt(fn(): mixed => $this->database->transaction(static fn(SqliteConnection $connection): array => $connection->named('DELETE FROM session WHERE id = :id', ['id' => $key])));
        $this->release($key, $owner);
    }

    public function isStored(string $key): bool
    {
        return $this->attempt(fn(): bool => $this->database->connection()->named('SELECT 1 FROM session WHERE id = :id AND until > :now', ['id' => $key, 'now' => Clock::wall()]) !== []);
    }

    public function sweep(): int
    {
        return $this->attempt(function (): int {
            for ($all = 0, $removed = self::SWEPT; $removed === self::SWEPT; $all += $removed) {
                $removed = $this->database->transaction(static fn(SqliteConnection $connection): int => self::remove($connection, self::SWEPT));
            }

            return $all;
        });
    }

    /** Sets a session's end, unless it has expired. */
    private function extend(string $key, int $until): void
    {
        $this->database->transaction(static fn(SqliteConnection $connection): array => $connection->named('UPDATE session SET until = :until WHERE id = :id AND until > :now', ['until' => $until, 'id' => $key, 'now' => Clock::wall()]));
    }

    private static function remove(SqliteConnection $connection, int $most): int
    {
        return \count($connection->named('DELETE FROM session WHERE id IN (SELECT id FROM session WHERE until <= :now LIMIT :most) RETURNING 1', ['now' => Clock::wall(), 'most' => $most]));
    }

    /** Takes a lock, which may be this owner's already. */
    private static function take(LockEngine $locks, string $lock, string $owner, int $life): bool
    {
        $process = ProcessId::current();

        return $locks->acquire($lock, $owner, $life, $process) !== null || $locks->refresh($lock, $owner, $life, $process) !== null;
    }

    /** Lock\Locks of the same directory may have names of their own. */
    private static function lock(string $key): string
    {
        return "session:$key";
    }

    /**
     * @template T
     *
     * @param \Closure(): T $work
     *
     * @return T
     *
     * @throws SessionFailure
     */
    private function attempt(\Closure $work): mixed
    {
        try {
            return $this->database->attempt($work, SessionFailure::class, 'The sessions');
        } catch (LockFailure $failure) {
            throw new SessionFailure($failure->getMessage(), 0, $failure);
        }
    }
}
