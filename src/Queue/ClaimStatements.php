<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Driver\Sqlite\SqliteConnection;

/**
 * The statements of a claim in SQLite. Each is bound once to properties of this object, and a claim sets those: to bind values
 * again takes longer than most of these statements do.
 */
final class ClaimStatements
{
    /** Bytes of a body; larger ones are read after the commit. */
    public const LARGE = 65_536;

    /** The columns of each table of messages. */
    public const COLUMNS = 'rank, n, id, key, attempts, error, sum, due, body';

    /** With whether something must be done before; one row without a message where none is ready. The planner must know that `state` is one row. */
    private const NEXT = 'SELECT paused OR applied <> ?, rank, n, id, key, attempts, sum, CASE WHEN length(body) <= ' . self::LARGE . ' THEN body END FROM state LEFT JOIN ready WHERE state.rowid = 1 ORDER BY rank, n LIMIT ?';

    private const LEASED = 'rank, n, id, key, attempts + 1, error, sum, ?, body, ? FROM ready ORDER BY rank, n LIMIT ';

    /** Bytes of the log of pushes. */
    public int $logged = 0;

    /** Messages to be handed out. */
    public int $count = 1;

    /** When they are free again (milliseconds). */
    public int $due = 0;
    public int $token = 0;

    /** The place of the last one. */
    public int $rank = 0;
    public int $n = 0;

    /** What is acknowledged. */
    public int $handled = 0;
    public int $handledToken = 0;

    /** The next messages that are ready. */
    public readonly \PDOStatement $next;

    /** Brings them to the claimed ones. Not with RETURNING, for which SQLite makes a table each time. */
    public readonly \PDOStatement $lease;

    /** Acknowledges one and leases the next in its place. */
    public readonly \PDOStatement $replace;

    /** Acknowledges one. */
    public readonly \PDOStatement $remove;

    /** Removes from the ready ones up to the last. */
    public readonly \PDOStatement $take;

    /** So many fewer wait. */
    public readonly \PDOStatement $discount;

    public function __construct(SqliteConnection $connection)
    {
        $this->next = self::bound($connection, self::NEXT, $this->logged, $this->count);
        $this->lease = self::bound($connection, 'INSERT INTO claimed (' . self::COLUMNS . ', token) SELECT ' . self::LEASED . '?', $this->due, $this->token, $this->count);
        $this->replace = self::bound($connection, 'UPDATE claimed SET (' . self::COLUMNS . ', token) = (SELECT ' . self::LEASED . '1) WHERE n = ? AND token = ?', $this->due, $this->token, $this->handled, $this->handledToken);
        $this->remove = self::bound($connection, 'DELETE FROM claimed WHERE n = ? AND token = ?', $this->handled, $this->handledToken);
        $this->take = self::bound($connection, 'DELETE FROM ready WHERE (rank, n) <= (?, ?)', $this->rank, $this->n);
        $this->discount = self::bound($connection, 'UPDATE claimed SET token = token - ? WHERE n = 0', $this->count);
    }

    private static function bound(SqliteConnection $connection, string $sql, int &...$values): \PDOStatement
    {
        $statement = $connection->statement($sql);
        $place = 0;
        foreach ($values as &$value) {
            $statement->bindParam(++$place, $value, \PDO::PARAM_INT);
        }

        return $statement;
    }

    /** Sets what is acknowledged. */
    public function acknowledges(string $token): void
    {
        // The first number of "<n> <token>".
        $this->handled = (int) $token;
        $this->handledToken = (int) \substr($token, (int) \strpos($token, ' '));
    }
}
