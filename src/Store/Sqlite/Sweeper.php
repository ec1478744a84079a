<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

/**
 * Keeps the budget, and removes what is over. Always with the bell's lock, so that it never waits.
 *
 * Eviction is SIEVE (Zhang et al., NSDI 2024): a hand goes along the log from old to new; a record that was read
 * since it last came by (`used`) loses that mark and stays, another one goes. A record written again moves to the
 * log's end.
 *
 * An evicted key keeps its row without the body: that it was changed, when, and by whom has to stay known, or a
 * write from an older view would pass. Such rows, and those of removals, are deleted only when they are ten minutes
 * old, so that few readers ever find the log shorter than they need; or, under pressure, when there are many newer
 * changes; and what was the greatest position among them is recorded first (the horizon).
 *
 * Kinds `m` and `c` (markers of flushes and tags) are never evicted: they say what must not be shown. Where they
 * alone pass the budget, the epoch ends.
 */
final class Sweeper
{
    private const BATCH = 64;

    /** Rows looked at by one tidy(). */
    private const AT_ONCE = 128;

    /** Rows looked at by one write: a tenth of a second at the worst, when all of them were read. */
    private const AT_MOST = 20_000;

    /** Seconds for which removals stay known. */
    private const MEMORY = 600;

    private const ROWS = 'SELECT id, pos, kind, expiry, used, body IS NOT NULL FROM e WHERE pos > ? ORDER BY pos LIMIT ' . self::BATCH;

    /**
     * Takes the body away. The row moves to the table's end: SQLite joins pages when rows go, not when they get
     * shorter (btree.c: sqlite3BtreeDelete balances, sqlite3BtreeInsert only what overflows).
     */
    private const EMPTY = 'UPDATE e SET id = (SELECT max(id) FROM e) + 1, body = NULL, used = 0, expiry = 0 WHERE id = ?';

    private readonly int $limit;

    public function __construct(private readonly Database $database, private readonly int $budget)
    {
        $this->limit = \intdiv($budget, 4096);
    }

    /** Pages in use; the file may be longer. */
    public function pages(): int
    {
        return $this->database->number('PRAGMA page_count') - $this->database->number('PRAGMA freelist_count');
    }

    /**
     * A few milliseconds at most.
     *
     * @param array<array-key, true> $used    keys that were read
     * @param bool                   $written whether this process has written
     */
    public function tidy(array $used, bool $written): void
    {
        $database = $this->database;
        $pages = $this->pages();
        // As long as half of the budget is free, nothing is about to be evicted, and a read need not cause a write.
        $mark = $used !== [] && $pages > $this->limit >> 1;
        $sweep = $written && \mt_rand(0, 7) === 0;
        if ($mark || $sweep || $pages > $this->limit) {
            $database->begin();
            $mark && $this->mark($used);
            $sweep && $this->sweep();
            $this->makeRoom(self::AT_ONCE * 4);
            $database->commit();
        }
        if ($sweep) {
            $free = $database->number('PRAGMA freelist_count');
            if ($free > self::AT_ONCE && $free > $pages >> 2) {
                $database->run('PRAGMA incremental_vacuum(' . self::AT_ONCE . ')');
            }
        }
        if ($written && $database->logSize() > 2 * 4096 * Opening::logPages($this->budget)) {
            $this->cutLog();
        }
    }

    /**
     * Evicts until the budget is kept. In a transaction.
     *
     * @param int $most rows to look at; the next call goes on from there
     */
    public function makeRoom(int $most = self::AT_MOST): void
    {
        if ($this->pages() <= $this->limit) {
            return;
        }
        $goal = $this->limit - ($this->limit >> 6);
        $hand = $this->known('evict');
        $horizon = $was = $this->known('horizon');
        $end = $this->database->number('SELECT max(pos) FROM e');
        $mark = $this->known('old');
        $old = \max($mark, $end - \max(256, $this->budget >> 10));
        $isOver = true;
        // The hand is somewhere: after its second turn it has been everywhere once.
        for ($turns = 0; $turns < 5 && $most > 0 && $isOver;) {
            $rows = $this->after($hand);
            foreach ($rows as $i => [$id, $position, $kind, , $used, $alive]) {
                if ($i % 8 === 7 && !($isOver = $this->pages() > $goal)) {
                    break;
                }
                $hand = $position;
                // First what was not read, at last all but what has been held for less than ten minutes. Markers of
                // flushes and tags stay: they say what must not be shown.
                if ($alive === 1 && ($kind === 'm' || $kind === 'c' || ($turns < 4 ? $used !== 0 : $used === 2 && $position > $mark))) {
                    $used === 1 && $this->change('UPDATE e SET used = 0 WHERE id = ?', $id);
                    continue;
                }
                if ($position < $end && ($position <= $old || $turns === 4)) {
                    $this->change('DELETE FROM e WHERE id = ?', $id);
                    $horizon = \max($horizon, $position);
                } elseif ($alive === 1) {
                    $this->change(self::EMPTY, $id);
                }
            }
            $most -= \count($rows);
            if ($isOver && \count($rows) < self::BATCH) {
                $isOver = $this->pages() > $goal;
                $turns++;
                $hand = 0;
            }
        }
        if ($turns === 5 && $isOver) {
            // Markers alone pass the budget. Without them older entries would be shown again: all begins anew.
            $this->database->bell->end();
        }
        $this->learn('evict', $hand);
        $horizon > $was && $this->learn('horizon', $horizon);
    }

