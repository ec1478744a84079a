<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Driver\Sqlite\SqliteConnection;
use Larder\System\Memory;
use Larder\System\Quiet;
use Larder\System\Signals;

/**
 * A queue in an SQLite database of its own.
 *
 * What a process has pushed outlives its death by whatever cause, and with `synchronous=full` a power cut too. With "normal",
 * the default, SQLite may lose the last commits in a power cut and is never damaged by one (sqlite.org/pragma.html).
 *
 * A process that runs out of memory rolls its transaction back, and with it an attempt would go uncounted. So no transaction
 * brings a large body into PHP, nor many at once: SQLite moves them, and a worker reads a large one after the commit.
 *
 * Times are the wall clock's. If somebody sets it, delayed and claimed messages come as much earlier or later.
 *
 * @phpstan-import-type New from Transport
 * @phpstan-import-type Claimed from Transport
 *
 * @phpstan-type State array{epoch: string, applied: int, tail: string, was: string, was_applied: int, was_tail: string, paused: int, expires: int, due: int}
 * @phpstan-type Head array{rank: int, n: int, id: string, key: ?string, attempts: int, error: string, sum: int, due: int}
 * @phpstan-type Changes array{attempts?: int, error?: string, due?: int}
 * @phpstan-type Next array{int, int, int, string, ?string, int, int, ?string}
 */
final class SqliteTransport implements Transport
{
    /** Delayed messages that one claim lets be ready, so that a pile of them does not stop everybody. */
    private const PROMOTED = 500;

    /** Rows that one statement inserts. */
    private const TOGETHER = 25;

    /** Milliseconds for which claims that find messages do not look for what has become due. */
    private const CALM = 10;

    /** Milliseconds between messages of the log that count as ready at the same time, by which stats() tells how late they are. */
    private const AT_ONCE = 1_000;

    /** Messages that one transaction hands out. */
    private const HANDED = 200;

    private const DAMAGED = 'Its bytes are damaged in the database.';

    private const HEAD = 'rank, n, id, key, attempts, error, sum, due';
    /** A row of each table, by its primary key. */
    private const PLACE = ['ready' => 'rank = ? AND n = ?', 'delayed' => 'due = ? AND n = ?', 'claimed' => 'n = ?', 'dead' => 'due = ? AND n = ?'];

    /** @var array<string, string> statements, by table and number of rows */
    private static array $inserting = [];

    private readonly QueueDatabase $database;
    private readonly PushLog $log;
    private readonly Waiters $waiters;

    private ?ClaimStatements $statements = null;

    /** Bytes of the log when it was last looked at. */
    private int $logged = 0;

    /** The machine's time (nanoseconds) until which claims need not look for what has become due. */
    private int $calm = 0;

    /** Whether this process has read the log: nothing cuts it short while a process lives. */
    private bool $hasRead = false;

    /** @var ?array{string, int} epoch of the log and up to where this transaction has brought it into the database */
    private ?array $brought = null;

    /** @var ?array{string, int} epoch and room of the log that begins after this transaction */
    private ?array $renewal = null;

    public function __construct(
        string $directory,
        private readonly string $queue,
        private readonly int $limit,
        private readonly Retry $retry,
        bool $isFull,
        float $timeout,
    ) {
        $this->database = new QueueDatabase($directory, $queue, $isFull, $timeout);
        $this->log = new PushLog($directory, $queue, $isFull);
        $this->waiters = new Waiters("$directory/queue-$queue.waiters");
    }

    public function push(array $messages): array
    {
        $isPlain = \count($messages) === 1 && $messages[0]['key'] === null && $messages[0]['delay'] === 0;
        $id = $isPlain ? $this->log->push($messages[0]['priority'], $messages[0]['body']) : null;
        if ($id !== null) {
            return [$id];
        }
        $ids = $this->look(fn(SqliteConnection $connection, array $state): array => $this->add($connection, $state, $messages, $isPlain));
        $this->waiters->wake(\count($messages));

        return $ids;
    }

    public function claim(int $most, int $visibility, array $acknowledged = []): array
    {
        $whole = [];
        $left = null;
        do {
            $handed = $this->handed($most === 1 ? 1 : \min(self::HANDED, $most - \count($whole)), $visibility, $acknowledged);
            $acknowledged = [];
            foreach ($handed as $claim) {
                if ($claim['body'] !== null) {
                    $whole[] = $claim;
                    continue;
                }
                $left ??= Memory::left();
                $claim = $this->whole($claim, $left);
                $claim === null || $whole[] = $claim;
            }
        } while ($handed !== [] && \count($whole) < $most && ($whole === [] || \count($handed) === self::HANDED));
        $whole === [] || $this->waiters->leave();

        return $whole;
    }

