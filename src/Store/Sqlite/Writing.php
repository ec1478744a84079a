<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Driver\Sqlite\SqliteConnection;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Record;
use Larder\System\Clock;
use Larder\System\Failure;
use Larder\System\ServerPolicy;

/**
 * Makes conditional writes over one connection. Judges each change by its key's row, which even removed and evicted keys
 * have, and then makes the change or reports the conflict.
 *
 * A commit tells this process where the journal ends. Single changes that follow are appended to the change log, in a fifth of the
 * time, and become rows with the next commit, or when the request ends. So a request that makes one change pays for one
 * commit, and one that makes many for two. If other processes change something meanwhile, this one first reads what they have
 * appended.
 */
final class Writing
{
    /** The signs change no value. Of a bare column SQLite notes where it comes from, which takes longer than all else in preparing. */
    private const FIND = 'SELECT +pos, +writer, +kind, +expiry, body IS NOT NULL, +used FROM e WHERE k = ?';

    private const INSERT = 'INSERT INTO e(pos, writer, kind, expiry, used, sum, body, k) VALUES';
    private const ROW = '(?, ?, ?, ?, ?, ?, ?, ?)';
    private const UPDATE = 'UPDATE e SET pos = ?, writer = ?, kind = ?, expiry = ?, used = ?, sum = ?, body = ? WHERE k = ?';
    private const TYPES = [\PDO::PARAM_INT, \PDO::PARAM_STR, \PDO::PARAM_STR, \PDO::PARAM_INT, \PDO::PARAM_INT, \PDO::PARAM_INT, \PDO::PARAM_LOB, \PDO::PARAM_LOB];

    /** To prepare an INSERT with it takes longer than an UPDATE and an INSERT together. */
    private const OVER = ' ON CONFLICT(k) DO UPDATE SET pos = excluded.pos, writer = excluded.writer, kind = excluded.kind,'
        . ' expiry = excluded.expiry, used = excluded.used, sum = excluded.sum, body = excluded.body';

    private const PEEK = 'SELECT +body, +pos, +writer, +expiry FROM e WHERE k = ?';

    /** A row's `used` while its record is held: neither evicted nor overwritten. */
    public const HELD = 2;

    private const ANY_HELD = 'SELECT EXISTS(SELECT 1 FROM e WHERE used = ' . self::HELD . ')';

    /** Whether there is a flush marker, or was one that has been forgotten. */
    private const ANY_FLUSH = "SELECT EXISTS(SELECT 1 FROM e WHERE k >= x'663A' AND k < x'663B') OR EXISTS(SELECT 1 FROM m WHERE name = 'floors' AND value NOT IN ('', '0:0'))";

    /** Rows in one statement, and from which number on that saves more than its preparation takes. */
    private const AT_ONCE = 8;
    private const MANY = 128;

    /** From which number on a row is put by one statement that inserts or updates. */
    private const SEVERAL = 8;

    /** Keys whose changes may wait, and their bytes. */
    private const WAITING = 256;
    private const WAITING_BYTES = ChangeCounter::AREA >> 1;

    /** One in this many commits checks the length of the write-ahead log. */
    private const COMMITS = 16;

    /** Value of $dead from which on it is noted. */
    private const UNNOTED = 4096;

    /** Size of the change counter at which this process knows the journal's end and all that waits; -1: it does not. */
    public int $size = -1;

    /** The journal's end; -1: not read yet. */
    private int $end = -1;

    /** All changes after this position are this writer's. */
    private int $others = 0;
    private string $writer = '';

    /** Whether any record is held; null: not asked yet. */
    private ?bool $isAnyHeld = null;

    /** Of the change log. */
    private int $flags = 0;

    /** @var array<string, array{Change, int}> what waits, as far as this process knows, by key: each with its position, which grows */
    public array $waiting = [];
    private int $waitingBytes = 0;

    /** @var array<string, array{int, int, string, string, int, int, int, 7?: int}> rows of guards, and of the key that is judged, since the table has changed */
    private array $rows = [];

    /** What this transaction knows of deleted rows; null: not read yet. */
    private ?DeletedRows $past = null;

    /** Position of the last flush in this transaction. */
    private int $flush = 0;

