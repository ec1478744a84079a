<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Store\Change;
use Larder\Store\Changes;
use Larder\Store\Outcome;
use Larder\Store\Record;
use Larder\Store\Store;
use Larder\Store\StoreFailure;
use Larder\Store\View;

/**
 * Records and log in one SQLite database, for the processes of one server and one user.
 *
 * This folder holds the engine: this class reads and writes, Database is a connection, Home the directory, Bell
 * tells cheaply whether anything changed, Sweeper keeps the budget, Schema has the tables. Nothing here knows what
 * a body means, or chooses the directory, or checks whose it is.
 *
 * The table is the log: each key has its last change in it, also when that was a removal, until the Sweeper deletes
 * removals that are old (the "horizon"). Against the death of a process a commit is safe at once; after the death
 * of the machine the database is not used again (Boot).
 */
final class SqliteStore implements Store
{
    private const END = '(SELECT max(pos) FROM e)';

    private const ONE = 'SELECT ' . self::END . ', pos, writer, body, expiry, used FROM (SELECT 1) LEFT JOIN e ON k = ?';

    private const FIND = 'SELECT ' . self::END . ', pos, writer, kind, expiry, body IS NOT NULL, used'
        . ' FROM (SELECT 1) LEFT JOIN e ON k = ?';

    private const PUT = 'INSERT INTO e(k, pos, writer, kind, expiry, used, body) VALUES(?, ?, ?, ?, ?, ?, ?)'
        . ' ON CONFLICT(k) DO UPDATE SET pos = excluded.pos, writer = excluded.writer, kind = excluded.kind,'
        . ' expiry = excluded.expiry, used = excluded.used, body = excluded.body';

    private const END_AND_HORIZON = "SELECT 0, max(pos), (SELECT value FROM m WHERE name = 'horizon'), NULL FROM e";

    private const SINCE = self::END_AND_HORIZON
        . ' UNION ALL SELECT pos, k, writer, kind FROM e WHERE pos > ? ORDER BY 1 LIMIT ' . self::LONGEST_LIST;

    private const HORIZON = "SELECT value FROM m WHERE name = 'horizon'";

    private const ALL = 'SELECT k, pos, writer, body, expiry FROM e WHERE k > ? AND body IS NOT NULL ORDER BY k LIMIT 100';

    /** Whoever is further behind is told that the list is not complete. */
    private const LONGEST_LIST = 50_000;

    /** Keys of one statement; more are read in one transaction. */
    private const MOST_KEYS = 256;

    /** A row's `used` while its record is held: neither evicted nor overwritten. */
    private const HELD = 2;

    /** Keys noted as used, between two calls of tidy(). */
    private const MOST_NOTED = 512;

    /** Times an epoch may end under one call. */
    private const ATTEMPTS = 4;

    private readonly Home $home;
    private ?Database $database = null;

    /** @var array<string, true> read since the last tidy(), and not marked as used */
    private array $used = [];

    /** Bytes written since somebody looked at the budget, and since the last tidy(). */
    private int $unchecked = 0;
    private int $written = 0;

    /**
     * @param string $directory its own; exists with mode 0700, or is made so
     * @param int    $budget    bytes of records and log, at least 1 MB
     * @param float  $timeout   seconds that a call may wait for other processes
     */
    public function __construct(string $directory, private readonly int $budget, private readonly float $timeout)
    {
        $this->home = new Home($directory);
    }