    /**
     * One transaction that hands out messages: as transaction(), without a closure.
     *
     * @param list<array{string, string}> $acknowledged
     *
     * @return list<array{id: string, token: string, body: ?string, attempts: int}>
     */
    private function handed(int $most, int $visibility, array $acknowledged): array
    {
        $held = Signals::hold();
        $this->renewal = $this->brought = null;
        Quiet::begin();
        try {
            $connection = $this->database->begin();
            try {
                $handed = $this->hand($connection, $most, $visibility, $acknowledged);
                $connection->commit();
            } catch (\Throwable $error) {
                $this->statements = null;
                throw $this->database->failed($connection, $error);
            }
            $this->tellLog();

            return $handed;
        } finally {
            $this->log->unlock();
            Quiet::end();
            unset($held);
        }
    }

    public function acknowledge(array $claims): array
    {
        if (\count($claims) === 1) {
            return [$this->database->run(static fn(SqliteConnection $connection): bool => self::remove($connection, $claims[0][1]), false)];
        }

        return $this->database->run(static function (SqliteConnection $connection) use ($claims): array {
            $removed = [];
            foreach (\array_chunk(\array_column($claims, 1), self::TOGETHER) as $tokens) {
                $marks = \implode(', ', \array_fill(0, \count($tokens), '(?, ?)'));
                foreach (self::rows($connection, "DELETE FROM claimed WHERE (n, token) IN (VALUES $marks) RETURNING n || ' ' || token", \explode(' ', \implode(' ', $tokens))) as [$token]) {
                    $removed[SqliteConnection::text($token)] = true;
                }
            }

            return \array_map(static function (array $claim) use (&$removed): bool {
                $isRemoved = isset($removed[$claim[1]]);
                unset($removed[$claim[1]]);

                return $isRemoved;
            }, $claims);
        });
    }

    public function release(string $id, string $token, int $delay, string $error): bool
    {
        $isReleased = $this->database->run(function (SqliteConnection $connection) use ($token, $delay, $error): bool {
            $head = self::claimed($connection, $token);
            $head === null || $this->giveBack($connection, $head, $delay, $error, 'It was given back');

            return $head !== null;
        });
        $isReleased && $delay <= 0 && $this->waiters->wake(1);

        return $isReleased;
    }

    public function extend(string $id, string $token, int $visibility): bool
    {
        return $this->database->run(static fn(SqliteConnection $connection): bool => self::run($connection, 'UPDATE claimed SET due = ? WHERE n = ? AND token = ?', [self::now() + $visibility, ...\explode(' ', $token)]) === 1, false);
    }

    public function bury(string $id, string $token, string $error): bool
    {
        return $this->database->run(static function (SqliteConnection $connection) use ($token, $error): bool {
            $head = self::claimed($connection, $token);
            $head === null || self::bring($connection, 'claimed', 'dead', $head, ['error' => $error === '' ? $head['error'] : $error, 'due' => self::now()]);

            return $head !== null;
        });
    }

    public function size(): int
    {
        return $this->look(function (SqliteConnection $connection): int {
            $this->expire($connection, self::now());

            return self::waiting($connection);
        });
    }

    public function stats(): array
    {
        return $this->look(function (SqliteConnection $connection): array {
            $now = self::now();
            $this->expire($connection, $now);
            /** @var array{int, int, int, int, int, ?int} $row */
            $row = self::rows($connection, 'SELECT (SELECT token FROM claimed WHERE n = 0), (SELECT COUNT(*) FROM delayed WHERE due > ?), (SELECT COUNT(*) - 1 FROM claimed), (SELECT COUNT(*) FROM dead), paused,'
                . ' COALESCE((SELECT due FROM ready ORDER BY rank, n LIMIT 1), (SELECT MIN(due) FROM delayed)) FROM state', [$now])[0];
            [$waiting, $delayed, $claimed, $dead, $paused, $due] = $row;

            return [
                'ready' => $waiting - $delayed, 'delayed' => $delayed, 'claimed' => $claimed, 'dead' => $dead,
                'paused' => $paused === 1, 'late' => $due !== null && $due <= $now ? ($now - $due) / 1000 : null,
            ];
        });
    }

