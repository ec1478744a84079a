<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Store\Journal\JournalSlice;
use Larder\Store\Outcome;
use Larder\Store\Snapshot;
use Larder\Store\Sqlite\ChangeCounter;
use Larder\Store\Store;
use Larder\Tests\Model\Machine;

/**
 * The steps of Store\Sqlite\SqliteStore (since, read), Writing::commit() and Database::mend(), in their order, around
 * the real ChangeCounter. What SQLite does in between is the model's: a transaction sees one state, and a commit is two steps,
 * the frames in the write-ahead log and the index that makes them visible.
 */
final class SqliteSteps implements Store
{
    private readonly ChangeCounter $counter;

    public function __construct()
    {
        $this->counter = new ChangeCounter('bell');
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        if ($token !== '' && $epoch !== '') {
            $size = $this->counter->size();
            if (($size & 1) === 0 && $token === $epoch . ':' . $size) {
                return new JournalSlice($epoch, $position, $token, true);
            }
        }
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
        $this->counter->lock(1.0);
        Machine::step('db.begin');
        /** @var non-empty-list<Outcome> $outcomes */
        $outcomes = Machine::step('db.change', $changes);
        foreach ($outcomes as $outcome) {
            $outcome->done && $this->counter->ring();
        }
        Machine::step('db.frames');
        Machine::step('db.visible');
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