    public function since(string $epoch, int $position, string $token): Changes
    {
        if ($token !== '' && $epoch !== '') {
            // "Has anything changed?" is one stat, without opening the database.
            $size = $this->bell($epoch)->size();
            if (($size & 1) === 0 && $token === $epoch . ':' . $size) {
                return new Changes($epoch, $position, $token, true);
            }
        }
        for ($attempt = 1; ; $attempt++) {
            $database = $this->database();
            // Before the database is read: see Bell.
            $size = $database->bell->size();
            if ($size < 0) {
                $this->epochEnded($attempt);
                continue;
            }
            try {
                if (($size & 1) === 1) {
                    $database->mend();
                    $size = $database->bell->size();
                }
                $now = $database->epoch . ':' . $size;
                if ($epoch !== $database->epoch) {
                    /** @var array{int, int, int} $row */
                    $row = $database->rows(self::END_AND_HORIZON)[0];

                    return new Changes($database->epoch, $row[1], $now, false);
                }
                $statement = $database->statement(self::SINCE);
                $statement->bindValue(1, $position, \PDO::PARAM_INT);
                $statement->execute();
                /** @var non-empty-list<array{int, int|string, string, string}> $rows */
                $rows = $statement->fetchAll(\PDO::FETCH_NUM);
            } catch (\PDOException $e) {
                $this->failed($e, $database, $attempt);
                continue;
            }
            $end = (int) $rows[0][1];
            if ($position < (int) $rows[0][2] || $position > $end || \count($rows) === self::LONGEST_LIST) {
                return new Changes($epoch, $end, $now, false);
            }
            $list = [];
            for ($i = 1, $n = \count($rows); $i < $n; $i++) {
                $list[] = [(string) $rows[$i][1], $rows[$i][0], $rows[$i][2], $rows[$i][3]];
            }

            return new Changes($epoch, $end, $now, true, $list);
        }
    }

    public function read(array $keys): View
    {
        for ($attempt = 1; ; $attempt++) {
            $database = $this->database;
            if ($database === null || !$database->isOurs()) {
                $database = $this->database();
            }
            try {
                if (!isset($keys[1])) {
                    $key = $keys[0];
                    $statement = $database->statement(self::ONE);
                    $statement->bindValue(1, $key, \PDO::PARAM_LOB);
                    $statement->execute();
                    /** @var array{int, ?int, string, ?string, int, int} $row */
                    $row = $statement->fetchAll(\PDO::FETCH_NUM)[0];
                    if (!isset($row[3]) || ($row[4] !== 0 && $row[4] < \microtime(true) * 1000)) {
                        return new View($database->epoch, $row[0], []);
                    }
                    if ($row[5] === 0 && \count($this->used) < self::MOST_NOTED) {
                        $this->used[$key] = true;
                    }

                    return new View($database->epoch, $row[0], [$key => new Record($row[3], $row[1] < 0 ? -$row[1] : (int) $row[1], $row[2])]);
                }

                return $this->readMany($database, $keys);
            } catch (\PDOException $e) {
                $this->failed($e, $database, $attempt);
            }
        }
    }

    public function write(array $changes): array
    {
        for ($attempt = 1; ; $attempt++) {
            $database = $this->database;
            if ($database === null || !$database->isOurs()) {
                $database = $this->database();
            }
            try {
                if ($database->bell->lock($this->timeout)) {
                    $outcomes = $this->commit($database, $changes);
                    // Else the epoch ended meanwhile, and nobody may ever read what was written into it.
                    if ($database->bell->exists()) {
                        return $outcomes;
                    }
                }
            } catch (\PDOException $e) {
                $this->failed($e, $database, $attempt);
                continue;
            }
            $this->epochEnded($attempt);
        }
    }

    /** Markers are never evicted (see Sweeper). */
    public function forgets(): bool
    {
        return false;
    }

    public function tidy(): void
    {
        if ($this->used === [] && $this->written === 0) {
            return;
        }
        try {
            $database = $this->database();
            if ($database->bell->tryLock()) {
                $finished = false;
                try {
                    (new Sweeper($database, $this->budget))->tidy($this->used, $this->written > 0);
                    $finished = true;
                } finally {
                    $database->bell->unlock($finished || $database->rollBack());
                }
                $this->used = [];
                $this->written = 0;
            }
        } catch (StoreFailure|\PDOException) {
            // Whoever next reads or writes gets to hear of it.
        }
    }

