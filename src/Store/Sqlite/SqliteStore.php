<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Driver\Sqlite\SqliteConnection;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\Markers;
use Larder\Store\ReadsPosition;
use Larder\Store\Record;
use Larder\Store\Snapshot;
use Larder\System\Clock;
use Larder\System\Failure;
use Larder\System\Fork;
use Larder\System\ServerPolicy;

/**
 * Keeps records and journal in one SQLite database, for the processes of one server and one user.
 *
 * This folder holds the engine: this class reads, Writing writes, Database is a connection, Opening opens one,
 * DatabaseFiles knows the directory's files, SqliteWatch and ChangeCounter tell cheaply whether anything changed, ChangeLog
 * holds changes that are not in the table yet, Sweeper keeps the budget, DeletedRows knows of deleted rows, Schema has the tables. Nothing
 * here knows what a body means, chooses the directory, or checks its owner.
 *
 * The table is the journal: it holds each key's last change, even a removal, until the Sweeper deletes old removals (the
 * "horizon"). A commit survives the death of its process at once. After the death of the machine no process uses the
 * database again (Boot).
 */
final class SqliteStore implements ReadsPosition
{
    private const ONE = 'SELECT (SELECT ifnull(max(pos), -1) FROM e), +pos, +writer, +body, +expiry, +used, +sum FROM (SELECT 1) LEFT JOIN e ON k = ?';

    /** A web request prepares what it executes, and preparing takes longer: so the usual reads are by small statements. For the signs see Writing::FIND. */
    private const GET = 'SELECT +body, +pos, +used, +sum FROM e WHERE k = ?';

    public const END = 'SELECT ifnull(max(pos), -1) FROM e';

    private const FLOORS = "SELECT value FROM m WHERE name = 'floors'";

    private const POSITION = 'SELECT +pos, +expiry, +used FROM e WHERE k = ? AND body IS NOT NULL';

    private const SINCE = "SELECT 0, ifnull(max(pos), -1), (SELECT value FROM m WHERE name = 'horizon'), NULL FROM e"
        . ' UNION ALL SELECT pos, k, writer, kind FROM e WHERE pos > ? ORDER BY 1 LIMIT ' . self::LONGEST_LIST;

    private const MANY = "SELECT NULL, ifnull(max(pos), -1), (SELECT value FROM m WHERE name = 'floors'), NULL, NULL, NULL, NULL FROM e UNION ALL"
        . ' SELECT k, pos, writer, body, expiry, used, sum FROM ';

    /** Each key of the list is looked up. With IN, SQLite would sort the list into a table first. */
    private const LISTED = self::MANY . 'json_each(?) CROSS JOIN e ON k = CAST(value AS BLOB)';

    private const ALL = 'SELECT k, pos, writer, body, expiry, sum FROM e WHERE k > ? AND body IS NOT NULL ORDER BY k LIMIT 100';

    /** Changes that one answer lists; a reader that is further behind gets an incomplete answer. */
    private const LONGEST_LIST = 50_000;

    /** Keys read by one statement; for more there are several statements in one transaction. */
    private const MOST_KEYS = 256;

    /** Changes in one transaction: other processes get the lock between two, and the write-ahead log stays short. */
    private const AT_ONCE = 1_000;

    /** Keys from which on they are bound as one parameter. */
    private const MANY_KEYS = 16;

    /** Keys noted as used, between two calls of tidy(). */
    private const MOST_NOTED = 512;

    /** Epochs that may end during one call before it gives up. */
    private const ATTEMPTS = 4;

    private static bool $hasJson = true;

    private readonly DatabaseFiles $files;

    private ?Database $database = null;
    private ?Writing $writing = null;

    /** Copied for the result of an append, which costs a third of making one. */
    private readonly ChangeResult $made;

    /** @var ?array{int, string, string} what noted() has read of DatabaseFiles::newest(), for the connection that is opened next */
    private ?array $newest = null;

    /** The journal's end, and epoch and size of the change counter before it was read. */
    private int $end = 0;
    private string $endToken = '';

    /** Epoch and size of the change counter at which no space had ever been flushed. */
    private string $unflushed = '';

