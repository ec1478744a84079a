<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Driver\Sqlite\SqliteConnection;

/**
 * The tables in which messages lie (QueueDatabase says which), and the moves between them: each within the caller's transaction.
 *
 * SQLite moves bodies itself: no move brings one into PHP.
 *
 * @phpstan-type State array{epoch: string, applied: int, tail: string, was: string, was_applied: int, was_tail: string, paused: int, expires: int, due: int}
 * @phpstan-type Head array{rank: int, n: int, id: string, key: ?string, attempts: int, error: string, sum: int, due: int}
 * @phpstan-type Changes array{attempts?: int, error?: string, due?: int}
 */
final class MessageTables
{
    /** Delayed messages that one claim lets be ready, so that a pile of them does not stop everybody. */
    private const PROMOTED = 500;

    /** Rows that one statement inserts. */
    public const TOGETHER = 25;

    public const DAMAGED = 'Its bytes are damaged in the database.';

    private const HEAD = 'rank, n, id, key, attempts, error, sum, due';

    /** A row of each table, by its primary key. */
    private const PLACE = ['ready' => 'rank = ? AND n = ?', 'delayed' => 'due = ? AND n = ?', 'claimed' => 'n = ?', 'dead' => 'due = ? AND n = ?'];

    /** @var array<string, string> statements, by table and number of rows */
    private static array $inserting = [];

    /** Lets delayed messages be ready whose time has come. */
    public static function promote(SqliteConnection $connection, int $now): void
    {
        foreach (self::heads($connection, 'delayed WHERE due <= ? ORDER BY due, n LIMIT ' . self::PROMOTED, [$now]) as $head) {
            self::bring($connection, 'delayed', 'ready', $head, []);
        }
    }

    /**
     * Lets a claimed message wait again, or be dead after its last attempt. If another one has its key by now, it is dropped:
     * that one will be handled.
     *
     * @param Head   $head
     * @param string $error   as the worker said it; '': the last one that was said stays
     * @param string $instead what happened, where the handler said nothing
     */
    public static function giveBack(SqliteConnection $connection, Retry $retry, array $head, int $delay, string $error, string $instead): void
    {
        $error = $error === '' ? $head['error'] : $error;
        if ($head['attempts'] >= $retry->most) {
            self::bring($connection, 'claimed', 'dead', $head, ['error' => $error === '' ? "$instead, after {$head['attempts']} of {$retry->most} attempts." : $error, 'due' => self::now()]);
        } elseif (self::reserve($connection, $head['key'], $head['id']) === null) {
            self::bring($connection, 'claimed', $delay > 0 ? 'delayed' : 'ready', $head, ['error' => $error, 'due' => self::now() + $delay]);
            self::count($connection, 1);
        } else {
            self::run($connection, 'DELETE FROM claimed WHERE n = ?', [$head['n']]);
        }
    }

    /**
     * Reserves a key for a message that will wait.
     *
     * @return ?string the id of another one that has the key; null: none, or there is no key
     */
    public static function reserve(SqliteConnection $connection, ?string $key, string $id): ?string
    {
        if ($key === null || self::run($connection, 'INSERT OR IGNORE INTO waiting (key, id) VALUES (?, ?)', [$key, $id]) === 1) {
            return null;
        }

        $other = SqliteConnection::text(self::rows($connection, 'SELECT id FROM waiting WHERE key = ?', [$key])[0][0] ?? null);

        // Its own, which has stayed.
        return $other === $id ? null : $other;
    }

    /** Frees the key of a message that was handled or is dead, if it has stayed until now. */
    private static function free(SqliteConnection $connection, string $id, ?string $key): void
    {
        MessageId::isKeeping($id) && self::run($connection, 'DELETE FROM waiting WHERE key = ? AND id = ?', [$key, $id]);
    }

    /** @return ?Head what this token's owner has claimed; null: it is not this token's */
    public static function claimed(SqliteConnection $connection, string $token): ?array
    {
        return self::heads($connection, 'claimed WHERE n = ? AND token = ?', \explode(' ', $token))[0] ?? null;
    }

