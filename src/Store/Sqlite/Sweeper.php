<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Store\Markers;
use Larder\System\Clock;

/**
 * Keeps the budget, and removes expired records and old rows. Its caller always holds the change counter's lock, so it
 * never waits.
 *
 * Eviction is SIEVE (Zhang et al., NSDI 2024). A hand moves along the journal from old to new. A record that was read
 * since the hand last passed (`used`) loses that mark and stays; any other is evicted. A record written again moves to
 * the journal's end.
 *
 * An evicted key keeps its row without the body: its last change, with position and writer, must stay known, or a write
 * from an older view would pass. Such rows, and those of removals, are deleted only when they are ten minutes old, so that
 * few readers ever find the journal shorter than they need; under pressure, when there are many newer changes. The
 * greatest position among them is recorded first (the horizon).
 *
 * Removals and markers of flushes and tags (kinds `m` and `c`) may take only a part of the budget. Beyond it the oldest
 * are deleted, flush markers last, and a deleted marker leaves a floor (see Markers). Without pressure, a tag's marker is
 * deleted when it is older than every entry, and entries that a flush covers are removed a few at a time. Intents stay.
 */
final class Sweeper
{
    private const BATCH = 64;

    /** Rows that one tidy() checks. */
    private const AT_ONCE = 128;

    /** Rows that one write checks: a tenth of a second at worst, if all of them were read. */
    private const AT_MOST = 20_000;

    /** Rows that one write checks in forget(). */
    private const FORGOTTEN = 4_096;

    /** One in this many calls of tidy() after a write sweeps. */
    public const RARELY = 8;

    /** Seconds for which the rows of removals stay. */
    private const MEMORY = 600;

    /** Milliseconds to wait for readers that keep the write-ahead log from being emptied. */
    private const PATIENCE = 100;

    /** So many of the newest changes stay known under any pressure. */
    private const NEWEST = 256;

    private const ROWS = 'SELECT id, pos, kind, expiry, used, body IS NOT NULL, writer, k FROM e WHERE pos > ? ORDER BY pos LIMIT ' . self::BATCH;

    private const MARKER = 'SELECT pos FROM e WHERE k = ? AND body IS NOT NULL';

    /**
     * Removes the body. The row moves to the table's end: SQLite merges pages when rows are deleted, not when they get
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
     * Does a part of the work; takes a few milliseconds at most.
     *
     * @param array<array-key, true> $used    keys that were read
     * @param bool                   $written whether this process has written
     * @param bool                   $sweeps  whether it is this caller's turn: one in RARELY
     * @param int                    $dead    bytes that this process has added in rows without an entry
     */
    public function tidy(array $used, bool $written, bool $sweeps, int $dead): void
    {
        $database = $this->database;
        $pages = $this->pages();
        // While half of the budget is free, no eviction is near, and reads need not be marked, which would be a write.
        $mark = $used !== [] && $pages > $this->limit >> 1;
        $flushed = $written && $this->flush()[1] > 0;
        if ($mark || $sweeps || $flushed || $pages > $this->limit) {
            $database->begin();
            $past = new DeletedRows($database);
            $mark && $this->mark($used);
            if ($sweeps) {
                // One caller in RARELY counts for all.
                $past->weigh($dead * self::RARELY);
                $this->sweep($past);
            }
            $flushed && $this->removeCovered($past, self::AT_ONCE * 2);
            $this->makeRoom($past, self::AT_ONCE * 4);
            $past->save();
            $database->commit();
        }
        if ($sweeps) {
            $free = $database->number('PRAGMA freelist_count');
            if ($free > self::AT_ONCE && $free > $pages >> 2) {
                $database->run('PRAGMA incremental_vacuum(' . self::AT_ONCE . ')');
            }
        }
        $written && $this->keepLog();
    }

