<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Driver\Sqlite\SqliteConnection;

/** The times of messages that were handed out under a rate, in an SQLite queue: each within the caller's transaction. */
final class RateTable
{
    /** Milliseconds by which the last time may be ahead: more says that the clock was set back, which must hold up no caller. */
    private const AHEAD = 1_000;

    /** How many may be handed out now; below zero: so many more were under a rate that allows more. */
    public static function free(SqliteConnection $connection, Rate $rate, int $now): int
    {
        // Not in the schema: most queues have no rate. `i` has no gaps.
        MessageTables::run($connection, 'CREATE TABLE IF NOT EXISTS handed (span INTEGER NOT NULL, i INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (span, i)) WITHOUT ROWID', []);
        [$last, $at] = self::last($connection, $rate);
        if ($at > $now + self::AHEAD) {
            MessageTables::run($connection, 'DELETE FROM handed WHERE span = ?', [$rate->window]);
            $last = 0;
        }
        if ($last === 0) {
            // Those of rates that are not used any more go where one begins.
            MessageTables::run($connection, 'DELETE FROM handed WHERE at + span <= ?', [$now]);

            return $rate->messages;
        }
        // Looks at no more than it deletes.
        MessageTables::run($connection, 'DELETE FROM handed WHERE span = ?1 AND i < COALESCE((SELECT i FROM handed WHERE span = ?1 AND at > ?2 ORDER BY i LIMIT 1), ?3)', [$rate->window, $now - $rate->window, $last + 1]);

        return $rate->messages - MessageTables::number($connection, 'SELECT ? + 1 - i FROM handed WHERE span = ? ORDER BY i LIMIT 1', [$last, $rate->window]);
    }

    /** Notes messages that are handed out now. */
    public static function note(SqliteConnection $connection, Rate $rate, int $now, int $count): void
    {
        [$last, $at] = self::last($connection, $rate);
        for ($i = 1; $i <= $count; $i++) {
            MessageTables::run($connection, 'INSERT INTO handed (span, i, at) VALUES (?, ?, ?)', [$rate->window, $last + $i, \max($at, $now)]);
        }
    }

    /** Milliseconds, above zero, until one more may be handed out, of which none may now. */
    public static function left(SqliteConnection $connection, Rate $rate, int $now): int
    {
        [$last] = self::last($connection, $rate);

        return \max(1, MessageTables::number($connection, 'SELECT at FROM handed WHERE span = ? AND i = ?', [$rate->window, $last + 1 - $rate->messages]) + $rate->window - $now);
    }

    /** @return array{int, int} number and time of the last one, or zeros */
    private static function last(SqliteConnection $connection, Rate $rate): array
    {
        /** @var array{int, int} */
        return MessageTables::rows($connection, 'SELECT i, at FROM handed WHERE span = ? ORDER BY i DESC LIMIT 1', [$rate->window])[0] ?? [0, 0];
    }
}