    public function each(): iterable
    {
        $last = '';
        do {
            $rows = $this->batch($last);
            $now = \microtime(true) * 1000;
            foreach ($rows as [$key, $position, $writer, $body, $expiry]) {
                $last = $key;
                if ($expiry === 0 || $expiry >= $now) {
                    yield $key => new Record($body, \abs($position), $writer);
                }
            }
        } while ($rows !== []);
    }

    public function stats(): array
    {
        for ($attempt = 1; ; $attempt++) {
            $database = $this->database();
            try {
                return [
                    'engine' => 'sqlite',
                    'entries' => $database->number('SELECT count(*) FROM e WHERE body IS NOT NULL'),
                    'bytes' => (new Sweeper($database, $this->budget))->pages() * 4096,
                    'budget' => $this->budget,
                ];
            } catch (\PDOException $e) {
                $this->failed($e, $database, $attempt);
            }
        }
    }

    /** @param non-empty-list<string> $keys */
    private function readMany(Database $database, array $keys): View
    {
        $several = \count($keys) > self::MOST_KEYS;
        $several && $database->run('BEGIN');
        try {
            $records = [];
            $at = null;
            $now = \microtime(true) * 1000;
            foreach ($several ? \array_chunk($keys, self::MOST_KEYS) : [$keys] as $part) {
                // A few lengths only, so that statements are found again; NULL is in no list.
                for ($places = 4; $places < \count($part); $places *= 4);
                $statement = $database->statement('SELECT NULL, max(pos), NULL, NULL, NULL, NULL FROM e UNION ALL'
                    . ' SELECT k, pos, writer, body, expiry, used FROM e WHERE k IN (?' . \str_repeat(', ?', $places - 1) . ')');
                for ($i = 0; $i < $places; $i++) {
                    $statement->bindValue($i + 1, $part[$i] ?? null, \PDO::PARAM_LOB);
                }
                $statement->execute();
                /** @var non-empty-list<array{string, int, string, ?string, int, int}> $rows */
                $rows = $statement->fetchAll(\PDO::FETCH_NUM);
                $at ??= $rows[0][1];
                for ($i = 1, $n = \count($rows); $i < $n; $i++) {
                    [$key, $position, $writer, $body, $expiry, $used] = $rows[$i];
                    if ($body === null || ($expiry !== 0 && $expiry < $now)) {
                        continue;
                    }
                    $records[$key] = new Record($body, $position < 0 ? -$position : $position, $writer);
                    if ($used === 0 && \count($this->used) < self::MOST_NOTED) {
                        $this->used[$key] = true;
                    }
                }
            }
        } finally {
            $several && $database->run('COMMIT');
        }

        return new View($database->epoch, $at, $records);
    }

    /**
     * With the bell's lock, which it gives back.
     *
     * @param non-empty-list<Change> $changes
     *
     * @return non-empty-list<Outcome>
     */
    private function commit(Database $database, array $changes): array
    {
        $finished = false;
        $begun = false;
        try {
            $database->statement('BEGIN IMMEDIATE')->execute();
            $begun = true;
            if ($database->bell->isLeftOdd()) {
                $database->heal();
            }
            $outcomes = [];
            foreach ($changes as $change) {
                $outcomes[] = $this->apply($database, $change);
            }
            if ($this->unchecked > \min(65536, $this->budget >> 6)) {
                (new Sweeper($database, $this->budget))->makeRoom();
                $this->unchecked = 0;
            }
            $database->statement('COMMIT')->execute();
            $finished = true;
        } finally {
            $database->bell->unlock($finished || !$begun || $database->rollBack());
        }

        return $outcomes;
    }

