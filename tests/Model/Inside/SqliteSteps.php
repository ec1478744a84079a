<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Store\Appending;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\Snapshot;
use Larder\Store\Sqlite\ChangeCounter;
use Larder\Store\Sqlite\ChangeLog;
use Larder\Tests\Model\Machine;

/**
 * The steps of Store\Sqlite\SqliteStore (since, read, append), Writing::commit() and Database::mend(), in their order,
 * around the real ChangeCounter and ChangeLog. What SQLite does in between is the model's: a transaction sees one state, and a commit is two steps,
 * the frames in the write-ahead log and the index that makes them visible.
 */
final class SqliteSteps implements Appending
{
    private readonly ChangeCounter $counter;
    private readonly ChangeLog $changeLog;

    public function __construct()
    {
        $this->counter = new ChangeCounter('bell');
        $this->changeLog = new ChangeLog('tail');
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        if ($token !== '' && $epoch !== '') {
            $isEmpty = $this->changeLog->isEmpty();
            $size = $this->counter->size();
            if (($size & 1) === 0 && $isEmpty && $token === $epoch . ':' . $size) {
                return new JournalSlice($epoch, $position, $token, true);
            }
        }
        $this->changeLog->isSettled() || $this->commit([]);
        $size = $this->counter->size();
        if (($size & 1) === 1) {
            $this->mend();
            $size = $this->counter->size();
        }
        /** @var JournalSlice $changes */
        $changes = Machine::step('db.since', $epoch, $position);

        return new JournalSlice($changes->epoch, $changes->end, "$changes->epoch:$size", $changes->complete, $changes->list);
    }

    public function read(array $keys): Snapshot
    {
        /** @var Snapshot */
        return Machine::step('db.read', $keys);
    }

    public function write(array $changes): array
    {
        /** @var non-empty-list<ChangeResult> */
        return $this->commit($changes);
    }

    public function appends(): bool
    {
        return true;
    }

    public function append(Change $change): bool
    {
        return $this->changeLog->append($change);
    }

    public function position(string $key, string $epoch): ?int
    {
        return null;
    }

    public function settle(string $writer, array &$bounded = []): array
    {
        return [];
    }

    /**
     * @param list<Change> $changes
     *
     * @return list<ChangeResult>
     */
    private function commit(array $changes): array
    {
        $this->counter->lock(1.0);
        Machine::step('db.begin');
        $mark = null;
        if (!$this->changeLog->isSettled()) {
            $known = Machine::step('db.mark');
            $waiting = $this->changeLog->read(\is_string($known) ? $known : '');
            if ($waiting === null) {
                Machine::step('violation', 'a log that nobody has damaged is given up');

                return [];
            }
            [$late, $mark] = $waiting;
            if ($late !== []) {
                $this->counter->ring();
                Machine::step('db.land', $late, $mark);
            }
        }
        /** @var list<ChangeResult> $outcomes */
        $outcomes = Machine::step('db.change', $changes);
        foreach ($outcomes as $outcome) {
            $outcome->done && $this->counter->ring();
        }
        Machine::step('db.frames');
        Machine::step('db.visible');
        $mark === null || $this->changeLog->clear($mark);
        $this->counter->unlock();

        return $outcomes;
    }

    private function mend(): void
    {
        if ($this->counter->tryLock()) {
            if ($this->counter->isLeftOdd()) {
                Machine::step('db.begin');
                Machine::step('db.frames');
                Machine::step('db.visible');
            }
            $this->counter->unlock();
        }
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