    /**
     * Deletes what is over: expired records, removals that are old enough, the rows of leases that were given back.
     * In a transaction.
     */
    public function sweep(): void
    {
        $now = (int) (\microtime(true) * 1000);
        $hand = $this->known('sweep');
        $horizon = $was = $this->known('horizon');
        $end = $this->database->number('SELECT max(pos) FROM e');
        $low = $this->database->number('SELECT min(pos) FROM e');
        $old = $this->age(\intdiv($now, 1000), $end);
        for ($seen = 0; $seen < self::AT_ONCE; $seen += self::BATCH) {
            $rows = $this->after($hand);
            foreach ($rows as [$id, $position, , $expiry, , $alive]) {
                $hand = $position;
                if ($alive === 1 && ($expiry === 0 || $expiry >= $now)) {
                    continue;
                }
                // The first and the last row say from where positions count on.
                if ($position <= $old && $position !== $low && $position !== $end) {
                    $this->change('DELETE FROM e WHERE id = ?', $id);
                    $horizon = \max($horizon, $position);
                } elseif ($alive === 1) {
                    $this->change(self::EMPTY, $id);
                }
            }
            if (\count($rows) < self::BATCH) {
                $hand = \PHP_INT_MIN;
            }
        }
        $this->learn('sweep', $hand);
        $horizon > $was && $this->learn('horizon', $horizon);
    }

    /** @param array<array-key, true> $used */
    private function mark(array $used): void
    {
        $update = $this->database->statement('UPDATE e SET used = 1 WHERE k = ? AND used = 0');
        foreach ($used as $key => $_) {
            $update->bindValue(1, (string) $key, \PDO::PARAM_LOB);
            $update->execute();
        }
    }

    /**
     * A position that is at least MEMORY old: two marks, of which the newer becomes the older in its time.
     *
     * @param int $now seconds; set back, it starts the newer mark again, so that nothing is thought older than it is
     */
    private function age(int $now, int $end): int
    {
        $old = $this->known('old');
        $since = $now - $this->known('mark_time');
        if ($since < 0 || $since >= self::MEMORY) {
            if ($since > 0) {
                $this->learn('old', $old = $this->known('mark'));
            }
            $this->learn('mark', $end);
            $this->learn('mark_time', $now);
        }

        return $old;
    }

    /** Empties the write-ahead log; a reader in the way is left alone. Not in a transaction. */
    private function cutLog(): void
    {
        $timeout = $this->database->number('PRAGMA busy_timeout');
        $this->database->run('PRAGMA busy_timeout=0');
        $this->database->rows('PRAGMA wal_checkpoint(TRUNCATE)');
        $this->database->run('PRAGMA busy_timeout=' . $timeout);
    }

    /** @return list<array{int, int, string, int, int, int}> */
    private function after(int $position): array
    {
        $statement = $this->database->statement(self::ROWS);
        $statement->bindValue(1, $position, \PDO::PARAM_INT);
        $statement->execute();

        /** @var list<array{int, int, string, int, int, int}> */
        return $statement->fetchAll(\PDO::FETCH_NUM);
    }

    private function change(string $sql, int $id): void
    {
        $statement = $this->database->statement($sql);
        $statement->bindValue(1, $id, \PDO::PARAM_INT);
        $statement->execute();
    }

    private function known(string $name): int
    {
        return $this->database->number("SELECT value FROM m WHERE name = '$name'");
    }

    private function learn(string $name, int $value): void
    {
        $statement = $this->database->statement("UPDATE m SET value = ? WHERE name = '$name'");
        $statement->bindValue(1, $value, \PDO::PARAM_INT);
        $statement->execute();
    }
}
