<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Store\Appending;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Markers;
use Larder\Store\Record;
use Larder\System\Clock;
use Larder\System\Failure;

/**
 * Makes conditional writes over one connection. Judges each change by its key's row, which even removed and evicted keys
 * have, and then makes the change or reports the conflict.
 */
final class Writing
{
    private const FIND = 'SELECT (SELECT max(pos) FROM e), pos, writer, kind, expiry, body IS NOT NULL, used'
        . ' FROM (SELECT 1) LEFT JOIN e ON k = ?';

    private const PUT = 'INSERT INTO e(k, pos, writer, kind, expiry, used, sum, body) VALUES(?, ?, ?, ?, ?, ?, ?, ?)'
        . ' ON CONFLICT(k) DO UPDATE SET pos = excluded.pos, writer = excluded.writer, kind = excluded.kind,'
        . ' expiry = excluded.expiry, used = excluded.used, sum = excluded.sum, body = excluded.body';

    private const UNLESS_HELD = ' = CASE WHEN used != ' . self::HELD . ' THEN ';

    /** A change that is not made because another one is in its way: the key has no value, or its intents stay. */
    private const DROP = 'INSERT INTO e(k, pos, writer, kind, expiry, used, body) VALUES(?, ?, ?, ?, 0, 0, NULL)'
        . ' ON CONFLICT(k) DO UPDATE SET pos = excluded.pos, writer = excluded.writer, kind = excluded.kind, expiry'
        . self::UNLESS_HELD . '0 ELSE expiry END, body' . self::UNLESS_HELD . 'NULL ELSE body END, used' . self::UNLESS_HELD . '0 ELSE used END';

    /** A row's `used` while its record is held: neither evicted nor overwritten. */
    public const HELD = 2;

    private const PEEK = 'SELECT body, pos, writer, expiry FROM e WHERE k = ?';

    /** @var array<string, array{int, int, string, string, int, int, int}> rows of guards, as read in this transaction */
    private array $guards = [];

    /** What this transaction knows of deleted rows; null: not read yet. */
    private ?DeletedRows $past = null;

    /** Position of the last flush in this transaction. */
    private int $flush = 0;

    /** Bytes added in rows without an entry, and not noted yet (DeletedRows). */
    public int $dead = 0;

    /** One in this many commits checks the length of the write-ahead log. */
    private const COMMITS = 16;

    private int $commits = 0;

    /** Value of $dead from which on it is noted. */
    private const UNNOTED = 4096;

    /** Bytes written since the budget was last checked. */
    private int $unchecked = 0;

    private readonly Sweeper $sweeper;

    public function __construct(private readonly Database $database, private readonly int $budget)
    {
        $this->sweeper = new Sweeper($database, $budget);
    }

    /** @var array<string, array<string, int>> by writer: what Appending::settle() answers */
    public array $settled = [];

    /** @var array<string, true> the keys among them that hold a bounded form */
    public array $bounded = [];

    /**
     * Makes all changes in one transaction, as the only writer, after those that wait in the change log. Null: the epoch has
     * ended.
     *
     * @param list<Change> $changes
     * @param float                  $timeout seconds
     *
     * @return ?list<ChangeResult>
     *
     * @throws \PDOException|Failure
     */
    public function commit(array $changes, float $timeout): ?array
    {
        $database = $this->database;
        $begun = $finished = false;
        $nested = $database->counter->isHeld();
        // The try begins here because a signal handler may throw anywhere, even while lock() returns.
        try {
            if (!$database->counter->lock($timeout)) {
                return null;
            }
            $begun = true;
            $database->begin();
            if ($database->counter->isLeftOdd()) {
                $database->heal();
            }
            $this->guards = [];
            $this->past = null;
            $this->flush = 0;
            $mark = null;
            if (!$database->changeLog->isSettled() && ($mark = $this->settle()) === null) {
                $database->endWithoutLog();

                return null;
            }
            $this->guards = [];
            $outcomes = [];
            foreach ($changes as $change) {
                $outcomes[] = $this->apply($change);
            }
            $this->note();
            $database->commit();
            $finished = true;
            $mark === null || $database->changeLog->clear($mark);
            if (++$this->commits % self::COMMITS === 0) {
                $this->sweeper->keepLog();
            }
        } finally {
            if (!$finished) {
                $this->settled = $this->bounded = [];
            }
            if (!$nested) {
                $database->counter->unlock($finished || !$begun || $database->rollBack());
            }
        }

        // Without its change counter the epoch has ended meanwhile, and nobody will ever read what was written.
        return $database->counter->exists() ? $outcomes : null;
    }

    /** Keeps the budget after the changes, and notes what is known of deleted rows and of flushes. */
    private function note(): void
    {
        if (\abs($this->dead) >= self::UNNOTED) {
            $this->past()->weigh($this->dead);
            $this->dead = 0;
        }
        if ($this->unchecked > \min(65536, $this->budget >> 6)) {
            $this->sweeper->makeRoom($this->past());
            $this->unchecked = 0;
        }
        $this->past?->save();
        $this->flush === 0 || $this->sweeper->flushed($this->flush);
    }

