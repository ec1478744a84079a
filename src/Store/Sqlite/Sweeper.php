<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Store\Markers;
use Larder\System\Clock;

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
 * Removals and markers of flushes and tags (kinds `m` and `c`) take a part of the budget, no more: beyond it the oldest
 * go, flushes last, and the markers among them leave a floor (see Markers). Without pressure a tag's marker goes when
 * it is older than all that is stored, and what a flush covers goes a little at a time. Intents stay.
 */
final class Sweeper
{
    private const BATCH = 64;

    /** Rows looked at by one tidy(). */
    private const AT_ONCE = 128;

    /** Rows looked at by one write: a tenth of a second at the worst, when all of them were read. */
    private const AT_MOST = 20_000;

    /** Rows that one write looks at to forget them. */
    private const FORGOTTEN = 4_096;

    /** Of so many calls of tidy() after a write one sweeps. */
    public const RARELY = 8;

    /** Seconds for which removals stay known. */
    private const MEMORY = 600;

    /** Milliseconds that readers are waited for who keep the write-ahead log from being emptied. */
    private const PATIENCE = 100;

    /** The newest changes, which are known whatever the pressure. */
    private const NEWEST = 256;

    private const ROWS = 'SELECT id, pos, kind, expiry, used, body IS NOT NULL, writer, k FROM e WHERE pos > ? ORDER BY pos LIMIT ' . self::BATCH;

    private const MARKER = 'SELECT pos FROM e WHERE k = ? AND body IS NOT NULL';

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
     * @param int                    $dead    bytes of rows that are no entries, by which it has made that grow
     */
    public function tidy(array $used, bool $written, int $dead): void
    {
        $database = $this->database;
        $pages = $this->pages();
        // As long as half of the budget is free, nothing is about to be evicted, and a read need not cause a write.
        $mark = $used !== [] && $pages > $this->limit >> 1;
        $sweep = $written && \mt_rand(1, self::RARELY) === 1;
        $flushed = $written && $this->flush()[1] > 0;
        if ($mark || $sweep || $flushed || $pages > $this->limit) {
            $database->begin();
            $past = new Past($database);
            $mark && $this->mark($used);
            if ($sweep) {
                // For all who did not come to it.
                $past->weigh($dead * self::RARELY);
                $this->sweep($past);
            }
            $flushed && $this->removeCovered($past, self::AT_ONCE * 2);
            $this->makeRoom($past, self::AT_ONCE * 4);
            $past->save();
            $database->commit();
        }
        if ($sweep) {
            $free = $database->number('PRAGMA freelist_count');
            if ($free > self::AT_ONCE && $free > $pages >> 2) {
                $database->run('PRAGMA incremental_vacuum(' . self::AT_ONCE . ')');
            }
        }
        $written && $this->keepLog();
    }

    /**
     * Evicts until the budget is kept. In a transaction.
     *
     * @param int $most rows to look at; the next call goes on from there
     */
    public function makeRoom(Past $past, int $most = self::AT_MOST): void
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
        $hand = $this->known('evict');
        $end = $this->end();
        $mark = $this->known('old');
        $old = $this->old($mark, $end);
        $isOver = true;
        // The hand is somewhere: after its second turn it has been everywhere once.
        for ($turns = 0; $turns < 5 && $most > 0 && $isOver;) {
            $rows = $this->after($hand);
            foreach ($rows as $i => [$id, $position, $kind, , $used, $alive, $writer, $key]) {
                if ($i % 8 === 7 && !($isOver = $this->pages() > $goal)) {
                    break;
                }
                $hand = $position;
                // First what was not read, at last all but what has been held for less than ten minutes. Markers of
                // flushes and tags stay: they say what must not be shown.
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
            // Markers of flushes alone pass the budget. Without them older entries would be shown again: all begins anew.
            $this->database->counter->end();
        }
        $this->database->note('evict', $hand);
    }

