<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\Snapshot;
use Larder\Store\Sqlite\ChangeCounter;
use Larder\Store\Sqlite\ChangeLog;
use Larder\Store\Store;
use Larder\System\Failure;
use Larder\Tests\Model\Machine;

/**
 * The steps of Store\Sqlite\SqliteStore (since, read) and Writing (append, commit), in their order, around the real
 * ChangeCounter and ChangeLog. What SQLite does in between is the model's: a transaction sees one state, and a commit is two steps,
 * the frames in the write-ahead log and the index that makes them visible.
 */
final class SqliteSteps implements Store
{
    private readonly ChangeCounter $counter;
    private readonly ChangeLog $changeLog;
    private int $size = -1;
    private int $end = 0;

    /** @var list<array{Change, int}> */
    private array $waiting = [];

    /** What was read of the table since it has changed. */
    private ?Shelf $table = null;

    public function __construct()
    {
        $this->counter = new ChangeCounter('bell');
        $this->changeLog = new ChangeLog($this->counter);
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        $size = $this->counter->size();
        if (($size & 3) === 2 && $token !== '' && $token === $epoch . ':' . $size) {
            return new JournalSlice($epoch, $position, $token, true);
        }
        if (!ChangeCounter::isSettled($size)) {
            ChangeCounter::waits($size) ? $this->commit([], 1.0) : $this->tryToApply();
            $size = $this->counter->size();
        }
        /** @var JournalSlice $changes */
        $changes = Machine::step('db.since', $epoch, $position);

        return new JournalSlice($changes->epoch, $changes->end, "$changes->epoch:$size", $changes->complete, $changes->list);
    }

    public function read(array $keys): Snapshot
    {
        $size = $this->counter->size();
        if ($size === $this->size) {
            $this->waiting === [] || $this->commit([], 1.0);
        } elseif (!ChangeCounter::isSettled($size)) {
            $this->tryToApply();
        }

        /** @var Snapshot */
        return Machine::step('db.read', $keys);
    }

    public function write(array $changes): array
    {
        if (!isset($changes[1]) && $this->append($changes[0])) {
            return [new ChangeResult(true, $this->end)];
        }

        /** @var non-empty-list<ChangeResult> */
        return $this->commit($changes, 1.0);
    }

    private function append(Change $change): bool
    {
        // It judges without the lock: what it reads counts only if the size is the same when the record is written.
        if ($this->size < 0 || $change->asks || !$this->isFree($change)) {
            return false;
        }
        [$size, $this->size] = [$this->size, -1];
        $this->size = $this->changeLog->append($change, $size);
        if ($this->size < 0) {
            $this->size = $this->appendAfterOthers($change);
        }
        if ($this->size >= 0) {
            $this->waiting[] = [$change, ++$this->end];
        }

        return $this->size >= 0;
    }

    private function appendAfterOthers(Change $change): int
    {
        try {
            if (!$this->counter->lock(1.0) || $this->counter->isLeftOdd()) {
                return -1;
            }
            $this->follow();
            $this->end = $this->changeLog->position;

            return $this->isFree($change) ? $this->changeLog->append($change, $this->counter->size, true) : -1;
        } finally {
            $this->counter->unlock();
        }
    }

    private function follow(): void
    {
        $emptied = $this->changeLog->emptied;
        $read = $this->changeLog->read();
        if ($read === null) {
            Machine::step('violation', 'a log that nobody has damaged is given up');
        }
        if ($this->changeLog->emptied !== $emptied) {
            $this->table = null;
            $this->waiting = [];
        }
        $this->waiting = [...$this->waiting, ...$read[1] ?? []];
    }

    private function isFree(Change $change): bool
    {
        if ($this->table === null) {
            $table = Machine::step('db.look');
            \assert($table instanceof Shelf);
            $this->table = $table;
        }
        $shelf = clone $this->table;
        $this->waiting === [] || $shelf->land($this->waiting);

        return $shelf->write([$change])[0]->done;
    }

    private function tryToApply(): void
    {
        try {
            $this->commit([], 0.0);
        } catch (Failure) {
        }
    }

    /**
     * @param list<Change> $changes
     *
     * @return list<ChangeResult>
     */
    private function commit(array $changes, float $timeout): array
    {
        $this->counter->lock($timeout);
        Machine::step('db.begin');
        $this->table = null;
        if ($this->counter->size !== $this->size) {
            $this->follow();
        }
        if ($this->counter->hasWaiting() || $this->counter->isLeftOdd()) {
            $this->counter->ring();
            Machine::step('db.land', $this->waiting);
        }
        $this->waiting = [];
        /** @var list<ChangeResult> $outcomes */
        $outcomes = Machine::step('db.change', $changes);
        foreach ($outcomes as $outcome) {
            $outcome->done && $this->counter->ring();
        }
        $end = Machine::step('db.end');
        $this->end = \is_int($end) ? $end : 0;
        Machine::step('db.frames');
        Machine::step('db.visible');
        $this->counter->isLeftOdd() && $this->changeLog->clear($this->end, 0);
        $this->counter->unlock();
        $this->size = ChangeCounter::isSettled($this->counter->size) ? $this->counter->size : -1;

        return $outcomes;
    }

    public function now(): int
    {
        return (int) (Machine::microtime(true) * 1000);
    }

    public function forgets(): bool
    {
        return false;
    }

    public function tidy(): void {}

    public function each(): iterable
    {
        return [];
    }

    public function stats(): array
    {
        return ['engine' => 'sqlite', 'entries' => 0, 'bytes' => 0, 'budget' => 0];
    }
}