    public function dead(int $limit): array
    {
        return $this->database->run(function (SqliteConnection $connection) use ($limit): array {
            $this->expire($connection, self::now());

            $left = Memory::left();
            $dead = [];
            foreach (self::heads($connection, 'dead ORDER BY due, n LIMIT ?', [$limit]) as $head) {
                $body = self::body($connection, 'dead', $head, $left) ?? '';
                $dead[] = ['id' => $head['id'], 'body' => $head['sum'] === self::sum($head['id'], $body) ? $body : '', 'attempts' => $head['attempts'], 'error' => $head['error'], 'at' => $head['due']];
            }

            return $dead;
        });
    }

    public function retryDead(array $ids): int
    {
        $count = $this->look(function (SqliteConnection $connection) use ($ids): int {
            $this->expire($connection, self::now());
            $count = 0;
            foreach ($ids === [] ? self::rows($connection, 'SELECT id FROM dead ORDER BY due, n', []) : \array_map(static fn(string $id): array => [$id], $ids) as [$id]) {
                foreach (self::heads($connection, 'dead WHERE id = ?', [SqliteConnection::text($id)]) as $head) {
                    if (self::reserve($connection, $head['key'], $head['id']) === null) {
                        self::bring($connection, 'dead', 'ready', $head, ['attempts' => 0, 'due' => self::now()]);
                        $count++;
                    }
                }
            }
            [$waiting, $isClosed] = $this->room($connection, $count, false);
            if ($count > 0 && $waiting + $count > $this->limit) {
                throw QueueFull::retrying($this->queue, $count, $waiting, $this->limit);
            }
            self::count($connection, $count);
            $isClosed && $this->renew($connection);

            return $count;
        });
        $this->waiters->wake($count);

        return $count;
    }

    public function removeDead(array $ids, int $age): int
    {
        return $this->database->run(function (SqliteConnection $connection) use ($ids, $age): int {
            $now = self::now();
            $this->expire($connection, $now);
            if ($ids === []) {
                return self::run($connection, 'DELETE FROM dead WHERE due <= ?', [$now - $age]);
            }

            return \array_sum(\array_map(static fn(string $id): int => self::run($connection, 'DELETE FROM dead WHERE id = ? AND due <= ?', [$id, $now - $age]), $ids));
        });
    }

    public function purge(): int
    {
        return $this->look(function (SqliteConnection $connection): int {
            $this->expire($connection, self::now());
            $count = self::waiting($connection);
            foreach (['DELETE FROM ready', 'DELETE FROM delayed', 'DELETE FROM waiting', 'UPDATE claimed SET token = 0 WHERE n = 0'] as $sql) {
                self::run($connection, $sql, []);
            }

            return $count;
        });
    }

    public function pause(bool $isPaused): void
    {
        $this->database->run(static fn(SqliteConnection $connection): int => self::run($connection, 'UPDATE state SET paused = ?', [(int) $isPaused]));
        $isPaused || $this->waiters->wake(\PHP_INT_MAX);
    }

    public function wait(int $milliseconds): void
    {
        // Registered before the last look: who commits after that sees the waiter.
        $this->waiters->register();
        [$isReady, $next] = $this->look(static fn(SqliteConnection $connection, array $state): array => [
            $state['paused'] === 0 && self::number($connection, 'SELECT EXISTS (SELECT 1 FROM ready)') === 1,
            \min($state['expires'], $state['due']),
        ]);
        $isReady || $this->database->shrink();
        $isReady || $this->waiters->wait((int) \max(1, \min($milliseconds, $next - self::now())));
    }

    /**
     * Runs a transaction that has all messages that were pushed before it.
     *
     * @template T
     *
     * @param \Closure(SqliteConnection, State): T $work
     *
     * @return T
     */
    private function look(\Closure $work): mixed
    {
        return $this->transaction(function (SqliteConnection $connection) use ($work): mixed {
            $state = self::state($connection);
            $this->apply($connection, $state);

            return $work($connection, $state);
        });
    }