    /** @var array<string, true> keys read since the last tidy() and not yet marked as used */
    private array $used = [];

    /** Size of the change counter at which nothing waited that this process must apply before it reads. */
    private int $size = -1;

    /** Bytes that any policy allows: ServerPolicy::LEAST, which is not named because that would load the class. */
    public const LEAST = 1 << 20;

    /** Of so many requests that change little, or nothing, one asks the policy. */
    private const ASKS = 128;

    /** Bytes, once the policy was asked. */
    private ?int $budget = null;

    /** Whether anything was written since the last tidy(). */
    private bool $written = false;

    /**
     * @param string $directory of this store alone; exists with mode 0700, or is created so
     * @param int    $asked     bytes of records and journal, at least 1 MB
     * @param float  $timeout   seconds that a call may wait for other processes
     */
    public function __construct(string $directory, private readonly int $asked, private readonly float $timeout, private readonly ?ServerPolicy $policy = null)
    {
        $this->files = new DatabaseFiles($directory);
        $this->made = new ChangeResult(true, 0);
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        if ($this->files->watch->isUnchanged($epoch, $token)) {
            return new JournalSlice($epoch, $position, $token, true);
        }
        if ($this->database === null && $epoch === '' && ($slice = $this->noted()) !== null) {
            return $slice;
        }
        for ($attempt = 1; ; $attempt++) {
            $database = $this->ready();
            // Take the size before reading the database: see ChangeCounter.
            $size = $database->counter->size();
            if ($size < 0) {
                $this->epochEnded($attempt);
                continue;
            }
            if (!ChangeCounter::isSettled($size)) {
                ChangeCounter::waits($size) ? $this->commit([]) : $this->tryToApply();
                $database = $this->database();
                $size = $database->counter->size();
            }
            try {
                $now = $database->epoch . ':' . $size;
                if ($epoch !== $database->epoch) {
                    $end = $database->number(self::END);
                    if ($this->isOlder($database, $end, $attempt)) {
                        continue;
                    }
                    $this->note($end, $database->epoch, $size);

                    return new JournalSlice($database->epoch, $end, $now, false);
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
            if ($end < 0 && $this->isOlder($database, $end, $attempt)) {
                continue;
            }
            $this->note($end, $database->epoch, $size);
            if ($position < (int) $rows[0][2] || $position > $end || \count($rows) === self::LONGEST_LIST) {
                return new JournalSlice($epoch, $end, $now, false);
            }
            $list = [];
            for ($i = 1, $n = \count($rows); $i < $n; $i++) {
                $list[] = [(string) $rows[$i][1], $rows[$i][0], $rows[$i][2], $rows[$i][3]];
            }

            return new JournalSlice($epoch, $end, $now, true, $list);
        }
    }

    /**
     * The journal's end, if the change counter's file tells it: a request that begins then need not ask the database for it. Null:
     * it does not.
     */
    private function noted(): ?JournalSlice
    {
        $this->newest = $this->files->newest();
        $epoch = $this->newest[1];
        $counter = $epoch === '' ? null : $this->files->counter($epoch);
        $size = $counter?->size() ?? -1;
        $noted = $counter === null || !ChangeCounter::isSettled($size) || !$counter->isWritable() ? null : $counter->noted($size);
        if ($noted === null) {
            return null;
        }
        [$end, $flags] = $noted;
        $this->note($end, $epoch, $size);
        $this->unflushed = ($flags & ChangeLog::FLUSHED) === 0 ? $this->endToken : '';

        return new JournalSlice($epoch, $end, $this->endToken, false);
    }

    public function read(array $keys): Snapshot
    {
        for ($attempt = 1; ; $attempt++) {
            $database = $this->current($keys);
            try {
                $snapshot = isset($keys[1]) || Markers::is($keys[0]) ? $this->readMany($database, $keys) : $this->readRecord($database, $keys[0]);
                if (!$this->isOlder($database, $snapshot->at, $attempt)) {
                    return $snapshot;
                }
            } catch (\PDOException $e) {
                $this->failed($e, $database, $attempt);
            }
        }
    }

    /** @throws \PDOException */
    private function readRecord(Database $database, string $key): Snapshot
    {
        $statement = $database->statement(self::ONE);
        $statement->bindValue(1, $key, \PDO::PARAM_LOB);
        $statement->execute();
        /** @var array{int, ?int, string, ?string, int, int, int} $row */
        $row = $statement->fetchAll(\PDO::FETCH_NUM)[0];
        // A damaged body counts as missing.
        if (!isset($row[3]) || ($row[4] !== 0 && $row[4] < Clock::now()) || \crc32($row[3]) !== $row[6]) {
            return new Snapshot($database->epoch, $row[0], []);
        }
        if ($row[5] === 0 && \count($this->used) < self::MOST_NOTED) {
            $this->used[$key] = true;
        }

        return new Snapshot($database->epoch, $row[0], [$key => new Record($row[3], $row[1] < 0 ? -$row[1] : (int) $row[1], $row[2])]);
    }

    /** Whether another program has written an older epoch's database over this one, while this process had it open. Ends its epoch then. */
    private function isOlder(Database $database, int $end, int $attempt): bool
    {
        if ($end >= $database->start) {
            return false;
        }
        $database->counter->end();
        $this->epochEnded($attempt);

        return true;
    }

    public function readOne(string $key): array|Snapshot
    {
        $database = $this->current([$key]);
        try {
            /** @var array{?string, int, int, int}|false $row */
            $row = $database->find(self::GET, $key);
            // A damaged body counts as missing.
            if ($row === false || $row[0] === null || \crc32($row[0]) !== $row[3]) {
                return $this->missing($database, $key);
            }
        } catch (\PDOException) {
            // read() finds out what is wrong.
            return $this->read([$key]);
        }
        if ($row[2] === 0 && \count($this->used) < self::MOST_NOTED) {
            $this->used[$key] = true;
        }

        return [$row[0], $row[1] < 0 ? -$row[1] : $row[1], $database->epoch];
    }

    /**
     * What readOne() answers for a key that it has found without a record. If the change counter has not moved since the
     * journal's end was read, nothing was committed in between, and the key had no record at that end.
     *
     * @return array{null, int, string}|Snapshot
     */
    private function missing(Database $database, string $key): array|Snapshot
    {
        $size = $database->counter->size();
        if ($this->endToken === "$database->epoch:$size") {
            return [null, $this->end, $database->epoch];
        }
        $snapshot = $this->read([$key]);
        if ($snapshot->epoch === $database->epoch) {
            $this->note($snapshot->at, $database->epoch, $size);
        }

        return $snapshot->records === [] ? [null, $snapshot->at, $snapshot->epoch] : $snapshot;
    }

    public function readsPosition(): bool
    {
        return true;
    }

    public function beginView(): void
    {
        $size = $this->ready()->counter->size();
        if ($size < 0 || ChangeCounter::waits($size)) {
            $this->commit([]);
        }
    }

    public function positions(array $keys, string $epoch): ?array
    {
        $database = $this->current($keys);
        if ($database->epoch !== $epoch) {
            return null;
        }
        $isUnflushed = $this->unflushed === "$epoch:$this->size";
        $positions = $missing = [];
        try {
            foreach ($keys as $i => $key) {
                $positions[$i] = 0;
                if ($isUnflushed && $key[0] === Markers::FLUSHES) {
                    continue;
                }
                if (!Markers::is($key)) {
                    $positions[$i] = $this->positionOf($database, $key);
                    continue;
                }
                /** @var array{?string, int, int, int}|false $row */
                $row = $database->find(self::GET, $key);
                if ($row === false || $row[0] === null) {
                    $missing[$i] = $key[0];
                } elseif ($row[2] === Writing::HELD) {
                    return null;
                } else {
                    $positions[$i] = $row[1];
                }
            }
            // The floors are read after markers were found missing: the process that removes one raises the floor with it.
            $floors = $missing === [] ? [] : DeletedRows::floors(SqliteConnection::text($database->rows(self::FLOORS)[0][0] ?? ''));
        } catch (\PDOException) {
            // read() finds out what is wrong.
            return null;
        }
        foreach ($missing as $i => $sort) {
            $positions[$i] = $floors[$sort];
        }

        /** @var non-empty-list<int> */
        return $positions;
    }

    /** @throws \PDOException */
    private function positionOf(Database $database, string $key): int
    {
        /** @var array{int, int, int}|false $row */
        $row = $database->find(self::POSITION, $key);
        [$position, $expiry, $used] = $row ?: [0, 0, 0];

        return $used === Writing::HELD || ($expiry !== 0 && $expiry < Clock::now()) ? 0 : \abs($position);
    }

    /** @param int $size of the change counter, before the journal's end was read; while it is odd, a commit may come without moving it */
    private function note(int $end, string $epoch, int $size): void
    {
        $this->end = $end;
        $this->endToken = ($size & 1) === 0 ? "$epoch:$size" : '';
    }

    /**
     * The database, with what others have appended, and this process for these keys.
     *
     * @param non-empty-list<string> $keys
     */
    private function current(array $keys): Database
    {
        $database = $this->database;
        if ($database === null || $database->pid !== Fork::pid()) {
            $database = $this->database();
        }
        $size = $database->counter->size();
        if ($size === $this->size) {
            return $database;
        }
        $waiting = $this->writing->waiting ?? [];
        $waits = self::waits($keys, $waiting);
        if ($waiting !== [] && !$waits && $this->writing?->size === $size) {
            // What this request has appended has moved it last, and before that perhaps a flush.
            $this->unflushed = '';

            return $database;
        }
        if ($database->isStranded()) {
            $this->epochEnded(1);
            $database = $this->database();
            $size = $database->counter->size();
        }
        if (ChangeCounter::isSettled($size)) {
            $this->size = $size;

            return $this->database();
        }
        // What moved it may be a flush.
        $this->unflushed = '';
        if ($waits) {
            // This request's own changes. A process that is writing just now has perhaps not applied them yet.
            $this->commit([]);
        } else {
            // The request may read without what others have appended since it began.
            $this->tryToApply();
        }

        return $this->database();
    }

    /**
     * @param list<string>         $keys
     * @param array<string, mixed> $waiting by key
     */
    private static function waits(array $keys, array $waiting): bool
    {
        foreach ($waiting === [] ? [] : $keys as $key) {
            if (isset($waiting[$key])) {
                return true;
            }
        }

        return false;
    }

    /** Applies what waits, and heals after a killed writer. Never waits: another process that is writing does so itself. */
    private function tryToApply(): void
    {
        try {
            $this->commit([], 0.0);
        } catch (Failure) {
        }
    }

    public function write(array $changes): array
    {
        if (!isset($changes[1])) {
            // The caller has asked for the process id just now (System\Fork).
            $position = $this->writing !== null && $this->database !== null && $this->database->pid === Fork::$last ? $this->writing->append($changes[0], $this->timeout) : 0;
            if ($position > 0) {
                $result = clone $this->made;
                $result->position = $position;

                return [$result];
            }

            /** @var non-empty-list<ChangeResult> */
            return $this->commit($changes);
        }
        $outcomes = $part = [];
        $bytes = 0;
        foreach ($changes as $change) {
            $part[] = $change;
            $bytes += $change->body === null ? 0 : \strlen($change->body);
            if (isset($part[self::AT_ONCE]) || ($bytes > self::LEAST >> 3 && $bytes > $this->budget() >> 3)) {
                \array_push($outcomes, ...$this->commit($part));
                $part = [];
                $bytes = 0;
            }
        }
        $part === [] || \array_push($outcomes, ...$this->commit($part));

        /** @var non-empty-list<ChangeResult> */
        return $outcomes;
    }

    /**
     * Makes the changes, after those that wait in the change log.
     *
     * @param list<Change> $changes
     * @param ?float       $timeout seconds, if not as usual
     *
     * @return list<ChangeResult>
     *
     * @throws Failure
     */
    private function commit(array $changes, ?float $timeout = null): array
    {
        for ($attempt = 1; ; $attempt++) {
            $database = $this->database;
            if ($database === null || !$database->isOurs()) {
                $database = $this->database();
            }
            try {
                $this->written = true;
                $outcomes = ($this->writing ??= new Writing($database, $this->asked, $this->policy))->commit($changes, $timeout ?? $this->timeout);
                if ($outcomes !== null) {
                    return $outcomes;
                }
            } catch (\PDOException $e) {
                $this->failed($e, $database, $attempt);
                continue;
            }
            $this->epochEnded($attempt);
        }
    }

    public function now(): int
    {
        return Clock::now();
    }

    /** False: for a forgotten marker read() answers with the floor (see Markers). */
    public function forgets(): bool
    {
        return false;
    }

    public function tidy(): void
    {
        try {
            $this->writing === null || $this->writing->waiting === [] || $this->commit([]);
            $sweeps = $this->written && \mt_rand(1, Sweeper::RARELY) === 1;
            if (!$sweeps && (($this->used === [] && !$this->written) || $this->isSpacious())) {
                // As long as no eviction is near, reads need not be marked, and one writer in RARELY tidies for all (see Sweeper).
                $this->used = [];
                $this->written = false;

                return;
            }
            $database = $this->ready();
            if ($database->counter->tryLock()) {
                $finished = false;
                try {
                    (new Sweeper($database, $this->budget()))->tidy($this->used, $this->written, $sweeps, $this->writing->dead ?? 0);
                    $finished = true;
                } finally {
                    $finished || $database->rollBack();
                    $database->counter->unlock();
                }
                $this->used = [];
                $this->written = false;
            }
        } catch (Failure|\PDOException) {
            // The next read or write reports the error.
        }
    }

    /** Bytes: what was asked for, as far as the server's policy allows. */
    private function budget(): int
    {
        return $this->budget ??= ($this->policy ?? new ServerPolicy())->atMost($this->asked, 'disk');
    }

    /** Whether no eviction is near, and, after a write, the write-ahead log is as short as it should be. */
    private function isSpacious(): bool
    {
        $log = $this->files->logSize();
        $size = $this->files->size() + $log;
        // To ask the policy costs more than all else here, so about one request in so many asks, for all: what that one has read
        // counts as used. No random number: a request's first one takes as long as the policy.
        $budget = $this->budget ?? ($size > self::LEAST >> 1 && (\hrtime(true) >> 10) % self::ASKS === 0 ? $this->budget() : $this->asked);

        return $size <= $budget >> 1 && (!$this->written || $log <= 2 * 4096 * Opening::logPages($budget));
    }

    public function each(): iterable
    {
        $last = '';
        $this->beginView();
        do {
            $rows = $this->batch($last);
            $now = Clock::now();
            foreach ($rows as [$key, $position, $writer, $body, $expiry, $sum]) {
                $last = $key;
                if (($expiry === 0 || $expiry >= $now) && \crc32($body) === $sum) {
                    yield $key => new Record($body, \abs($position), $writer);
                }
            }
        } while ($rows !== []);
    }

    public function stats(): array
    {
        for ($attempt = 1; ; $attempt++) {
            $this->beginView();
            $database = $this->database();
            try {
                return [
                    'engine' => 'sqlite',
                    'entries' => $database->number('SELECT count(*) FROM e WHERE body IS NOT NULL'),
                    'bytes' => (new Sweeper($database, $this->budget()))->pages() * 4096,
                    'budget' => $this->budget(),
                ];
            } catch (\PDOException $e) {
                $this->failed($e, $database, $attempt);
            }
        }
    }

    /** @param non-empty-list<string> $keys */
    private function readMany(Database $database, array $keys): Snapshot
    {
        $several = \count($keys) > self::MOST_KEYS;
        $several && $database->beginReading();
        try {
            $records = [];
            $at = null;
            $floors = '';
            $now = Clock::now();
            foreach ($several ? \array_chunk($keys, self::MOST_KEYS) : [$keys] as $part) {
                $statement = $this->named($database, $part);
                $statement->execute();
                /** @var non-empty-list<array{string, int, string, ?string, int, int, int}> $rows the floors may be NULL */
                $rows = $statement->fetchAll(\PDO::FETCH_NUM);
                $at ??= $rows[0][1];
                // For forgotten markers the floors are enough.
                $floors = (string) $rows[0][2];
                for ($i = 1, $n = \count($rows); $i < $n; $i++) {
                    [$key, $position, $writer, $body, $expiry, $used, $sum] = $rows[$i];
                    // Of a marker only the position matters.
                    if ($body === null || ($expiry !== 0 && $expiry < $now) || (\crc32($body) !== $sum && !Markers::is($key))) {
                        continue;
                    }
                    $records[$key] = new Record($body, $position < 0 ? -$position : $position, $writer);
                    if ($used === 0 && \count($this->used) < self::MOST_NOTED) {
                        $this->used[$key] = true;
                    }
                }
            }
        } finally {
            $several && $database->commit();
        }
        if ($floors !== '') {
            foreach ($keys as $key) {
                if (!isset($records[$key]) && Markers::is($key)) {
                    $floor = DeletedRows::floors($floors)[$key[0]];
                    $floor > 0 && $records[$key] = Markers::at($floor);
                }
            }
        }

        return new Snapshot($database->epoch, $at, $records);
    }

    /**
     * The statement, with its keys bound, that reads some records after a first row with the journal's end.
     *
     * @param non-empty-list<string> $keys
     */
    private function named(Database $database, array $keys): \PDOStatement
    {
        $count = \count($keys);
        if (self::$hasJson && $count >= self::MANY_KEYS) {
            // Preparing a list of so many parameters would take as long as reading the records.
            $json = \json_encode($keys, \JSON_UNESCAPED_SLASHES | \JSON_UNESCAPED_UNICODE);
            // Not for keys that are not UTF-8, or that hold a NUL, at which SQLite would cut them (3.40: json.c, jsonReturn).
            if (\is_string($json) && !\str_contains($json, '\u0000')) {
                try {
                    $statement = $database->statement(self::LISTED);
                    $statement->bindValue(1, $json);

                    return $statement;
                } catch (\PDOException) {
                    // SQLite was built without JSON: sqlite.org/json1.html, section 2. Any other error repeats below.
                    self::$hasJson = false;
                }
            }
        }
        // Few different lengths, so that prepared statements are used again. NULL fills the rest; no key equals it.
        for ($places = 4; $places < $count; $places *= 2);
        $statement = $database->statement(self::MANY . 'e WHERE k IN (?' . \str_repeat(', ?', $places - 1) . ')');
        for ($i = 0; $i < $places; $i++) {
            $statement->bindValue($i + 1, $keys[$i] ?? null, \PDO::PARAM_LOB);
        }

        return $statement;
    }

    /** @return list<array{string, int, string, string, int, int}> */
    private function batch(string $after): array
    {
        for ($attempt = 1; ; $attempt++) {
            $database = $this->database();
            try {
                $statement = $database->statement(self::ALL);
                $statement->bindValue(1, $after, \PDO::PARAM_LOB);
                $statement->execute();

                /** @var list<array{string, int, string, string, int, int}> */
                return $statement->fetchAll(\PDO::FETCH_NUM);
            } catch (\PDOException $e) {
                $this->failed($e, $database, $attempt);
            }
        }
    }

    /** The database, for a request that begins: another program may have cut a file that this process has mapped, or deleted it. */
    private function ready(): Database
    {
        if ($this->database !== null && ($this->files->endIfCut($this->timeout) || $this->database->isStranded())) {
            $this->epochEnded(1);
        }

        return $this->database();
    }

    private function database(): Database
    {
        if ($this->database === null || !$this->database->isOurs()) {
            $this->database = $this->writing = null;
            $this->used = [];
            $this->size = -1;
            $this->database = (new Opening($this->files, $this->asked, $this->timeout))->open($this->newest);
            $this->newest = null;
        }

        return $this->database;
    }

    private function epochEnded(int $attempt): void
    {
        $this->database?->leaveIfStranded();
        $this->database = $this->writing = null;
        $this->size = -1;
        if ($attempt >= self::ATTEMPTS) {
            throw Failure::because('sqlite', $this->files->database . ' is deleted as soon as it is created; stop the program that does that');
        }
    }

    private function failed(\PDOException $error, Database $database, int $attempt): void
    {
        $database->failed($error, $this->timeout);
        $this->epochEnded($attempt);
    }
}