    /** Acknowledges a message whose key does not stay: one statement. */
    public static function remove(SqliteConnection $connection, string $token): bool
    {
        return self::run($connection, 'DELETE FROM claimed WHERE n = ? AND token = ?', \explode(' ', $token)) === 1;
    }

    /**
     * Acknowledges messages.
     *
     * @param list<array{string, string}> $claims ids and tokens
     *
     * @return list<bool> whether each was still its token's
     */
    public static function acknowledge(SqliteConnection $connection, array $claims): array
    {
        $removed = [];
        foreach (\array_chunk(\array_column($claims, 1), self::TOGETHER) as $tokens) {
            $marks = \implode(', ', \array_fill(0, \count($tokens), '(?, ?)'));
            foreach (self::rows($connection, "DELETE FROM claimed WHERE (n, token) IN (VALUES $marks) RETURNING n || ' ' || token, id, key", \explode(' ', \implode(' ', $tokens))) as [$token, $id, $key]) {
                $removed[SqliteConnection::text($token)] = true;
                self::free($connection, SqliteConnection::text($id), $key === null ? null : SqliteConnection::text($key));
            }
        }

        return \array_map(static function (array $claim) use (&$removed): bool {
            $isRemoved = isset($removed[$claim[1]]);
            unset($removed[$claim[1]]);

            return $isRemoved;
        }, $claims);
    }

    /**
     * Inserts new messages.
     *
     * @param array<string, string> $bodies by id
     * @param int                   $n      the place before the first one's
     *
     * @return int the last one's
     */
    public static function insert(SqliteConnection $connection, string $table, int $rank, int $due, ?string $key, array $bodies, int $n): int
    {
        // Several at once: to run a statement takes longer than to insert a row.
        foreach (\array_chunk($bodies, self::TOGETHER, true) as $some) {
            $values = [$rank, $due, $key, $n];
            foreach ($some as $id => $body) {
                $values[] = $id;
                $values[] = \strlen($body) > ClaimStatements::LARGE ? self::sum($id, $body) : \crc32($id . $body);
                $values[] = $body;
            }
            $n += \count($some);
            self::run($connection, self::inserting($table, \count($some)), $values);
        }

        return $n;
    }

    /** A body is a blob: SQLite knows its length without reading it. */
    private static function inserting(string $table, int $count): string
    {
        return self::$inserting["$table $count"] ??= "INSERT INTO $table (" . ClaimStatements::COLUMNS . ') VALUES ' . \implode(', ', \array_map(
            static fn(int $i): string => \sprintf("(?1, ?4 + %d, ?%d, ?3, 0, '', ?%d, ?2, CAST(?%d AS BLOB))", $i + 1, 3 * $i + 5, 3 * $i + 6, 3 * $i + 7),
            \range(0, $count - 1),
        ));
    }

    /**
     * Brings a message from one table to another.
     *
     * @param key-of<self::PLACE> $from
     * @param key-of<self::PLACE> $to
     * @param Head                $head
     * @param Changes             $changes
     */
    public static function bring(SqliteConnection $connection, string $from, string $to, array $head, array $changes): void
    {
        $place = self::place($from, $head);
        $new = \array_replace($head, $changes);
        $new['error'] = \substr($new['error'], 0, 8_000);
        self::run($connection, "INSERT INTO $to (" . ClaimStatements::COLUMNS . ") SELECT ?, ?, ?, ?, ?, ?, ?, ?, body FROM $from WHERE " . self::PLACE[$from], [...\array_values($new), ...$place]);
        self::run($connection, "DELETE FROM $from WHERE " . self::PLACE[$from], $place);
        $to === 'dead' && self::free($connection, $head['id'], $head['key']);
    }