    /**
     * Runs a transaction that may bring messages from the log, and tells the log of it.
     *
     * @template T
     *
     * @param \Closure(SqliteConnection): T $work
     *
     * @return T
     */
    private function transaction(\Closure $work): mixed
    {
        $held = Signals::hold();
        $this->renewal = $this->brought = null;
        Quiet::begin();
        try {
            $connection = $this->database->begin();
            try {
                $done = $work($connection);
                $connection->commit();
            } catch (\Throwable $error) {
                throw $this->database->failed($connection, $error);
            }
            $this->tellLog();

            return $done;
        } finally {
            $this->log->unlock();
            Quiet::end();
            unset($held);
        }
    }

    /** Begins a new log, or notes what this one has given: not before its messages are in the database for good. */
    private function tellLog(): void
    {
        if ($this->renewal !== null) {
            $this->log->restart(...$this->renewal);
        } elseif ($this->brought !== null) {
            $this->log->note(...$this->brought);
        }
    }

    /**
     * Brings the log's messages into the database.
     *
     * @param State $state
     *
     * @return ?array{string, int, string} the log's epoch, up to where it is in the database, and how it ends there; null: there is no log
     */
    private function apply(SqliteConnection $connection, array $state): ?array
    {
        ['epoch' => $epoch, 'applied' => $applied, 'tail' => $tail] = $state;
        $this->logged = $this->log->size();
        if ($this->logged === 0 || ($this->logged === $applied && $this->hasRead)) {
            return $this->logged > 0 ? [$epoch, $applied, $tail] : null;
        }
        $log = $this->log->read([$state['was'] => [$state['was_applied'], $state['was_tail']], $epoch => [$applied, $tail]]);
        $this->hasRead = true;
        if ($log === null) {
            return null;
        }
        [$of, $end, $tail, $records] = $log;
        if ($records === []) {
            return [$of, $end, $tail];
        }
        $count = \count($records);
        if ($of === $epoch) {
            self::run($connection, 'UPDATE state SET applied = ?, tail = ?, room = MAX(0, room - ?)', [$end, $tail, $count]);
        } else {
            // One that the database has ended, or does not know: it has outlived another database, or this one's last commits.
            self::run($connection, 'UPDATE state SET was = ?, was_applied = ?, was_tail = ?', [$of, $end, $tail]);
        }
        $n = self::number($connection, 'UPDATE state SET last = last + ? RETURNING last', [$count]) - $count;
        $before = $n;
        $last = $n + $count;
        $bodies = [];
        $rank = $due = 0;
        foreach ($records as ['id' => $id, 'priority' => $priority, 'body' => $body, 'isDamaged' => $isDamaged]) {
            $at = MessageId::milliseconds($id);
            if ($isDamaged) {
                self::run($connection, 'INSERT INTO dead (' . ClaimStatements::COLUMNS . ") VALUES (0, ?, ?, NULL, 0, ?, ?, ?, x'')", [$last--, $id, 'Its bytes are damaged in the log.', self::sum($id, ''), self::now()]);
                continue;
            }
            if ($bodies !== [] && (-$priority !== $rank || \abs($at - $due) > self::AT_ONCE)) {
                $n = self::insert($connection, 'ready', $rank, $due, null, $bodies, $n);
                $bodies = [];
            }
            if ($bodies === []) {
                [$rank, $due] = [-$priority, $at];
            }
            $bodies[$id] = $body;
        }
        $n = self::insert($connection, 'ready', $rank, $due, null, $bodies, $n);
        $this->brought = [$of, $end];
        self::count($connection, $n - $before);

        return [$of, $end, $tail];
    }

    /** Lets the log, which this process has closed, begin anew after the transaction. */
    private function renew(SqliteConnection $connection): void
    {
        [$was, $end, $tail] = $this->apply($connection, self::state($connection)) ?? ['', 0, ''];
        // Never a number, which would be another array key.
        $epoch = "\xff" . \random_bytes(7);
        // Who appends sees neither a lease that ends nor a release: what is claimed keeps its place.
        $room = \max(0, \min(PushLog::ROOM, $this->limit - self::waiting($connection) - self::leases($connection)));
        self::run($connection, 'UPDATE state SET was = ?, was_applied = ?, was_tail = ?, epoch = ?, applied = ?, tail = \'\', room = ?', [$was, $end, $tail, $epoch, PushLog::HEADER, $room]);
        $this->renewal = [$epoch, $room];
    }

