<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Store\Change;
use Larder\Store\Outcome;
use Larder\Store\Record;
use Larder\Store\StoreFailure;

/**
 * Conditional writes over one connection: judges each change by the row of its key, which is there also for keys
 * that were removed or evicted, and does it or says what is in the way.
 */
final class Writing
{
    private const FIND = 'SELECT (SELECT max(pos) FROM e), pos, writer, kind, expiry, body IS NOT NULL, used'
        . ' FROM (SELECT 1) LEFT JOIN e ON k = ?';

    private const PUT = 'INSERT INTO e(k, pos, writer, kind, expiry, used, body) VALUES(?, ?, ?, ?, ?, ?, ?)'
        . ' ON CONFLICT(k) DO UPDATE SET pos = excluded.pos, writer = excluded.writer, kind = excluded.kind,'
        . ' expiry = excluded.expiry, used = excluded.used, body = excluded.body';

    private const HORIZON = "SELECT value FROM m WHERE name = 'horizon'";

    /** A row's `used` while its record is held: neither evicted nor overwritten. */
    private const HELD = 2;

    private const PEEK = 'SELECT body, pos, writer, expiry FROM e WHERE k = ?';

    /** Bytes written since the budget was last looked at. */
    private int $unchecked = 0;

    private readonly Sweeper $sweeper;

    public function __construct(private readonly Database $database, private readonly int $budget)
    {
        $this->sweeper = new Sweeper($database, $budget);
    }

    /**
     * All of them in one transaction, as the only writer; null if the epoch is over.
     *
     * @param non-empty-list<Change> $changes
     * @param float                  $timeout seconds
     *
     * @return ?non-empty-list<Outcome>
     *
     * @throws \PDOException|StoreFailure
     */
    public function commit(array $changes, float $timeout): ?array
    {
        $database = $this->database;
        $begun = $finished = false;
        $nested = $database->bell->isHeld();
        // From here on: a signal handler may throw at any place, also while lock() returns.
        try {
            if (!$database->bell->lock($timeout)) {
                return null;
            }
            $begun = true;
            $database->begin();
            if ($database->bell->isLeftOdd()) {
                $database->heal();
            }
            $outcomes = [];
            foreach ($changes as $change) {
                $outcomes[] = $this->apply($change);
            }
            if ($this->unchecked > \min(65536, $this->budget >> 6)) {
                $this->sweeper->makeRoom();
                $this->unchecked = 0;
            }
            $database->commit();
            $finished = true;
        } finally {
            if (!$nested) {
                $database->bell->unlock($finished || !$begun || $database->rollBack());
            }
        }

        // Else the epoch ended meanwhile, and nobody may ever read what was written into it.
        return $database->bell->exists() ? $outcomes : null;
    }

    private function apply(Change $change): Outcome
    {
        $key = $change->key;
        [$end, $position, $writer, $kind, $expiry, $alive, $used] = $this->find($key);
        $logged = $change->logged;
        $isThere = $alive === 1 && ($expiry === 0 || $expiry >= \microtime(true) * 1000);
        $known = 0;
        if ($position > 0) {
            $known = $position;
            // What the log has of a key must not leave it.
            $logged = true;
        } elseif ($isThere) {
            $known = -$position;
        }
        if (
            ($known > $change->limit && ($change->strict || !$change->logged || $writer !== $change->writer))
            || ($used === self::HELD && $isThere && !$change->strict && $change->logged)
        ) {
            return new Outcome(false, $known, $writer, 0, $kind, $this->record($key));
        }
        if ($known === 0 && $logged && $this->isForgotten($change->limit, $end)) {
            return new Outcome(false, -1);
        }
        foreach ($change->guards as $guard => $limit) {
            if ($limit >= $end) {
                // Nothing at all has changed since then.
                continue;
            }
            $guard = (string) $guard;
            [, $position, $who, $what] = $this->find($guard);
            $last = \abs($position);
            if ($last > $limit ? $who !== $change->writer : $last === 0 && $this->isForgotten($limit, $end)) {
                return new Outcome(false, $last === 0 ? -1 : $last, $who, 0, $what, $this->record($key), $guard);
            }
        }
        $body = $change->body;
        $size = $body === null ? 0 : \strlen($body);
        $tooLarge = $size > $this->budget >> 2;
        if ($logged) {
            $next = $end + 1;
            $this->database->bell->ring();
        } else {
            $next = 1 - $this->database->number('SELECT min(pos) FROM e WHERE pos < 0');
        }
        $put = $this->database->statement(self::PUT);
        $put->bindValue(1, $key, \PDO::PARAM_LOB);
        $put->bindValue(2, $logged ? $next : -$next, \PDO::PARAM_INT);
        $put->bindValue(3, $change->writer);
        $put->bindValue(4, $tooLarge ? 'x' : $change->kind);
        $put->bindValue(5, $body === null ? 0 : $change->expiry, \PDO::PARAM_INT);
        $put->bindValue(6, $size > 0 && $body[0] === Change::HELD ? self::HELD : 0, \PDO::PARAM_INT);
        $put->bindValue(7, $tooLarge ? null : $body, \PDO::PARAM_LOB);
        $put->execute();
        $this->unchecked += 100 + \strlen($key) + ($tooLarge ? 0 : $size);

        return $tooLarge
            ? Outcome::refused()
            : new Outcome(true, $next, $known === 0 ? '' : $writer, $known, $isThere ? $kind : '');
    }

    /**
     * @return array{int, int, string, string, int, int, int} the log's end; of the key: position or 0, writer, kind,
     *         expiry, whether it has a body, used
     */
    private function find(string $key): array
    {
        $find = $this->database->statement(self::FIND);
        $find->bindValue(1, $key, \PDO::PARAM_LOB);
        $find->execute();
        /** @var array{int, int, string, string, int, int, int}|array{int, null, null, null, null, 0, null} $row */
        $row = $find->fetchAll(\PDO::FETCH_NUM)[0];

        return $row[1] === null ? [$row[0], 0, '', '', 0, 0, 0] : $row;
    }

    /**
     * Whether a change after $limit, of a key without a row, could have been deleted. A limit of 0 asks for no
     * more than what is known; one at the end or later needs no look.
     */
    private function isForgotten(int $limit, int $end): bool
    {
        return $limit > 0 && $limit < $end && $limit < $this->database->number(self::HORIZON);
    }

    private function record(string $key): ?Record
    {
        $peek = $this->database->statement(self::PEEK);
        $peek->bindValue(1, $key, \PDO::PARAM_LOB);
        $peek->execute();
        /** @var list<array{?string, int, string, int}> $rows */
        $rows = $peek->fetchAll(\PDO::FETCH_NUM);
        [$body, $position, $writer, $expiry] = $rows[0] ?? [null, 0, '', 0];

        return $body === null || ($expiry !== 0 && $expiry < \microtime(true) * 1000)
            ? null
            : new Record($body, \abs($position), $writer);
    }
}
