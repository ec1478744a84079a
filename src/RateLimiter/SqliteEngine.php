<?php

declare(strict_types=1);

namespace Larder\RateLimiter;

use Larder\Driver\Sqlite\DurableDatabase;
use Larder\Driver\Sqlite\SqliteConnection;
use Larder\System\Clock;
use Larder\System\MachineBoot;

/**
 * Rate limits in an SQLite database of their own, limits.db.
 *
 * Times count from the machine's boot, so setting the clock does not move them. What was counted before another
 * boot is as old as the wall clock says.
 */
final class SqliteEngine implements Engine
{
    /** "LrdM" */
    private const APPLICATION = 0x4C72644D;

    /** Pages of the write-ahead log. */
    private const LOG = 1_000;

    /** One call in so many looks at so many rows from a random place on, and deletes those that have expired. */
    private const SWEPT = 8;
    private const ROWS = 64;

    /** `key` is hashed() and the state's name; `at` and `until` by the clock of the boot, `wall` is the wall clock's time of `at`. */
    private const SCHEMA = 'CREATE TABLE counted (key BLOB PRIMARY KEY, boot TEXT NOT NULL, at INTEGER NOT NULL, wall INTEGER NOT NULL, until INTEGER NOT NULL, state BLOB NOT NULL) WITHOUT ROWID;';

    private const TYPES = [\PDO::PARAM_LOB, \PDO::PARAM_STR, \PDO::PARAM_INT, \PDO::PARAM_INT, \PDO::PARAM_INT, \PDO::PARAM_LOB];

    private readonly DurableDatabase $database;

    public function __construct(string $directory, float $timeout)
    {
        $this->database = new DurableDatabase("$directory/limits.db", self::APPLICATION, self::SCHEMA, false, $timeout, self::LOG);
    }

    public function count(Algorithm $algorithm, string $key, int $limit, int $window, int $fill, int $cost): Decision
    {
        $key = self::hashed($key) . $algorithm->state($limit, $window, $fill);

        return $this->transaction(static function (SqliteConnection $connection) use ($algorithm, $key, $limit, $window, $fill, $cost): Decision {
            $now = Clock::now();
            $wall = Clock::wall();
            $boot = MachineBoot::id();
            /** @var array{string, int, int, string}|false $row */
            $row = $connection->find('SELECT +boot, +at, +wall, +state FROM counted WHERE key = ?', $key);
            [$state, $decision, $until] = $algorithm->count($row === false ? [] : self::times($algorithm, $row, $boot, $now, $wall), $now, $limit, $window, $fill, $cost);
            if ($cost > 0 && $decision->isAllowed) {
                $connection->execute('REPLACE INTO counted (key, boot, at, wall, until, state) VALUES (?, ?, ?, ?, ?, ?)', [$key, $boot, $now, $wall, $until, \pack('P*', ...$state)], self::TYPES);
                \random_int(1, self::SWEPT) === 1 && self::sweep($connection, $boot, $now, $wall);
            }

            return $decision;
        });
    }

    public function forget(string $key): void
    {
        $key = self::hashed($key);
        $this->transaction(static fn(SqliteConnection $connection): \PDOStatement => $connection->execute('DELETE FROM counted WHERE key >= ? AND key < ?', [$key, "$key\xff"], [\PDO::PARAM_LOB]));
    }

    /** A key of any length takes 16 bytes, and all lie evenly, as sweep() needs it. */
    private static function hashed(string $key): string
    {
        return \substr(\hash('sha256', $key, true), 0, 16);
    }

    /**
     * What a row has, in times of this boot.
     *
     * @param array{string, int, int, string} $row
     *
     * @return list<int>
     */
    private static function times(Algorithm $algorithm, array $row, string $boot, int $now, int $wall): array
    {
        [$then, $at, $was, $packed] = $row;
        /** @var array<int, int> $numbers */
        $numbers = \unpack('P*', $packed) ?: [];
        $state = \array_values($numbers);
        if ($then === $boot && $boot !== '') {
            return $state;
        }
        // Where one boot cannot be told from another (no /proc), the wall clock must do.
        $moved = $now - \max(0, $wall - $was) - $at;

        return match ($algorithm) {
            Algorithm::FixedWindow => [$state[0] + $moved, $state[1]],
            Algorithm::TokenBucket => [$state[0], $state[1] + $moved],
            Algorithm::SlidingWindow => \array_map(static fn(int $time): int => $time + $moved, $state),
        };
    }

    private static function sweep(SqliteConnection $connection, string $boot, int $now, int $wall): void
    {
        $connection->execute('DELETE FROM counted WHERE key IN (SELECT key FROM counted WHERE key >= ? ORDER BY key LIMIT ' . self::ROWS . ')'
            . ' AND CASE WHEN boot = ? AND boot <> \'\' THEN until <= ? ELSE wall + until - at <= ? END', [\random_bytes(16), $boot, $now, $wall], [\PDO::PARAM_LOB, \PDO::PARAM_STR, \PDO::PARAM_INT, \PDO::PARAM_INT]);
    }

    /**
     * @template T
     *
     * @param \Closure(SqliteConnection): T $work
     *
     * @return T
     *
     * @throws RateLimiterFailure
     */
    private function transaction(\Closure $work): mixed
    {
        return $this->database->attempt(fn(): mixed => $this->database->transaction($work), RateLimiterFailure::class, 'The rate limits');
    }
}