    /**
     * @param State               $state
     * @param non-empty-list<New> $messages
     * @param bool                $isPlain  to be appended to the log the next time
     *
     * @return list<string>
     */
    private function add(SqliteConnection $connection, array $state, array $messages, bool $isPlain): array
    {
        $now = self::now();
        // What comes back waits, and has its key again.
        $state['expires'] <= $now && $this->expire($connection, $now);
        $ids = MessageId::many(\count($messages));
        // Those that follow each other and differ only in their bodies are inserted together.
        $groups = $bodies = [];
        $count = $group = 0;
        $last = null;
        foreach ($messages as $i => $message) {
            $id = $ids[$i];
            ['key' => $key, 'delay' => $delay, 'priority' => $priority] = $message;
            if ($key !== null) {
                $waiting = self::reserve($connection, $key, $id);
                if ($waiting !== null) {
                    $ids[$i] = $waiting;
                    continue;
                }
            }
            if ($last === null || $priority !== $last['priority'] || $delay !== $last['delay'] || $key !== $last['key']) {
                $last = $message;
                $groups[++$group] = [$delay > 0 ? 'delayed' : 'ready', -$priority, $now + $delay, $key];
            }
            $bodies[$group][$id] = $message['body'];
            $count++;
        }
        [$waiting, $isClosed] = $this->room($connection, $count, $isPlain);
        if ($count > 0 && $waiting + $count > $this->limit) {
            throw QueueFull::holding($this->queue, $waiting, $this->limit);
        }
        $n = self::number($connection, 'UPDATE state SET last = last + ? RETURNING last', [$count]) - $count;
        self::count($connection, $count);
        foreach ($groups as $group => [$table, $rank, $due, $key]) {
            $n = self::insert($connection, $table, $rank, $due, $key, $bodies[$group], $n);
        }
        $isClosed && $this->renew($connection);

        return \array_values($ids);
    }

    /**
     * Counts what waits. What the log may yet add counts too, unless nobody can append to it now: then it has to be renewed.
     * The log is closed where it would have too much room once all that is claimed has come back.
     *
     * @param int  $more     messages that are to wait besides
     * @param bool $mayClose whether to close the log even if there is room
     *
     * @return array{int, bool} how many wait; whether the log is closed
     */
    private function room(SqliteConnection $connection, int $more, bool $mayClose): array
    {
        $waiting = self::waiting($connection) + self::number($connection, 'SELECT room FROM state');
        if (($mayClose || $waiting + self::leases($connection) + $more > $this->limit) && $this->log->close()) {
            $this->apply($connection, self::state($connection));

            return [self::waiting($connection), true];
        }

        return [$waiting, false];
    }

    /**
     * Hands out the next messages.
     *
     * @param list<array{string, string}> $acknowledged
     *
     * @return list<array{id: string, token: string, body: ?string, attempts: int}> body: null for a large one
     */
    private function hand(SqliteConnection $connection, int $most, int $visibility, array $acknowledged): array
    {
        $now = self::now();
        if ($this->statements?->connection !== $connection) {
            $this->statements = new ClaimStatements($connection);
        }
        $statements = $this->statements;
        $statements->due = $now + $visibility;
        // No other claim of the same message has this token.
        $statements->token = $token = \hrtime(true);
        $statements->logged = $this->logged = $this->log->size();
        $rows = null;
        if ($token < $this->calm) {
            $rows = self::next($statements, $most);
            $rows !== null && $rows[0][0] !== 0 && $rows = null;
        }
        if ($rows === null) {
            foreach ($acknowledged as [, $last]) {
                $statements->acknowledges($last);
                $statements->remove->execute();
            }
            $acknowledged = [];
            $state = self::state($connection);
            $this->apply($connection, $state);
            if ($state['paused'] === 1) {
                return [];
            }
            $state['expires'] <= $now && $this->expire($connection, $now);
            $state['due'] <= $now && self::promote($connection, $now);
            $this->calm = $token + self::CALM * 1_000_000;
            $rows = self::next($statements, $most);
        }
        $claimed = [];
        for (; $rows !== null; $rows = \count($claimed) < $most ? self::next($statements, $most - \count($claimed)) : null) {
            self::lease($statements, $rows, $acknowledged);
            $acknowledged = [];
            foreach ($rows as [, $rank, $n, $id, $key, $attempts, $sum, $body]) {
                $key === null || self::run($connection, 'DELETE FROM waiting WHERE key = ?', [$key]);
                if ($body !== null && $sum !== \crc32($id . $body)) {
                    self::bring($connection, 'claimed', 'dead', ['rank' => $rank, 'n' => $n, 'id' => $id, 'key' => $key, 'attempts' => $attempts, 'error' => self::DAMAGED, 'sum' => $sum, 'due' => $now], []);
                } else {
                    $claimed[] = ['id' => $id, 'token' => "$n $token", 'body' => $body, 'attempts' => $attempts + 1];
                }
            }
        }
        if ($this->logged >= PushLog::LONG && $this->log->close()) {
            $this->renew($connection);
        }

        return $claimed;
    }

