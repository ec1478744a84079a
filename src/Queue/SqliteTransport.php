<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Driver\Sqlite\SqliteConnection;
use Larder\System\Memory;
use Larder\System\Quiet;
use Larder\System\ServerPolicy;
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
 * Times are the wall clock's. If it is set, delayed and claimed messages come as much earlier or later.
 *
 * @phpstan-import-type New from Transport
 * @phpstan-import-type Claimed from Transport
 * @phpstan-import-type State from MessageTables
 * @phpstan-import-type Head from MessageTables
 */
final class SqliteTransport implements Transport
{
    /** Messages that one transaction hands out. */
    private const HANDED = 200;

    private readonly QueueDatabase $database;
    private readonly PushLog $log;
    private readonly PushLogApplier $applier;
    private readonly SqliteClaims $claims;
    private readonly Waiters $waiters;

    public function __construct(
        string $directory,
        private readonly string $queue,
        private readonly int $limit,
        private readonly Retry $retry,
        bool $isFull,
        float $timeout,
        ?ServerPolicy $policy = null,
    ) {
        $this->database = new QueueDatabase($directory, $queue, $isFull, $timeout);
        $this->log = new PushLog($directory, $queue, $isFull);
        $this->applier = new PushLogApplier($this->log, $limit, $policy);
        $this->claims = new SqliteClaims($this->applier, $retry);
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

    public function pushForTime(string $schedule, int $time, int $since, ?array $message, int $latest): bool
    {
        $isPushed = $this->look(function (SqliteConnection $connection, array $state) use ($schedule, $time, $since, $message, $latest): bool {
            $count = 0;
            // Not in the schema: most queues have no schedule.
            MessageTables::run($connection, 'CREATE TABLE IF NOT EXISTS scheduled (name BLOB PRIMARY KEY, time INTEGER NOT NULL) WITHOUT ROWID', []);
            $noted = MessageTables::rows($connection, 'SELECT time FROM scheduled WHERE name = ? AND time <= ?', [$schedule, $latest])[0][0] ?? null;
            if ($noted !== null && $time <= $noted) {
                return false;
            }
            MessageTables::run($connection, 'INSERT OR REPLACE INTO scheduled (name, time) VALUES (?, ?)', [$schedule, $time]);

            $message !== null && $time > ($noted ?? $since) && $this->add($connection, $state, [$message], false, $count);

            return $count > 0;
        });
        $isPushed && $this->waiters->wake(1);

        return $isPushed;
    }

    public function claim(int $most, int $visibility, array $acknowledged = [], ?Rate $rate = null): array
    {
        $whole = [];
        $left = null;
        do {
            $handed = $this->handed($most === 1 ? 1 : \min(self::HANDED, $most - \count($whole)), $visibility, $acknowledged, $rate);
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
    private function handed(int $most, int $visibility, array $acknowledged, ?Rate $rate): array
    {
        $held = Signals::hold();
        $this->applier->begin();
        Quiet::begin();
        try {
            $connection = $this->database->begin();
            try {
                $handed = $this->claims->hand($connection, $most, $visibility, $acknowledged, $rate);
                $connection->commit();
            } catch (\Throwable $error) {
                // What the statements are in the middle of is not known.
                $connection->prepared = null;
                throw $this->database->failed($connection, $error);
            }
            $this->applier->tell();

            return $handed;
        } finally {
            $this->log->unlock();
            Quiet::end();
            unset($held);
        }
    }

    public function acknowledge(array $claims): array
    {
        if (\count($claims) === 1 && !MessageId::isKeeping($claims[0][0])) {
            return [$this->database->run(static fn(SqliteConnection $connection): bool => MessageTables::remove($connection, $claims[0][1]), false)];
        }

        return $this->database->run(static fn(SqliteConnection $connection): array => MessageTables::acknowledge($connection, $claims));
    }

    public function release(string $id, string $token, int $delay, string $error): bool
    {
        $isReleased = $this->database->run(function (SqliteConnection $connection) use ($token, $delay, $error): bool {
            $head = MessageTables::claimed($connection, $token);
            $head === null || MessageTables::giveBack($connection, $this->retry, $head, $delay, $error, 'It was given back');

            return $head !== null;
        });
        $isReleased && $delay <= 0 && $this->waiters->wake(1);

        return $isReleased;
    }

    public function extend(string $id, string $token, int $visibility): bool
    {
        return $this->database->run(static fn(SqliteConnection $connection): bool => MessageTables::run($connection, 'UPDATE claimed SET due = ? WHERE n = ? AND token = ?', [MessageTables::now() + $visibility, ...\explode(' ', $token)]) === 1, false);
    }

    public function bury(string $id, string $token, string $error): bool
    {
        return $this->database->run(static function (SqliteConnection $connection) use ($token, $error): bool {
            $head = MessageTables::claimed($connection, $token);
            $head === null || MessageTables::bring($connection, 'claimed', 'dead', $head, ['error' => $error === '' ? $head['error'] : $error, 'due' => MessageTables::now()]);

            return $head !== null;
        });
    }

    public function size(): int
    {
        return $this->look(function (SqliteConnection $connection): int {
            SqliteClaims::expire($connection, MessageTables::now(), $this->retry);

            return MessageTables::waiting($connection);
        });
    }

    public function waiting(int $limit, string $id = ''): array
    {
        $this->look(function (SqliteConnection $connection): void {
            $now = MessageTables::now();
            SqliteClaims::expire($connection, $now, $this->retry);
            MessageTables::promote($connection, $now);
        });

        return $this->reading(static function (SqliteConnection $connection) use ($limit, $id): array {
            $left = Memory::left();
            $waiting = [];
            $where = $id === '' ? '' : 'WHERE id = ?';
            foreach (['ready' => 'rank', 'delayed' => 'due'] as $table => $first) {
                foreach (MessageTables::heads($connection, "$table $where ORDER BY $first, n LIMIT ?", [...($id === '' ? [] : [$id]), $limit - \count($waiting)]) as $head) {
                    $waiting[] = ['id' => $head['id'], 'body' => self::shown($connection, $table, $head, $left), 'attempts' => $head['attempts']];
                }
            }

            return $waiting;
        });
    }

    public function remove(array $ids): int
    {
        return $this->look(function (SqliteConnection $connection) use ($ids): int {
            SqliteClaims::expire($connection, MessageTables::now(), $this->retry);
            $count = 0;
            foreach ($ids as $id) {
                $removed = MessageTables::run($connection, 'DELETE FROM ready WHERE id = ?', [$id]) + MessageTables::run($connection, 'DELETE FROM delayed WHERE id = ?', [$id]);
                $removed === 0 || MessageTables::run($connection, 'DELETE FROM waiting WHERE id = ?', [$id]);
                $count += $removed;
            }
            MessageTables::count($connection, -$count);

            return $count;
        });
    }

    public function stats(): array
    {
        return $this->look(function (SqliteConnection $connection): array {
            $now = MessageTables::now();
            SqliteClaims::expire($connection, $now, $this->retry);
            /** @var array{int, int, int, int, int, ?int} $row */
            $row = MessageTables::rows($connection, 'SELECT (SELECT token FROM claimed WHERE n = 0), (SELECT COUNT(*) FROM delayed WHERE due > ?), (SELECT COUNT(*) - 1 FROM claimed), (SELECT COUNT(*) FROM dead), paused,'
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
        $this->database->run(fn(SqliteConnection $connection) => SqliteClaims::expire($connection, MessageTables::now(), $this->retry));

        return $this->reading(static function (SqliteConnection $connection) use ($limit): array {
            $left = Memory::left();
            $dead = [];
            foreach (MessageTables::heads($connection, 'dead ORDER BY due, n LIMIT ?', [$limit]) as $head) {
                $dead[] = ['id' => $head['id'], 'body' => self::shown($connection, 'dead', $head, $left), 'attempts' => $head['attempts'], 'error' => $head['error'], 'at' => $head['due']];
            }

            return $dead;
        });
    }

    /**
     * Reads for people, in one view, while workers go on: bodies may be large.
     *
     * @template T
     *
     * @param \Closure(SqliteConnection): T $work
     *
     * @return T
     */
    private function reading(\Closure $work): mixed
    {
        return $this->database->run(static function (SqliteConnection $connection) use ($work): mixed {
            $connection->beginReading();
            try {
                $read = $work($connection);
                $connection->commit();
            } catch (\Throwable $error) {
                $connection->rollBack();

                throw $error;
            }

            return $read;
        }, false);
    }

    /**
     * @param 'ready'|'delayed'|'dead' $table
     * @param Head                     $head
     *
     * @return string the body; '' where it is damaged or does not fit into memory
     */
    private static function shown(SqliteConnection $connection, string $table, array $head, int &$left): string
    {
        $body = MessageTables::body($connection, $table, $head, $left) ?? '';

        return $head['sum'] === MessageTables::sum($head['id'], $body) ? $body : '';
    }

    public function retryDead(array $ids): int
    {
        $count = $this->look(function (SqliteConnection $connection) use ($ids): int {
            SqliteClaims::expire($connection, MessageTables::now(), $this->retry);
            $count = 0;
            foreach ($ids === [] ? MessageTables::rows($connection, 'SELECT id FROM dead ORDER BY due, n', []) : \array_map(static fn(string $id): array => [$id], $ids) as [$id]) {
                foreach (MessageTables::heads($connection, 'dead WHERE id = ?', [SqliteConnection::text($id)]) as $head) {
                    if (MessageTables::reserve($connection, $head['key'], $head['id']) === null) {
                        MessageTables::bring($connection, 'dead', 'ready', $head, ['attempts' => 0, 'due' => MessageTables::now()]);
                        $count++;
                    }
                }
            }
            [$waiting, $isClosed] = $this->applier->room($connection, $count, false);
            if ($count > 0 && $waiting + $count > $this->limit) {
                throw QueueFull::retrying($this->queue, $count, $waiting, $this->limit);
            }
            MessageTables::count($connection, $count);
            $isClosed && $this->applier->renew($connection);

            return $count;
        });
        $this->waiters->wake($count);

        return $count;
    }

    public function removeDead(array $ids, int $age): int
    {
        return $this->database->run(function (SqliteConnection $connection) use ($ids, $age): int {
            $now = MessageTables::now();
            SqliteClaims::expire($connection, $now, $this->retry);
            if ($ids === []) {
                return MessageTables::run($connection, 'DELETE FROM dead WHERE due <= ?', [$now - $age]);
            }

            return \array_sum(\array_map(static fn(string $id): int => MessageTables::run($connection, 'DELETE FROM dead WHERE id = ? AND due <= ?', [$id, $now - $age]), $ids));
        });
    }

    public function purge(): int
    {
        return $this->look(function (SqliteConnection $connection): int {
            SqliteClaims::expire($connection, MessageTables::now(), $this->retry);
            $count = MessageTables::waiting($connection);
            foreach (['DELETE FROM ready', 'DELETE FROM delayed', 'DELETE FROM waiting WHERE id NOT IN (SELECT id FROM claimed)', 'UPDATE claimed SET token = 0 WHERE n = 0'] as $sql) {
                MessageTables::run($connection, $sql, []);
            }

            return $count;
        });
    }

    public function pause(bool $isPaused): void
    {
        $this->database->run(static fn(SqliteConnection $connection): int => MessageTables::run($connection, 'UPDATE state SET paused = ?', [(int) $isPaused]));
        $isPaused || $this->waiters->wake(\PHP_INT_MAX);
    }

    public function wait(int $milliseconds): void
    {
        // Registered before the last look: who commits after that sees the waiter.
        $this->waiters->register();
        [$isReady, $next] = $this->look(static fn(SqliteConnection $connection, array $state): array => [
            $state['paused'] === 0 && MessageTables::number($connection, 'SELECT EXISTS (SELECT 1 FROM ready)') === 1,
            \min($state['expires'], $state['due']),
        ]);
        $isReady || $this->database->shrink();
        $isReady || $this->waiters->wait((int) \max(1, \min($milliseconds, $next - MessageTables::now())));
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
            $state = MessageTables::state($connection);
            $this->applier->apply($connection, $state);

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
        $this->applier->begin();
        Quiet::begin();
        try {
            $connection = $this->database->begin();
            try {
                $done = $work($connection);
                $connection->commit();
            } catch (\Throwable $error) {
                throw $this->database->failed($connection, $error);
            }
            $this->applier->tell();

            return $done;
        } finally {
            $this->log->unlock();
            Quiet::end();
            unset($held);
        }
    }

    /**
     * @param State               $state
     * @param non-empty-list<New> $messages
     * @param bool                $isPlain  to be appended to the log the next time
     * @param int                 $count    how many were added, then
     *
     * @return list<string>
     */
    private function add(SqliteConnection $connection, array $state, array $messages, bool $isPlain, int &$count = 0): array
    {
        $now = MessageTables::now();
        // What comes back waits, and has its key again.
        $state['expires'] <= $now && SqliteClaims::expire($connection, $now, $this->retry);
        $ids = MessageId::many(\count($messages));
        // Those that follow each other and differ only in their bodies are inserted together.
        $groups = $bodies = [];
        $count = $group = 0;
        $last = null;
        foreach ($messages as $i => $message) {
            $id = $ids[$i];
            ['key' => $key, 'delay' => $delay, 'priority' => $priority] = $message;
            if ($key !== null) {
                $message['stays'] && $ids[$i] = $id = MessageId::keeping($id);
                $waiting = MessageTables::reserve($connection, $key, $id);
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
        [$waiting, $isClosed] = $this->applier->room($connection, $count, $isPlain);
        if ($count > 0 && $waiting + $count > $this->limit) {
            throw QueueFull::holding($this->queue, $waiting, $this->limit);
        }
        if ($count > 0 && !$this->applier->holds($connection, \array_sum(\array_map(static fn(array $message): int => \strlen($message['body']), $messages)))) {
            throw QueueFull::taking($this->queue, $waiting, $this->applier->policy()->file);
        }
        $n = MessageTables::number($connection, 'UPDATE state SET last = last + ? RETURNING last', [$count]) - $count;
        MessageTables::count($connection, $count);
        foreach ($groups as $group => [$table, $rank, $due, $key]) {
            $n = MessageTables::insert($connection, $table, $rank, $due, $key, $bodies[$group], $n);
        }
        $isClosed && $this->applier->renew($connection);

        return \array_values($ids);
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
            $head = MessageTables::claimed($connection, $token);

            return [$head, $head === null ? null : MessageTables::body($connection, 'claimed', $head, $left)];
        });
        if ($head !== null && $body === null) {
            $this->release($id, $token, $this->retry->pause($attempts), 'Its body is too large for the memory that its worker had left (memory_limit).');
        } elseif ($head !== null && $head['sum'] !== MessageTables::sum($id, (string) $body)) {
            $this->bury($id, $token, MessageTables::DAMAGED);
        } elseif ($body !== null) {
            return ['id' => $id, 'token' => $token, 'body' => $body, 'attempts' => $attempts];
        }

        return null;
    }
}
