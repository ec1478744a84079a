<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Driver\Sqlite\SqliteConnection;
use Larder\System\ServerPolicy;

/**
 * Applies the log of pushes to the database, in the caller's transaction, and lets a new log begin.
 *
 * The caller begins each transaction by begin(), and calls tell() when it has committed. In any case it unlocks the log then.
 *
 * @phpstan-import-type State from MessageTables
 */
final class PushLogApplier
{
    /** Milliseconds between messages of the log that count as ready at the same time, by which stats() tells how late they are. */
    private const AT_ONCE = 1_000;

    /** Bytes of the log when it was last looked at. */
    public int $logged = 0;

    /** Whether this process has read the log: nothing cuts it short while a process lives. */
    private bool $hasRead = false;

    /** @var ?array{string, int} epoch of the log and up to where this transaction has brought it into the database */
    private ?array $brought = null;

    /** @var ?array{string, int} epoch and room of the log that begins after this transaction */
    private ?array $renewal = null;

    public function __construct(public readonly PushLog $log, private readonly int $limit, private readonly ?ServerPolicy $policy = null) {}

    public function begin(): void
    {
        $this->renewal = $this->brought = null;
    }

    /** Begins a new log, or notes what this one has given: not before its messages are in the database for good. */
    public function tell(): void
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
    public function apply(SqliteConnection $connection, array $state): ?array
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
            MessageTables::run($connection, 'UPDATE state SET applied = ?, tail = ?, room = MAX(0, room - ?)', [$end, $tail, $count]);
        } else {
            // One that the database has ended, or does not know: it has outlived another database, or this one's last commits.
            MessageTables::run($connection, 'UPDATE state SET was = ?, was_applied = ?, was_tail = ?', [$of, $end, $tail]);
        }
        $n = MessageTables::number($connection, 'UPDATE state SET last = last + ? RETURNING last', [$count]) - $count;
        $before = $n;
        $last = $n + $count;
        $bodies = [];
        $rank = $due = 0;
        foreach ($records as ['id' => $id, 'priority' => $priority, 'body' => $body, 'isDamaged' => $isDamaged]) {
            $at = MessageId::milliseconds($id);
            if ($isDamaged) {
                MessageTables::run($connection, 'INSERT INTO dead (' . ClaimStatements::COLUMNS . ") VALUES (0, ?, ?, NULL, 0, ?, ?, ?, x'')", [$last--, $id, 'Its bytes are damaged in the log.', MessageTables::sum($id, ''), MessageTables::now()]);
                continue;
            }
            if ($bodies !== [] && (-$priority !== $rank || \abs($at - $due) > self::AT_ONCE)) {
                $n = MessageTables::insert($connection, 'ready', $rank, $due, null, $bodies, $n);
                $bodies = [];
            }
            if ($bodies === []) {
                [$rank, $due] = [-$priority, $at];
            }
            $bodies[$id] = $body;
        }
        $n = MessageTables::insert($connection, 'ready', $rank, $due, null, $bodies, $n);
        $this->brought = [$of, $end];
        MessageTables::count($connection, $n - $before);

        return [$of, $end, $tail];
    }

    /** Lets the log, which this process has closed, begin anew after the transaction. */
    public function renew(SqliteConnection $connection): void
    {
        [$was, $end, $tail] = $this->apply($connection, MessageTables::state($connection)) ?? ['', 0, ''];
        // Never a number, which would be another array key.
        $epoch = "\xff" . \random_bytes(7);
        // Who appends sees neither a lease that ends nor a release: what is claimed keeps its place.
        // What a log takes is not counted before it is in the database: it is never long.
        $room = $this->holds($connection, 0) ? \max(0, \min(PushLog::ROOM, $this->limit - MessageTables::waiting($connection) - MessageTables::leases($connection))) : 0;
        MessageTables::run($connection, 'UPDATE state SET was = ?, was_applied = ?, was_tail = ?, epoch = ?, applied = ?, tail = \'\', room = ?', [$was, $end, $tail, $epoch, PushLog::HEADER, $room]);
        $this->renewal = [$epoch, $room];
    }

    public function policy(): ServerPolicy
    {
        return $this->policy ?? new ServerPolicy();
    }

    /** Whether the server's policy lets the database hold so many bytes more. */
    public function holds(SqliteConnection $connection, int $more): bool
    {
        $most = $this->policy()->atMost(\PHP_INT_MAX, 'queue');

        return $most === \PHP_INT_MAX || ($connection->number('PRAGMA page_count') - $connection->number('PRAGMA freelist_count')) * $connection->number('PRAGMA page_size') + $more <= $most;
    }

    /**
     * Counts what waits. What the log may yet add counts too, unless it can take no more: then it has to be renewed.
     * The log is closed where it would have too much room once all that is claimed has come back.
     *
     * @param int  $more     messages that are to wait besides
     * @param bool $mayClose whether to close the log even if there is room
     *
     * @return array{int, bool} how many wait; whether the log is closed
     */
    public function room(SqliteConnection $connection, int $more, bool $mayClose): array
    {
        $waiting = MessageTables::waiting($connection) + MessageTables::number($connection, 'SELECT room FROM state');
        if (($mayClose || $waiting + MessageTables::leases($connection) + $more > $this->limit) && $this->log->close()) {
            $this->apply($connection, MessageTables::state($connection));

            return [MessageTables::waiting($connection), true];
        }

        return [$waiting, false];
    }
}