    /** @return ?non-empty-list<Next> null: none is ready */
    private static function next(ClaimStatements $statements, int $most): ?array
    {
        $statements->count = $most;
        $statements->next->execute();
        /** @var non-empty-list<Next>|array{array{int, null}} $rows */
        $rows = $statements->next->fetchAll(\PDO::FETCH_NUM);
        if ($rows[0][1] === null) {
            return null;
        }

        /** @var non-empty-list<Next> $rows */
        return $rows;
    }

    /**
     * Brings the next ready messages to the claimed ones.
     *
     * @param non-empty-list<Next>        $rows
     * @param list<array{string, string}> $acknowledged which were claimed before
     */
    private static function lease(ClaimStatements $statements, array $rows, array $acknowledged): void
    {
        $statements->count = $count = \count($rows);
        [, $statements->rank, $statements->n] = $rows[$count - 1];
        $isReplaced = false;
        foreach ($acknowledged as [, $last]) {
            $statements->acknowledges($last);
            if ($count === 1 && \count($acknowledged) === 1) {
                $statements->replace->execute();
                $isReplaced = $statements->replace->rowCount() === 1;
            } else {
                $statements->remove->execute();
            }
        }
        $isReplaced || $statements->lease->execute();
        $statements->take->execute();
        $statements->discount->execute();
    }

    /**
     * Reads a large body. If it does not fit into the memory that this process has left, it would end the process: its message
     * goes back.
     *
     * @param array{id: string, token: string, body: ?string, attempts: int} $claim
     * @param int                                                            $left  bytes of memory for this body and those that follow
     *
     * @return ?Claimed
     */
    private function whole(array $claim, int &$left): ?array
    {
        ['id' => $id, 'token' => $token, 'attempts' => $attempts] = $claim;
        [$head, $body] = $this->database->run(static function (SqliteConnection $connection) use ($token, &$left): array {
            $head = self::claimed($connection, $token);

            return [$head, $head === null ? null : self::body($connection, 'claimed', $head, $left)];
        });
        if ($head !== null && $body === null) {
            $this->release($id, $token, $this->retry->pause($attempts), 'Its body is too large for the memory that its worker had left (memory_limit).');
        } elseif ($head !== null && $head['sum'] !== self::sum($id, (string) $body)) {
            $this->bury($id, $token, self::DAMAGED);
        } elseif ($body !== null) {
            return ['id' => $id, 'token' => $token, 'body' => $body, 'attempts' => $attempts];
        }

        return null;
    }

    /** Takes back what nobody has acknowledged in time. */
    private function expire(SqliteConnection $connection, int $now): void
    {
        foreach (self::heads($connection, 'claimed WHERE due <= ?', [$now]) as $head) {
            $this->giveBack($connection, $head, 0, '', 'Nobody acknowledged it in time');
        }
    }

    /** Lets delayed messages be ready whose time has come. */
    private static function promote(SqliteConnection $connection, int $now): void
    {
        foreach (self::heads($connection, 'delayed WHERE due <= ? ORDER BY due, n LIMIT ' . self::PROMOTED, [$now]) as $head) {
            self::bring($connection, 'delayed', 'ready', $head, []);
        }
    }