    /** Bytes added in rows without an entry, and not noted yet (DeletedRows). */
    public int $dead = 0;

    private int $commits = 0;

    /** Bytes written since the budget was last checked. */
    private int $unchecked = 0;

    /** Bytes of a body that is appended: what waits must not exceed a small budget by much. */
    private readonly int $longest;

    private ?Sweeper $sweeper = null;

    /** @param int $asked bytes that are configured; to ask what the policy leaves of them costs as much as many a change */
    public function __construct(private readonly Database $database, private readonly int $asked, private readonly ?ServerPolicy $policy)
    {
        $this->longest = \min(ChangeLog::LONGEST_BODY, $asked >> 9);
    }

    /**
     * @param float $timeout seconds
     *
     * @return int the change's position; 0: it was not appended, and must be committed
     *
     * @throws Failure if another process holds the lock for longer
     */
    public function append(Change $change, float $timeout): int
    {
        $body = $change->body;
        $bytes = $body === null ? 0 : \strlen($body);
        if ($this->size < 0 || $change->asks || $change->strict || !$change->logged || $bytes > $this->longest || ($change->epoch !== '' && $change->epoch !== $this->database->epoch)
            || ($body !== null && ($change->kind !== 's' || ($body[0] ?? '') === Change::HELD))
            || \count($this->waiting) >= self::WAITING || $this->waitingBytes + $bytes > self::WAITING_BYTES) {
            return 0;
        }
        // Most changes have nothing in their way: neither an intent, nor a change by another writer.
        $isJudged = $this->isAnyHeld !== false || $change->writer !== $this->writer || $change->limit < $this->others || ($change->guards !== [] && \min($change->guards) < $this->others);
        if ($isJudged && !$this->isFree($change)) {
            return 0;
        }
        // If anything goes wrong, the next commit looks at the file.
        $size = $this->size;
        $this->size = -1;
        $log = $this->database->changeLog;
        \assert($log->position === $this->end);
        // Where others change something all the time, to try without them would be in vain.
        $size = $isJudged && $this->database->counter->size() !== $size ? -1 : $log->append($change, $size);
        if ($size < 0) {
            $size = $this->appendAfterOthers($change, $timeout);
        }
        if ($size < 0) {
            return 0;
        }
        unset($this->rows[$change->key]);
        $this->size = $size;
        $this->writer === $change->writer || $this->countAsOwn($change->writer);
        $this->wait($change, ++$this->end);
        if ($body === null) {
            $this->dead += DeletedRows::weight($change->key);
        }

        return $this->end;
    }

    /**
     * Judges a change by what others have changed too, and appends it, all of it under the lock. What was read for the first judgement
     * is not read again, unless the table has changed.
     *
     * @return int the file's size; -1: not appended
     *
     * @throws Failure
     */
    private function appendAfterOthers(Change $change, float $timeout): int
    {
        $counter = $this->database->counter;
        $nested = $counter->isHeld();
        $log = $this->database->changeLog;
        // A signal handler may throw anywhere, even while lock() returns.
        try {
            if (!$counter->lock($timeout) || $counter->isLeftOdd() || $counter->isCut() || $this->database->isStranded() || !$this->follow()) {
                return -1;
            }
            $this->end = $log->position;

            return $this->isFree($change) ? $log->append($change, $counter->size, true) : -1;
        } finally {
            $nested || $counter->unlock();
        }
    }

    /**
     * Learns what waits and the log's flags, and forgets what was known of others' changes. The caller holds the lock.
     *
     * @return bool false: another program has damaged the log
     */
    private function follow(): bool
    {
        $this->writer = '';
        $log = $this->database->changeLog;
        $emptied = $log->emptied;
        $read = $log->read();
        if ($log->emptied !== $emptied) {
            // The table has changed too.
            $this->isAnyHeld = null;
            $this->rows = [];
            $this->waiting = [];
            $this->waitingBytes = 0;
        }
        if ($read === null) {
            return false;
        }
        [$this->flags, $changes] = $read;
        foreach ($changes as [$change, $position]) {
            $this->wait($change, $position);
        }

        return true;
    }