    /**
     * Applies the changes that wait in the change log, and judges them. This transaction notes how far it got, so each change
     * has one verdict, which follows from what lies before it in the log and in the database. Returns the mark behind
     * them; null: another program has damaged the log.
     */
    private function settle(): ?string
    {
        $mark = $this->database->rows("SELECT value FROM m WHERE name = 'tail'")[0][0] ?? '';
        $waiting = $this->database->changeLog->read(\is_string($mark) ? $mark : '');
        if ($waiting === null) {
            return null;
        }
        [$changes, $mark] = $waiting;
        if ($changes === []) {
            // A writer was killed when it had applied them, or before it had finished the first one.
            return $mark;
        }
        $start = $end = $this->database->number('SELECT max(pos) FROM e');
        $this->database->counter->ring();
        // Of several changes of a key by one writer only the last matters, for they all have the same verdict: had it learned
        // of a conflict in between, it would have appended no more.
        $last = $shared = [];
        foreach ($changes as $i => $change) {
            $key = $change->key;
            if (isset($last[$key]) && $changes[$last[$key]]->writer !== $change->writer) {
                $shared[$key] = true;
            }
            $last[$key] = $i;
        }
        $rows = new LateRows($this->database, \count($last));
        $writers = [];
        foreach ($changes as $i => $change) {
            $key = $change->key;
            if ($last[$key] !== $i && !isset($shared[$key])) {
                continue;
            }
            $body = $change->body;
            $writer = $change->writer;
            $limit = $change->limit;
            // Its writer knew all that the database held before this log: only what lies in the log can be in its way.
            if ($limit === Change::ALWAYS || ($limit >= $start && ($writers[$key] ?? $writer) === $writer)) {
                $held = $rows->put($i, $key, ++$end, $writer, $change->kind, $change->expiry, $body);
                if ($body === null) {
                    $this->dead += DeletedRows::weight($key);
                    $this->unchecked += 100 + \strlen($key);
                } else {
                    $this->unchecked += 100 + \strlen($key) + \strlen($body);
                }
                $this->settled[$writer][$key] = $end;
                $writers[$key] = $writer;
                $held === [] || $this->stopped($changes, $held, $writers);
                continue;
            }
            $this->stopped($changes, $rows->flush(), $writers);
            $this->guards = [];
            $outcome = $this->apply(self::guarded($change));
            if ($outcome->done) {
                $this->settled[$writer][$key] = $end = $outcome->position;
                $writers[$key] = $writer;
            } elseif ($change->bounded === null || $outcome->guard !== null || ($outcome->kind !== 's' && $outcome->kind !== 'x')) {
                $this->hide($change, ++$end);
                $writers[$key] = Appending::NOBODY;
            } elseif (self::isSame($change, $outcome)) {
                $this->settled[$writer][$key] = 0;
            } else {
                $rows->put($i, $key, ++$end, Appending::NOBODY, $change->kind, $change->expiry, $change->bounded);
                $this->bounded[$key] = true;
                $this->settled[$writer][$key] = -$end;
                $writers[$key] = Appending::NOBODY;
            }
        }
        $this->stopped($changes, $rows->flush(), $writers);
        $this->database->note('tail', $mark);

        return $mark;
    }

    /**
     * Decides what becomes of changes that have met held records.
     *
     * @param list<Change>          $changes
     * @param list<int>             $held
     * @param array<string, string> $writers
     */
    private function stopped(array $changes, array $held, array &$writers): void
    {
        foreach ($held as $i) {
            $change = $changes[$i];
            if ($change->limit === Change::ALWAYS) {
                $this->settled[$change->writer][$change->key] = 0;
            } else {
                // At the position that it would have had.
                $this->hide($change, $this->settled[$change->writer][$change->key]);
                $writers[$change->key] = Appending::NOBODY;
            }
        }
    }

    /** In the way of the change are others' changes or intents: the key has no value then, and NOBODY signs that. */
    private function hide(Change $change, int $position): void
    {
        unset($this->bounded[$change->key]);
        $this->drop($change->key, $change->body === null ? $change->kind : 'x', $position);
        $this->settled[$change->writer][$change->key] = -$position;
    }

    private static function guarded(Change $change): Change
    {
        $guards = $change->body === null || $change->limit === Change::ALWAYS ? [] : \array_fill_keys(Markers::covering($change->key), $change->limit);

        return new Change($change->key, $change->body, $change->writer, $change->limit, $change->expiry, $guards, kind: $change->kind);
    }

    /** Whether what stands in the way of a set has its payload. */
    private static function isSame(Change $change, ChangeResult $conflict): bool
    {
        $there = $conflict->kind === 's' ? $conflict->record->body ?? '' : '';

        return (\strlen($there) === \strlen((string) $change->body) || \strlen($there) === \strlen((string) $change->bounded))
            && \substr($there, -$change->payload) === \substr((string) $change->body, -$change->payload);
    }

    private function drop(string $key, string $kind, int $position): void
    {
        $drop = $this->database->statement(self::DROP);
        $drop->bindValue(1, $key, \PDO::PARAM_LOB);
        $drop->bindValue(2, $position, \PDO::PARAM_INT);
        $drop->bindValue(3, Appending::NOBODY);
        $drop->bindValue(4, $kind);
        $drop->execute();
        $this->dead += DeletedRows::weight($key);
    }