    /**
     * Deletes what is over: expired records, removals that are old enough, the rows of leases that were given back,
     * markers of tags older than all that is stored. In a transaction.
     */
    public function sweep(Past $past): void
    {
        $now = Clock::now();
        $hand = $this->known('sweep');
        // Counted in each turn, which began at the oldest: rows that are no entries, and whether there was an entry yet.
        $dead = $this->known('turn');
        $isBelow = $this->known('first') === 0;
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
                // The first and the last row say from where positions count on.
                if ($isOver && $position <= $old && $position !== $low && $position !== $end) {
                    $isMarker && $past->cover($key, $position);
                    $past->delete($id, $position, $writer, $key, $isMarker || $alive === 0);
                } elseif ($isOver || $isMarker) {
                    $isOver && $alive === 1 && !$isMarker && $this->empty($past, $id, $key);
                    $dead += Past::weight($key);
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

    /** There was a flush: what it covers goes by and by. In a transaction. */
    public function flushed(int $position): void
    {
        [$hand, $until] = $this->flush();
        $this->database->note('flush', $until === 0 ? "0:$position:0" : "$hand:$until:$position");
    }

    /** @return array{int, int, int} where the hand is that removes what was flushed, and where it ends (0: it does not go); then it begins anew, up to the third */
    private function flush(): array
    {
        return $this->numbers('flush');
    }

    private function removeCovered(Past $past, int $most): void
    {
        [$hand, $until, $again] = $this->flush();
        $end = $this->end();
        $old = $this->old($this->known('old'), $end);
        $flushes = [];
        for (; $most > 0 && $until > 0; $most -= self::BATCH) {
            foreach ($rows = $this->after($hand) as [$id, $position, , , $used, $alive, $writer, $key]) {
                $hand = $position;
                if ($alive === 0 || $used === 2 || !$this->isCovered($key, $position, $flushes)) {
                    continue;
                }
                // A marker leaves no floor: a flush stands above it.
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

    /** @param array<string, int> $flushes the positions of markers, as far as they were asked for */
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
     * Deletes the oldest removals and markers, until these take no more than their part. Flushes last: not before it
     * has been everywhere, and then down to twice that part.
     */
    private function forget(Past $past, int $most): void
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

    private function empty(Past $past, int $id, string $key): void
    {
        $this->database->change(self::EMPTY, $id);
        $past->weigh(Past::weight($key));
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

    /** Up to here removals may be deleted: they are old enough, or there are many newer changes. */
    private function old(int $aged, int $end): int
    {
        return \max($aged, $end - \max(self::NEWEST, $this->budget >> 10));
    }

    /**
     * A position that is at least MEMORY old: two marks, of which the newer becomes the older in its time.
     *
     * @param int $now seconds; of another clock or set back, it starts the newer mark again, so that nothing is thought older than it is
     */
    private function age(int $now, int $end): int
    {
        $old = $this->known('old');
        $since = $now - $this->known('mark_time');
        if ($since < 0 || $since >= self::MEMORY) {
            if ($since > 0) {
                $this->database->note('old', $old = $this->known('mark'));
            }
            $this->database->note('mark', $end);
            $this->database->note('mark_time', $now);
        }

        return $old;
    }

    /**
     * Keeps the write-ahead log short. Not in a transaction.
     *
     * Nothing can be taken out of it as long as somebody reads what was before (a backup, a process that was stopped).
     * Such a reader is left alone, up to a length; then the epoch ends: a new one has new files, and what the reader has
     * open goes with it.
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
        $timeout = $this->database->number('PRAGMA busy_timeout');
        $this->database->run('PRAGMA busy_timeout=' . $backoff);
        $isBusy = $this->database->number('PRAGMA wal_checkpoint(TRUNCATE)') !== 0;
        $this->database->run('PRAGMA busy_timeout=' . $timeout);

        return !$isBusy;
    }

    private function end(): int
    {
        return $this->database->number('SELECT max(pos) FROM e');
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

    /** @return array{int, int, int} what is noted as first:second:third */
    private function numbers(string $name): array
    {
        $noted = $this->database->rows("SELECT value FROM m WHERE name = '$name'")[0][0] ?? '';
        [$first, $second, $third] = \array_map(\intval(...), \explode(':', (\is_string($noted) ? $noted : '') . '::'));

        return [$first, $second, $third];
    }

    private function known(string $name): int
    {
        return $this->database->number("SELECT value FROM m WHERE name = '$name'");
    }
}