    private function wait(Change $change, int $position): void
    {
        // In the order of their positions.
        unset($this->waiting[$change->key]);
        $this->waiting[$change->key] = [$change, $position];
        $this->waitingBytes += $change->body === null ? 0 : \strlen($change->body);
    }

    /** Whether nothing is in a change's way, as long as the change counter has the size that this process knows: then what is read here is of that size too. */
    private function isFree(Change $change): bool
    {
        $this->past = null;
        try {
            if ($this->isAnyHeld === null && $change->writer === $this->writer) {
                $this->isAnyHeld = $this->database->number(self::ANY_HELD) > 0;
            }

            return $this->conflict($change, $this->find($change->key, true)) === null;
        } catch (\PDOException) {
            // Another program has damaged the database: commit() puts it aside.
            return false;
        }
    }

    /** Call it before a change of the writer's enters the journal. */
    private function countAsOwn(string $writer): void
    {
        if ($this->writer !== $writer) {
            $this->writer = $writer;
            $this->others = $this->end;
        }
    }

    /**
     * Makes all changes in one transaction, as the only writer, after those that wait in the change log. Null: the epoch has
     * ended.
     *
     * @param list<Change> $changes
     * @param float        $timeout seconds
     *
     * @return ?list<ChangeResult>
     *
     * @throws \PDOException|Failure
     */
    public function commit(array $changes, float $timeout): ?array
    {
        $database = $this->database;
        $counter = $database->counter;
        $begun = $finished = false;
        $nested = $counter->isHeld();
        $waiting = $this->waiting;
        // The try begins here because a signal handler may throw anywhere, even while lock() returns.
        try {
            if (!$counter->lock($timeout)) {
                return null;
            }
            $begun = true;
            $database->begin();
            if ($database->isStranded()) {
                return null;
            }
            if ($counter->isLeftOdd()) {
                $database->heal();
            }
            $this->rows = [];
            $this->past = null;
            $this->flush = 0;
            if ($counter->isCut() || !$this->apply()) {
                $database->endWithoutLog();

                return null;
            }
            $results = [];
            foreach ($changes as $change) {
                $results[] = $this->make($change);
            }
            $this->note();
            $database->commit();
            $finished = true;
            if ($counter->isLeftOdd()) {
                $database->changeLog->clear($this->end, $this->flags);
            }
            if (++$this->commits % self::COMMITS === 0) {
                $this->sweeper()->keepLog();
            }
        } finally {
            if (!$nested) {
                // Where they were not applied, readers must know of them (SqliteStore::current()).
                $this->waiting = $finished ? [] : $waiting;
                $this->waitingBytes = 0;
                $this->rows = [];
                $finished || $database->changeLog->forget();
                $finished || !$begun || $database->rollBack();
                $counter->unlock();
                $this->size = $finished && $this->end >= 0 && ChangeCounter::isSettled($counter->size) ? $counter->size : -1;
            }
        }

        // Without its change counter the epoch has ended meanwhile, and no process will ever read what was written.
        return $counter->exists() ? $results : null;
    }

    /**
     * Puts what waits in the change log into the table. False: another program has damaged the log.
     *
     * @phpstan-impure
     */
    private function apply(): bool
    {
        $database = $this->database;
        $counter = $database->counter;
        if ($counter->size !== $this->size) {
            if (!$this->follow()) {
                return false;
            }
            $this->end = -1;
            $this->isAnyHeld = null;
            // What a killed writer has put into the table, the log does not tell.
            if ($counter->isLeftOdd()) {
                $this->flags = $database->number(self::ANY_FLUSH) * ChangeLog::FLUSHED;
            }
        }
        // They are rows from here on: find() must see what this transaction, or another process, has put in their place.
        $waiting = $this->waiting;
        $this->waiting = [];
        $this->waitingBytes = 0;
        if (!$counter->hasWaiting() && !$counter->isLeftOdd()) {
            return true;
        }
        if ($this->end < 0) {
            $this->end = $database->number(SqliteStore::END);
            // A process may have been killed after it had applied them.
            $waiting = \array_filter($waiting, fn(array $waits): bool => $waits[1] > $this->end);
        }
        $counter->ring();
        // SQLite's work for each statement is a quarter of what a row takes.
        $count = \count($waiting);
        $most = $count < self::MANY ? 1 : self::AT_ONCE;
        $putMany = self::INSERT . self::ROW . \str_repeat(', ' . self::ROW, $most - 1) . self::OVER;
        $rows = [];
        foreach ($waiting as [$change, $position]) {
            $rows[] = $this->row($change, $position, $change->body, $change->kind);
            if ($count >= self::SEVERAL && isset($rows[$most - 1])) {
                $database->execute($putMany, \array_merge(...$rows), self::TYPES);
                $rows = [];
            }
        }
        // A few, or what the last statement had room for: whether they are there is not known.
        foreach ($rows as $row) {
            $database->execute(self::UPDATE, $row, self::TYPES)->rowCount() > 0 || $database->execute(self::INSERT . self::ROW, $row, self::TYPES);
        }
        $this->end = $position ?? $this->end;

        return true;
    }