    /**
     * @param key-of<self::PLACE> $table
     * @param Head               $head
     * @param int                $left  bytes of memory for this body and for what it is decoded into; the others' that follow, then
     *
     * @return ?string null: it does not fit
     */
    public static function body(SqliteConnection $connection, string $table, array $head, int &$left): ?string
    {
        $where = self::PLACE[$table];
        $place = self::place($table, $head);
        $length = self::number($connection, "SELECT length(body) FROM $table WHERE $where", $place);
        if ($length > $left / 2) {
            return null;
        }
        $left -= 2 * $length;

        return SqliteConnection::text(self::rows($connection, "SELECT body FROM $table WHERE $where", $place)[0][0] ?? '');
    }

    /**
     * @param key-of<self::PLACE> $table
     * @param Head               $head
     *
     * @return non-empty-list<int> the values of its primary key
     */
    private static function place(string $table, array $head): array
    {
        return match ($table) {
            'ready' => [$head['rank'], $head['n']],
            'claimed' => [$head['n']],
            default => [$head['due'], $head['n']],
        };
    }

    /** @return State */
    public static function state(SqliteConnection $connection): array
    {
        $statement = $connection->execute('SELECT epoch, applied, tail, was, was_applied, was_tail, paused, (SELECT MIN(due) FROM claimed) AS expires, COALESCE((SELECT MIN(due) FROM delayed), ' . \PHP_INT_MAX . ') AS due FROM state');
        /** @var list<State> $rows */
        $rows = $statement->fetchAll(\PDO::FETCH_ASSOC);

        return $rows[0];
    }

    public static function waiting(SqliteConnection $connection): int
    {
        $waiting = self::number($connection, 'SELECT token FROM claimed WHERE n = 0');

        return $waiting < 0 ? throw SqliteConnection::damage("The number of messages is $waiting.") : $waiting;
    }

    /**
     * Notices where no message was found to be ready that some cannot be read, or have vanished: SQLite does not say so of each damaged page.
     *
     * @throws \PDOException
     */
    public static function checkEmpty(SqliteConnection $connection): void
    {
        if (self::number($connection, 'SELECT token <> 0 AND (EXISTS (SELECT 1 FROM ready) OR NOT EXISTS (SELECT 1 FROM delayed)) FROM claimed WHERE n = 0') !== 0) {
            throw SqliteConnection::damage('Not all messages that were counted can be read.');
        }
    }

    public static function leases(SqliteConnection $connection): int
    {
        return self::number($connection, 'SELECT COUNT(*) - 1 FROM claimed');
    }

    public static function count(SqliteConnection $connection, int $more): void
    {
        self::run($connection, 'UPDATE claimed SET token = token + ? WHERE n = 0', [$more]);
    }

    /** @param list<int|string|null> $values */
    public static function run(SqliteConnection $connection, string $sql, array $values): int
    {
        return $connection->execute($sql, $values)->rowCount();
    }

    /**
     * @param list<int|string|null> $values
     *
     * @return list<list<mixed>>
     */
    public static function rows(SqliteConnection $connection, string $sql, array $values): array
    {
        /** @var list<list<mixed>> */
        return $connection->execute($sql, $values)->fetchAll(\PDO::FETCH_NUM);
    }

    /**
     * @param string      $from table, condition and order
     * @param list<int|string|null> $values
     *
     * @return list<Head>
     */
    public static function heads(SqliteConnection $connection, string $from, array $values = []): array
    {
        /** @var list<Head> */
        return $connection->execute('SELECT ' . self::HEAD . " FROM $from", $values)->fetchAll(\PDO::FETCH_ASSOC);
    }

    /** @param list<int|string|null> $values */
    public static function number(SqliteConnection $connection, string $sql, array $values = []): int
    {
        return (int) SqliteConnection::text(self::rows($connection, $sql, $values)[0][0] ?? 0);
    }

    public static function sum(string $id, string $body): int
    {
        // In two steps where putting them together takes memory.
        if (\strlen($body) > ClaimStatements::LARGE) {
            $sum = \hash_init('crc32b');
            \hash_update($sum, $id);
            \hash_update($sum, $body);

            return (int) \hexdec(\hash_final($sum));
        }

        return \crc32($id . $body);
    }

    public static function now(): int
    {
        return (int) (\microtime(true) * 1000);
    }
}
