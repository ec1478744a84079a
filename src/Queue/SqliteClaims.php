<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Driver\Sqlite\SqliteConnection;

/**
 * Hands out messages of an SQLite queue, in the caller's transaction.
 *
 * @phpstan-type Next array{int, int, int, string, ?string, int, int, ?string}
 */
final class SqliteClaims
{
    /** Milliseconds for which claims that find messages do not look for what has become due. */
    private const CALM = 10;

    /** The machine's time (nanoseconds) until which claims need not look for what has become due. */
    private int $calm = 0;

    public function __construct(private readonly PushLogApplier $applier, private readonly Retry $retry) {}

    /** Takes back what was not acknowledged in time. */
    public static function expire(SqliteConnection $connection, int $now, Retry $retry): void
    {
        foreach (MessageTables::heads($connection, 'claimed WHERE due <= ?', [$now]) as $head) {
            MessageTables::giveBack($connection, $retry, $head, 0, '', 'No worker acknowledged it in time');
        }
    }

    /**
     * Hands out the next messages.
     *
     * @param list<array{string, string}> $acknowledged
     *
     * @return list<array{id: string, token: string, body: ?string, attempts: int}> body: null for a large one
     */
    public function hand(SqliteConnection $connection, int $most, int $visibility, array $acknowledged, ?Rate $rate): array
    {
        $now = MessageTables::now();
        $statements = $connection->prepared;
        if (!$statements instanceof ClaimStatements) {
            $connection->prepared = $statements = new ClaimStatements($connection);
        }
        $statements->due = $now + $visibility;
        // No other claim of the same message has this token.
        $statements->token = $token = \hrtime(true);
        $statements->logged = $this->applier->logged = $this->applier->log->size();
        foreach ($acknowledged as $i => $claim) {
            if (MessageId::isKeeping($claim[0])) {
                MessageTables::acknowledge($connection, [$claim]);
                unset($acknowledged[$i]);
            }
        }
        if ($rate !== null) {
            $rate->held = 0;
            $most = \min($most, RateTable::free($connection, $rate, $now));
        }
        $rows = null;
        if ($token < $this->calm && $most > 0) {
            $rows = self::next($statements, $most);
            $rows !== null && $rows[0][0] !== 0 && $rows = null;
        }
        if ($rows === null) {
            foreach ($acknowledged as [, $last]) {
                $statements->acknowledges($last);
                $statements->remove->execute();
            }
            $acknowledged = [];
            $state = MessageTables::state($connection);
            $this->applier->apply($connection, $state);
            if ($state['paused'] === 1) {
                return [];
            }
            $state['expires'] <= $now && self::expire($connection, $now, $this->retry);
            $state['due'] <= $now && MessageTables::promote($connection, $now);
            $this->calm = $token + self::CALM * 1_000_000;
            $rows = self::next($statements, \max(1, $most));
            $rows === null && MessageTables::checkEmpty($connection);
            if ($most < 1 && $rows !== null && $rate !== null) {
                $rate->held = RateTable::left($connection, $rate, $now);
                $rows = null;
            }
        }
        $claimed = [];
        for (; $rows !== null; $rows = \count($claimed) < $most ? self::next($statements, $most - \count($claimed)) : null) {
            self::lease($statements, $rows, $acknowledged);
            $acknowledged = [];
            foreach ($rows as [, $rank, $n, $id, $key, $attempts, $sum, $body]) {
                $key === null || MessageId::isKeeping($id) || MessageTables::run($connection, 'DELETE FROM waiting WHERE key = ?', [$key]);
                if ($body !== null && $sum !== \crc32($id . $body)) {
                    MessageTables::bring($connection, 'claimed', 'dead', ['rank' => $rank, 'n' => $n, 'id' => $id, 'key' => $key, 'attempts' => $attempts, 'error' => MessageTables::DAMAGED, 'sum' => $sum, 'due' => $now], []);
                } else {
                    $claimed[] = ['id' => $id, 'token' => "$n $token", 'body' => $body, 'attempts' => $attempts + 1];
                }
            }
        }
        $rate === null || RateTable::note($connection, $rate, $now, \count($claimed));
        if ($this->applier->logged >= PushLog::LONG && $this->applier->log->close()) {
            $this->applier->renew($connection);
        }

        return $claimed;
    }

    /** @return ?non-empty-list<Next> null: none is ready */
    private static function next(ClaimStatements $statements, int $most): ?array
    {
        $statements->count = $most;
        $statements->next->execute();
        /** @var non-empty-list<Next>|array{array{int, null, ?int, ?string}} $rows */
        $rows = $statements->next->fetchAll(\PDO::FETCH_NUM);
        if ($rows[0][1] === null) {
            // Where none is ready the other columns are missing, too.
            return $rows[0][2] === null && $rows[0][3] === null ? null : throw SqliteConnection::damage('A message has lost its rank.');
        }

        /** @var non-empty-list<Next> $rows */
        return $rows;
    }

    /**
     * Brings the next ready messages to the claimed ones.
     *
     * @param non-empty-list<Next>        $rows
     * @param array<array{string, string}> $acknowledged which were claimed before
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
}