    /** Keeps the budget after the changes, and notes what is known of deleted rows and of flushes. */
    private function note(): void
    {
        if (\abs($this->dead) >= self::UNNOTED) {
            $this->past()->weigh($this->dead);
            $this->dead = 0;
        }
        if ($this->unchecked > \min(65536, $this->asked >> 6)) {
            $this->sweeper()->makeRoom($this->past());
            $this->unchecked = 0;
        }
        $this->past?->save();
        $this->flush === 0 || $this->sweeper()->flushed($this->flush);
    }

    private function budget(): int
    {
        return ($this->policy ?? new ServerPolicy())->atMost($this->asked, 'disk');
    }

    private function sweeper(): Sweeper
    {
        return $this->sweeper ??= new Sweeper($this->database, $this->budget());
    }

    private function make(Change $change): ChangeResult
    {
        if (!$change->isOf($this->database->epoch)) {
            return new ChangeResult(false, -1);
        }
        $row = $this->find($change->key);
        $conflict = $this->conflict($change, $row);
        if ($conflict !== null) {
            return $conflict;
        }
        [, $position, $writer, $kind, , $alive, $used] = $row;
        $isThere = self::isThere($row);
        $body = $change->body;
        $isTooLarge = $body !== null && \strlen($body) > SqliteStore::LEAST >> 2 && \strlen($body) > $this->budget() >> 2;
        // A key's change in the journal must stay there.
        $isLogged = $change->logged || $position > 0;
        if ($isLogged) {
            $this->countAsOwn($change->writer);
            $next = ++$this->end;
            $this->database->counter->ring();
        } else {
            $next = 1 - $this->database->number('SELECT min(pos) FROM e WHERE pos < 0');
        }
        $row = $this->row($change, $isLogged ? $next : -$next, $isTooLarge ? null : $body, $isTooLarge ? 'x' : $change->kind);
        $this->database->execute($position === 0 ? self::INSERT . self::ROW : self::UPDATE, $row, self::TYPES);
        unset($this->rows[$change->key]);
        if ($used === self::HELD || ($body[0] ?? '') === Change::HELD) {
            $this->isAnyHeld = null;
        }
        $isDead = $body === null || $isTooLarge || self::isMarker($change->kind);
        if ($isDead !== ($position !== 0 && ($alive === 0 || self::isMarker($kind)))) {
            $this->dead += $isDead ? DeletedRows::weight($change->key) : -DeletedRows::weight($change->key);
        }
        if (\str_starts_with($change->key, 'f:')) {
            $this->flags |= ChangeLog::FLUSHED;
            if ($change->kind === 'm' && $body !== null) {
                $this->flush = $next;
            }
        }
        $known = $position > 0 ? $position : ($isThere ? -$position : 0);

        return $isTooLarge
            ? ChangeResult::refused()
            : new ChangeResult(true, $next, $known === 0 ? '' : $writer, $known, $isThere ? $kind : '');
    }