    /**
     * Lets a claimed message wait again, or be dead after its last attempt. If another one waits with its key by now, it is
     * dropped: that one will be handled.
     *
     * @param Head   $head
     * @param string $error   as the worker said it; '': the last one that was said stays
     * @param string $instead what happened, where nobody said anything
     */
    private function giveBack(SqliteConnection $connection, array $head, int $delay, string $error, string $instead): void
    {
        $error = $error === '' ? $head['error'] : $error;
        if ($head['attempts'] >= $this->retry->most) {
            self::bring($connection, 'claimed', 'dead', $head, ['error' => $error === '' ? "$instead, after {$head['attempts']} of {$this->retry->most} attempts." : $error, 'due' => self::now()]);
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
     * @return ?string the id of another one that waits with the key; null: none, or there is no key
     */
    private static function reserve(SqliteConnection $connection, ?string $key, string $id): ?string
    {
        if ($key === null || self::run($connection, 'INSERT OR IGNORE INTO waiting (key, id) VALUES (?, ?)', [$key, $id]) === 1) {
            return null;
        }

        return SqliteConnection::text(self::rows($connection, 'SELECT id FROM waiting WHERE key = ?', [$key])[0][0] ?? null);
    }

    /** @return ?Head what this token's owner has claimed; null: it is not this token's */
    private static function claimed(SqliteConnection $connection, string $token): ?array
    {
        return self::heads($connection, 'claimed WHERE n = ? AND token = ?', \explode(' ', $token))[0] ?? null;
    }

    private static function remove(SqliteConnection $connection, string $token): bool
    {
        return self::run($connection, 'DELETE FROM claimed WHERE n = ? AND token = ?', \explode(' ', $token)) === 1;
    }

    /**
     * Inserts new messages.
     *
     * @param array<string, string> $bodies by id
     * @param int                   $n      the place before the first one's
     *
     * @return int the last one's
     */
    private static function insert(SqliteConnection $connection, string $table, int $rank, int $due, ?string $key, array $bodies, int $n): int
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
    private static function bring(SqliteConnection $connection, string $from, string $to, array $head, array $changes): void
    {
        $place = self::place($from, $head);
        $new = \array_replace($head, $changes);
        $new['error'] = \substr($new['error'], 0, 8_000);
        self::run($connection, "INSERT INTO $to (" . ClaimStatements::COLUMNS . ") SELECT ?, ?, ?, ?, ?, ?, ?, ?, body FROM $from WHERE " . self::PLACE[$from], [...\array_values($new), ...$place]);
        self::run($connection, "DELETE FROM $from WHERE " . self::PLACE[$from], $place);
    }

    /**
     * @param key-of<self::PLACE> $table
     * @param Head               $head
     * @param int                $left  bytes of memory for this body and for what it is decoded into; the others' that follow, then
     *
     * @return ?string null: it does not fit
     */
    private static function body(SqliteConnection $connection, string $table, array $head, int &$left): ?string
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
    private static function state(SqliteConnection $connection): array
    {
        $statement = $connection->execute('SELECT epoch, applied, tail, was, was_applied, was_tail, paused, (SELECT MIN(due) FROM claimed) AS expires, COALESCE((SELECT MIN(due) FROM delayed), ' . \PHP_INT_MAX . ') AS due FROM state');
        /** @var list<State> $rows */
        $rows = $statement->fetchAll(\PDO::FETCH_ASSOC);

        return $rows[0];
    }

    private static function waiting(SqliteConnection $connection): int
    {
        return self::number($connection, 'SELECT token FROM claimed WHERE n = 0');
    }

    private static function leases(SqliteConnection $connection): int
    {
        return self::number($connection, 'SELECT COUNT(*) - 1 FROM claimed');
    }

    private static function count(SqliteConnection $connection, int $more): void
    {
        self::run($connection, 'UPDATE claimed SET token = token + ? WHERE n = 0', [$more]);
    }

    /** @param list<int|string|null> $values */
    private static function run(SqliteConnection $connection, string $sql, array $values): int
    {
        return $connection->execute($sql, $values)->rowCount();
    }

    /**
     * @param list<int|string|null> $values
     *
     * @return list<list<mixed>>
     */
    private static function rows(SqliteConnection $connection, string $sql, array $values): array
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
    private static function heads(SqliteConnection $connection, string $from, array $values = []): array
    {
        /** @var list<Head> */
        return $connection->execute('SELECT ' . self::HEAD . " FROM $from", $values)->fetchAll(\PDO::FETCH_ASSOC);
    }

    /** @param list<int|string|null> $values */
    private static function number(SqliteConnection $connection, string $sql, array $values = []): int
    {
        return (int) SqliteConnection::text(self::rows($connection, $sql, $values)[0][0] ?? 0);
    }

    private static function sum(string $id, string $body): int
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

    private static function now(): int
    {
        return (int) (\microtime(true) * 1000);
    }
}