    /**
     * Evicts until the budget is kept. The caller has a transaction open.
     *
     * @param int $most rows to check; the next call continues behind them
     */
    public function makeRoom(DeletedRows $past, int $most = self::AT_MOST): void
    {
        if ($this->pages() <= $this->limit) {
            return;
        }
        $goal = $this->limit - ($this->limit >> 6);
        if ($this->flush()[1] > 0) {
            $this->removeCovered($past, $most);
        }
        if ($past->dead() > \intdiv($this->budget, Markers::SHARE)) {
            $this->forget($past, \min($most, self::FORGOTTEN));
        }
        if ($this->pages() <= $goal) {
            return;
        }
        $hand = $this->database->noted('evict');
        $end = $this->end();
        $mark = $this->database->noted('old');
        $old = $this->old($mark, $end);
        $isOver = true;
        // The hand begins anywhere, so only after its second turn has it passed every row once.
        for ($turns = 0; $turns < 5 && $most > 0 && $isOver;) {
            $rows = $this->after($hand);
            foreach ($rows as $i => [$id, $position, $kind, , $used, $alive, $writer, $key]) {
                if ($i % 8 === 7 && !($isOver = $this->pages() > $goal)) {
                    break;
                }
                $hand = $position;
                // First records that were not read are evicted; in the last turn all, except those held for less than ten
                // minutes. Markers of flushes and tags stay: they say which values must not be served.
                if ($alive === 1 && (self::isMarker($kind) || ($turns < 4 ? $used !== 0 : $used === 2 && $position > $mark))) {
                    $used === 1 && $this->database->change('UPDATE e SET used = 0 WHERE id = ?', $id);
                    continue;
                }
                if ($position < $end && ($position <= $old || $turns === 4)) {
                    $past->delete($id, $position, $writer, $key, $alive === 0);
                } elseif ($alive === 1) {
                    $this->empty($past, $id, $key);
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
            // Flush markers alone exceed the budget. Without them older entries would be served again, so end the epoch.
            $this->database->counter->end();
        }
        $this->database->note('evict', $hand);
    }

    /**
     * Deletes expired records, old removals, the rows of released leases, and markers of tags that are older than every
     * entry. The caller has a transaction open.
     */
    public function sweep(DeletedRows $past): void
    {
        $now = Clock::now();
        $hand = $this->database->noted('sweep');
        // Each turn begins at the oldest row, counts the bytes of rows without an entry, and notes whether it has passed an
        // entry yet.
        $dead = $this->database->noted('turn');
        $isBelow = $this->database->noted('first') === 0;
        $end = $this->end();
        $low = $this->database->number('SELECT min(pos) FROM e');
        $old = $this->age(\intdiv($now, 1000), $end);
        for ($seen = 0; $seen < self::AT_ONCE; $seen += self::BATCH) {
            $rows = $this->after($hand);
            foreach ($rows as [$id, $position, $kind, $expiry, , $alive, $writer, $key]) {
                $hand = $position;
                $isMarker = $alive === 1 && self::isMarker($kind);
                $isOver = $isMarker
                    ? $isBelow && $position <= $old && Markers::is($key) && $key[0] === Markers::TAGS
                    : $alive === 0 || ($expiry !== 0 && $expiry < $now);
                $isBelow = $isBelow && ($isMarker || $isOver || $position < 0);
                // The first and the last row stay: new versions and positions count on from them.
                if ($isOver && $position <= $old && $position !== $low && $position !== $end) {
                    $isMarker && $past->cover($key, $position);
                    $past->delete($id, $position, $writer, $key, $isMarker || $alive === 0);
                } elseif ($isOver || $isMarker) {
                    $isOver && $alive === 1 && !$isMarker && $this->empty($past, $id, $key);
                    $dead += DeletedRows::weight($key);
                }
            }
            if (\count($rows) < self::BATCH) {
                $past->count($dead);
                $hand = \PHP_INT_MIN;
                $dead = 0;
                $isBelow = true;
            }
        }
        $this->database->note('sweep', $hand);
        $this->database->note('turn', $dead);
        $this->database->note('first', $isBelow ? 0 : 1);
    }

    /** Notes a flush, so that the entries it covers are removed bit by bit. The caller has a transaction open. */
    public function flushed(int $position): void
    {
        [$hand, $until] = $this->flush();
        $this->database->note('flush', $until === 0 ? "0:$position:0" : "$hand:$until:$position");
    }

    /** @return array{int, int, int} the position of the hand that removes flushed entries; where it ends (0: it rests); where its next turn ends (0: none) */
    private function flush(): array
    {
        return $this->numbers('flush');
    }

    private function removeCovered(DeletedRows $past, int $most): void
    {
        [$hand, $until, $again] = $this->flush();
        $end = $this->end();
        $old = $this->old($this->database->noted('old'), $end);
        $flushes = [];
        for (; $most > 0 && $until > 0; $most -= self::BATCH) {
            foreach ($rows = $this->after($hand) as [$id, $position, , , $used, $alive, $writer, $key]) {
                $hand = $position;
                if ($alive === 0 || $used === 2 || !$this->isCovered($key, $position, $flushes)) {
                    continue;
                }
                // The marker needs no floor: a flush marker covers it.
                if ($position <= $old) {
                    $past->delete($id, $position, $writer, $key, Markers::is($key));
                } else {
                    $this->empty($past, $id, $key);
                }
            }
            if (\count($rows) < self::BATCH || $hand >= $until) {
                [$hand, $until, $again] = [0, $again, 0];
            }
        }
        $this->database->note('flush', "$hand:$until:$again");
    }

    /** @param array<string, int> $flushes the positions of the markers read so far */
    private function isCovered(string $key, int $position, array &$flushes): bool
    {
        foreach (Markers::covering($key) as $marker) {
            if (!isset($flushes[$marker])) {
                $statement = $this->database->statement(self::MARKER);
                $statement->bindValue(1, $marker, \PDO::PARAM_LOB);
                $statement->execute();
                $found = $statement->fetchAll(\PDO::FETCH_COLUMN)[0] ?? 0;
                $flushes[$marker] = \is_int($found) ? $found : 0;
            }
            if ($position <= $flushes[$marker]) {
                return true;
            }
        }

        return false;
    }

    /**
     * Deletes the oldest removals and markers, until these take no more than their part of the budget. Flush markers come
     * last: only after a whole turn over all rows, and only down to twice that part.
     */
    private function forget(DeletedRows $past, int $most): void
    {
        $part = \intdiv($this->budget, Markers::SHARE);
        [$hand, $turn] = $this->numbers('forget');
        $low = $this->database->number('SELECT min(pos) FROM e');
        $last = $this->end() - self::NEWEST;
        for ($isOver = true; $most > 0 && $isOver; $most -= self::BATCH) {
            $goal = ($turn < 2 ? 1 : 2) * ($part - ($part >> 3));
            $rows = $this->after($hand);
            foreach ($rows as [$id, $position, $kind, , , $alive, $writer, $key]) {
                $isOver = $past->dead() > $goal;
                if (!$isOver || $position > $last) {
                    break;
                }
                $hand = $position;
                if ($position === $low || ($alive === 1 && (!self::isMarker($kind) || ($turn < 2 && $key[0] === Markers::FLUSHES)))) {
                    continue;
                }
                $alive === 1 && $past->cover($key, $position);
                $past->delete($id, $position, $writer, $key, true);
            }
            if ($isOver && (\count($rows) < self::BATCH || $hand >= $last || $position > $last)) {
                $hand = \PHP_INT_MIN;
                $isOver = ++$turn < 3;
            }
        }
        $this->database->note('forget', $hand . ':' . ($isOver ? $turn : 0));
    }

    private static function isMarker(string $kind): bool
    {
        return $kind === 'm' || $kind === 'c';
    }

    private function empty(DeletedRows $past, int $id, string $key): void
    {
        $this->database->change(self::EMPTY, $id);
        $past->weigh(DeletedRows::weight($key));
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

    /** Removals up to this position may be deleted: they are old enough, or there are many newer changes. */
    private function old(int $aged, int $end): int
    {
        return \max($aged, $end - \max(self::NEWEST, $this->budget >> 10));
    }

    /**
     * A position that is at least MEMORY old. There are two marks; every MEMORY seconds the newer one becomes the older.
     *
     * @param int $now seconds; if the clock was set back or is another, the newer mark starts again, so that no row counts as
     *                 older than it is
     */
    private function age(int $now, int $end): int
    {
        $old = $this->database->noted('old');
        $since = $now - $this->database->noted('mark_time');
        if ($since < 0 || $since >= self::MEMORY) {
            if ($since > 0) {
                $this->database->note('old', $old = $this->database->noted('mark'));
            }
            $this->database->note('mark', $end);
            $this->database->note('mark_time', $now);
        }

        return $old;
    }

    /**
     * Keeps the write-ahead log short. Must not be called in a transaction.
     *
     * SQLite cannot shorten it while a reader reads an older state (a backup, a stopped process). Larder leaves such a
     * reader alone up to a certain length, and then ends the epoch: the new one has new files, and the old ones are deleted
     * as soon as the reader closes them.
     */
    public function keepLog(): void
    {
        $usual = 4096 * Opening::logPages($this->budget);
        $size = $this->database->logSize();
        if ($size > 2 * $usual) {
            $isOver = $size > \max(2 * $usual, \min(8 * $usual, $this->budget));
            if (!$this->cutLog($isOver ? self::PATIENCE : 0) && $isOver) {
                $this->database->counter->end();
            }
        }
    }

    /**
     * Empties the write-ahead log.
     *
     * @param int $backoff milliseconds to wait for readers
     *
     * @return bool false: a reader is in the way
     */
    private function cutLog(int $backoff): bool
    {
        return $this->database->waiting($backoff, 'PRAGMA wal_checkpoint(TRUNCATE)') === 0;
    }

    private function end(): int
    {
        return $this->database->number(SqliteStore::END);
    }

    /** @return list<array{int, int, string, int, int, int, string, string}> */
    private function after(int $position): array
    {
        $statement = $this->database->statement(self::ROWS);
        $statement->bindValue(1, $position, \PDO::PARAM_INT);
        $statement->execute();

        /** @var list<array{int, int, string, int, int, int, string, string}> */
        return $statement->fetchAll(\PDO::FETCH_NUM);
    }

    /** @return array{int, int, int} a value of the table m, stored as first:second:third */
    private function numbers(string $name): array
    {
        $noted = $this->database->rows("SELECT value FROM m WHERE name = '$name'")[0][0] ?? '';
        [$first, $second, $third] = \array_map(\intval(...), \explode(':', (\is_string($noted) ? $noted : '') . '::'));

        return [$first, $second, $third];
    }
}