    /**
     * What is in a change's way, by the conditions that it carries; null: nothing.
     *
     * @param array{int, int, string, string, int, int, int, 7?: int} $row of its key
     */
    private function conflict(Change $change, array $row): ?ChangeResult
    {
        [$end, $position, $writer, $kind, , , $used] = $row;
        $isThere = self::isThere($row);
        $known = $position > 0 ? $position : ($isThere ? -$position : 0);
        if (
            ($known > $change->limit && ($change->strict || !$change->logged || $writer !== $change->writer))
            || ($used === self::HELD && $isThere && !$change->strict && $change->logged)
        ) {
            return new ChangeResult(false, $known, $writer, 0, $kind, $this->record($change->key));
        }
        if ($known === 0 && $change->logged && $this->isForgotten($change->key, $change->limit, $end, $change->strict ? '' : $change->writer)) {
            return new ChangeResult(false, -1);
        }
        foreach ($change->guards as $guard => $limit) {
            if ($limit >= $end) {
                // No key at all has changed since then.
                continue;
            }
            $guard = (string) $guard;
            // Many changes of one call share their guards, so their rows are cached.
            [, $position, $who, $what] = $this->find($guard, true);
            $last = \abs($position);
            if ($last > $limit ? $who !== $change->writer : $last === 0 && $this->isForgotten($guard, $limit, $end, $change->writer)) {
                return new ChangeResult(false, $last === 0 ? -1 : $last, $who, 0, $what, $this->record($change->key), $guard);
            }
        }

        return null;
    }

    /** @param array{int, int, string, string, int, int, int, 7?: int} $row */
    private static function isThere(array $row): bool
    {
        return $row[5] === 1 && ($row[4] === 0 || $row[4] >= Clock::now());
    }

    /** @return list<int|string|null> the columns, as INSERT lists them */
    private function row(Change $change, int $position, ?string $body, string $kind): array
    {
        $this->unchecked += DeletedRows::ROW + \strlen($change->key);
        if ($body === null) {
            return [$position, $change->writer, $kind, 0, 0, 0, null, $change->key];
        }
        $this->unchecked += \strlen($body);

        return [$position, $change->writer, $kind, $change->expiry, ($body[0] ?? '') === Change::HELD ? self::HELD : 0, \crc32($body), $body, $change->key];
    }

    /**
     * @param bool $again the row is asked for again, before the table changes
     *
     * @return array{int, int, string, string, int, int, int, 7?: int} the journal's end; of the key: position or 0, writer, kind,
     *         expiry, whether it has a body, used; the position up to which rows may have been deleted, once isForgotten() has read it
     */
    private function find(string $key, bool $again = false): array
    {
        if (isset($this->waiting[$key]) && $this->end >= 0) {
            [$change, $position] = $this->waiting[$key];

            return [$this->end, $position, $change->writer, $change->kind, $change->expiry, $change->body === null ? 0 : 1, 0];
        }
        $row = $this->rows[$key] ?? null;
        if ($row === null) {
            if ($this->end < 0) {
                $end = $this->database->number(SqliteStore::END);
                $this->end = $end < 0 ? throw SqliteConnection::damage('another program has emptied a table') : $end;
            }
            /** @var array{int, string, string, int, int, int}|false $row */
            $row = $this->database->find(self::FIND, $key);
            $row = $row === false ? [0, 0, '', '', 0, 0, 0] : [0, ...$row];
            if ($again) {
                $this->rows[$key] = $row;
            }
        }
        $row[0] = $this->end;

        return $row;
    }

    /**
     * Whether the row of a change of the key after $limit, by another writer, may have been deleted. A limit of 0 asks only for known
     * changes; a limit at the end or later needs no check.
     */
    private function isForgotten(string $key, int $limit, int $end, string $writer): bool
    {
        if ($limit <= 0 || $limit >= $end) {
            return false;
        }
        // Read after the row that was not found: who has deleted it meanwhile has raised the horizon with it.
        $horizon = $this->rows[$key][7] ?? null;
        if ($horizon === null) {
            $horizon = $this->database->noted('horizon');
            if (isset($this->rows[$key])) {
                $this->rows[$key][7] = $horizon;
            }
        }

        return $limit < $horizon && $limit < $this->past()->horizon($writer);
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
        /** @var array{?string, int, string, int}|false $row */
        $row = $this->database->find(self::PEEK, $key);
        [$body, $position, $writer, $expiry] = $row ?: [null, 0, '', 0];

        return $body === null || ($expiry !== 0 && $expiry < Clock::now())
            ? null
            : new Record($body, \abs($position), $writer);
    }
}