    private function apply(Database $database, Change $change): Outcome
    {
        $key = $change->key;
        [$end, $position, $writer, $kind, $expiry, $alive, $used] = $this->find($database, $key);
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
            return new Outcome(false, $known, $writer, 0, $kind, $this->record($database, $key));
        }
        if ($known === 0 && $logged && $this->isForgotten($database, $change->limit, $end)) {
            return new Outcome(false, -1);
        }
        foreach ($change->guards as $guard => $limit) {
            $guard = (string) $guard;
            [, $position, $who, $what] = $this->find($database, $guard);
            $last = \abs($position);
            if ($last > $limit ? $who !== $change->writer : $last === 0 && $this->isForgotten($database, $limit, $end)) {
                return new Outcome(false, $last === 0 ? -1 : $last, $who, 0, $what, $this->record($database, $key), $guard);
            }
        }
        $body = $change->body;
        $size = $body === null ? 0 : \strlen($body);
        $tooLarge = $size > $this->budget >> 2;
        if ($logged) {
            $next = $end + 1;
            $database->bell->ring();
        } else {
            $next = 1 - $database->number('SELECT min(pos) FROM e WHERE pos < 0');
        }
        $put = $database->statement(self::PUT);
        $put->bindValue(1, $key, \PDO::PARAM_LOB);
        $put->bindValue(2, $logged ? $next : -$next, \PDO::PARAM_INT);
        $put->bindValue(3, $change->writer);
        $put->bindValue(4, $tooLarge ? 'x' : $change->kind);
        $put->bindValue(5, $body === null ? 0 : $change->expiry, \PDO::PARAM_INT);
        $put->bindValue(6, $size > 0 && $body[0] === Change::HELD ? self::HELD : 0, \PDO::PARAM_INT);
        $put->bindValue(7, $tooLarge ? null : $body, \PDO::PARAM_LOB);
        $put->execute();
        $this->unchecked += $written = 100 + \strlen($key) + ($tooLarge ? 0 : $size);
        $this->written += $written;

        return $tooLarge
            ? new Outcome(false, -1)
            : new Outcome(true, $next, $known === 0 ? '' : $writer, $known);
    }

    /**
     * @return array{int, int, string, string, int, int, int} the log's end; of the key: position or 0, writer, kind,
     *         expiry, whether it has a body, used
     */
    private function find(Database $database, string $key): array
    {
        $find = $database->statement(self::FIND);
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
    private function isForgotten(Database $database, int $limit, int $end): bool
    {
        return $limit > 0 && $limit < $end && $limit < $database->number(self::HORIZON);
    }

    private function record(Database $database, string $key): ?Record
    {
        return $this->readMany($database, [$key])->records[$key] ?? null;
    }

    /** @return list<array{string, int, string, string, int}> */
    private function batch(string $after): array
    {
        for ($attempt = 1; ; $attempt++) {
            $database = $this->database();
            try {
                $statement = $database->statement(self::ALL);
                $statement->bindValue(1, $after, \PDO::PARAM_LOB);
                $statement->execute();

                /** @var list<array{string, int, string, string, int}> */
                return $statement->fetchAll(\PDO::FETCH_NUM);
            } catch (\PDOException $e) {
                $this->failed($e, $database, $attempt);
            }
        }
    }

    private function bell(string $epoch): Bell
    {
        // A token's epoch comes from outside and becomes a file's name.
        return $this->database !== null && $this->database->epoch === $epoch
            ? $this->database->bell
            : $this->home->bell(\basename($epoch));
    }

    private function database(): Database
    {
        if ($this->database === null || !$this->database->isOurs()) {
            $this->database = null;
            $this->used = [];
            $this->database = Database::open($this->home, $this->budget, $this->timeout);
        }

        return $this->database;
    }

    private function epochEnded(int $attempt): void
    {
        $this->database = null;
        if ($attempt >= self::ATTEMPTS) {
            throw StoreFailure::because('sqlite', $this->home->database . ' is removed as soon as it is made; stop whatever does that');
        }
    }

    private function failed(\PDOException $error, Database $database, int $attempt): void
    {
        $database->failed($error, $this->timeout);
        $this->epochEnded($attempt);
    }
}