    private function apply(Change $change): ChangeResult
    {
        if (!$change->isOf($this->database->epoch)) {
            return new ChangeResult(false, -1);
        }
        $key = $change->key;
        [$end, $position, $writer, $kind, $expiry, $alive, $used] = $this->find($key);
        $logged = $change->logged;
        $isThere = $alive === 1 && ($expiry === 0 || $expiry >= Clock::now());
        $known = 0;
        if ($position > 0) {
            $known = $position;
            // A key's change in the journal must stay there.
            $logged = true;
        } elseif ($isThere) {
            $known = -$position;
        }
        if (
            ($known > $change->limit && ($change->strict || !$change->logged || $writer !== $change->writer))
            || ($used === self::HELD && $isThere && !$change->strict && $change->logged)
        ) {
            return new ChangeResult(false, $known, $writer, 0, $kind, $this->record($key));
        }
        if ($known === 0 && $logged && $this->isForgotten($change->limit, $end, $change->strict ? '' : $change->writer)) {
            return new ChangeResult(false, -1);
        }
        foreach ($change->guards as $guard => $limit) {
            if ($limit >= $end) {
                // No key at all has changed since then.
                continue;
            }
            $guard = (string) $guard;
            // Many changes of one call share their guards, so their rows are cached.
            [, $position, $who, $what] = $this->guards[$guard] ??= $this->find($guard);
            $last = \abs($position);
            if ($last > $limit ? $who !== $change->writer : $last === 0 && $this->isForgotten($limit, $end, $change->writer)) {
                return new ChangeResult(false, $last === 0 ? -1 : $last, $who, 0, $what, $this->record($key), $guard);
            }
        }
        $body = $change->body;
        $size = $body === null ? 0 : \strlen($body);
        $tooLarge = $size > $this->budget >> 2;
        if ($logged) {
            $next = $end + 1;
            $this->database->counter->ring();
        } else {
            $next = 1 - $this->database->number('SELECT min(pos) FROM e WHERE pos < 0');
        }
        $put = $this->database->statement(self::PUT);
        $this->bind($put, $change, $logged ? $next : -$next, $tooLarge ? null : $body, $tooLarge ? 'x' : $change->kind);
        $put->execute();
        unset($this->guards[$key]);
        $isDead = $body === null || $tooLarge || self::isMarker($change->kind);
        if ($isDead !== ($position !== 0 && ($alive === 0 || self::isMarker($kind)))) {
            $this->dead += $isDead ? DeletedRows::weight($key) : -DeletedRows::weight($key);
        }
        if ($isDead && $change->kind === 'm' && $body !== null && \str_starts_with($key, 'f:')) {
            $this->flush = $next;
        }

        return $tooLarge
            ? ChangeResult::refused()
            : new ChangeResult(true, $next, $known === 0 ? '' : $writer, $known, $isThere ? $kind : '');
    }

    private function bind(\PDOStatement $put, Change $change, int $position, ?string $body, string $kind): void
    {
        $put->bindValue(1, $change->key, \PDO::PARAM_LOB);
        $put->bindValue(2, $position, \PDO::PARAM_INT);
        $put->bindValue(3, $change->writer);
        $put->bindValue(4, $kind);
        $put->bindValue(5, $change->body === null ? 0 : $change->expiry, \PDO::PARAM_INT);
        $put->bindValue(6, ($body[0] ?? '') === Change::HELD ? self::HELD : 0, \PDO::PARAM_INT);
        $put->bindValue(7, $body === null ? 0 : \crc32($body), \PDO::PARAM_INT);
        $put->bindValue(8, $body, \PDO::PARAM_LOB);
        $this->unchecked += 100 + \strlen($change->key) + \strlen((string) $body);
    }

    /**
     * @return array{int, int, string, string, int, int, int} the journal's end; of the key: position or 0, writer, kind,
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
     * Whether the row of a change after $limit, by another writer, may have been deleted. A limit of 0 asks only for known
     * changes; a limit at the end or later needs no check.
     */
    private function isForgotten(int $limit, int $end, string $writer): bool
    {
        return $limit > 0 && $limit < $end && $limit < $this->past()->horizon($writer);
    }

    private function past(): DeletedRows
    {
        return $this->past ??= new DeletedRows($this->database);
    }

    private static function isMarker(string $kind): bool
    {
        return $kind === 'm' || $kind === 'c';
    }

    private function record(string $key): ?Record
    {
        $peek = $this->database->statement(self::PEEK);
        $peek->bindValue(1, $key, \PDO::PARAM_LOB);
        $peek->execute();
        /** @var list<array{?string, int, string, int}> $rows */
        $rows = $peek->fetchAll(\PDO::FETCH_NUM);
        [$body, $position, $writer, $expiry] = $rows[0] ?? [null, 0, '', 0];

        return $body === null || ($expiry !== 0 && $expiry < Clock::now())
            ? null
            : new Record($body, \abs($position), $writer);
    }
}
