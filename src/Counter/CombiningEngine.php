<?php

declare(strict_types=1);

namespace Larder\Counter;

use Larder\Driver\Sqlite\SqliteConnection;
use Larder\Segment;
use Larder\System\Fork;

/**
 * Collects additions in shared memory, and writes them into the database when a tenth of a second has passed.
 *
 * A counter has a cell there, which holds all that was ever added to it and only grows. The database knows how much of each
 * cell is in the counter's value already, and takes the rest in one transaction. So whatever process dies at whatever moment, nothing
 * is lost or counted twice; several such memories and direct additions may go beside each other.
 *
 *     sum      what the cell has collected
 *     id       the cell's number in the database
 *     base     the counter's value without the cell's sum, as of the last writing; base + sum is the value. Where it does not
 *              fit into 64 bits, the database says the value
 *     written  the moment of the last writing (nanoseconds of the machine's monotonic clock)
 */
final class CombiningEngine implements Engine
{
    /** Of the memory: for some thousands of counters. */
    public const BYTES = 4_194_304;

    /** Nanoseconds between two writings. */
    private const PAUSE = 100_000_000;

    private bool $hasAdded = false;
    private readonly int $process;

    public function __construct(private readonly Segment $segment, private readonly SqliteEngine $database, private readonly string $name)
    {
        $this->process = Fork::pid();
    }

    /** On the command line; in a web server the next request is there soon, and must not pay for this. */
    public function __destruct()
    {
        if ($this->hasAdded && \PHP_SAPI === 'cli' && $this->process === Fork::pid()) {
            try {
                $this->settle();
            } catch (CounterFailure) {
                // It stays in the memory, for the next process that can write.
            }
        }
    }

    public function add(int $by): int
    {
        if ($by === 0) {
            return $this->value();
        }
        // Before the addition: if it fails, nothing was added.
        $this->writeInTime();
        $sum = $this->collect($by);
        if ($sum === false && !\is_int($this->segment->get("sum $this->name"))) {
            $sum = $this->begin() ? $this->collect($by) : false;
        }
        if ($sum === false) {
            return $this->settle($by);
        }
        $this->hasAdded = true;
        $value = $this->total($sum);
        if ($value !== null) {
            return $value;
        }
        $this->collect(-$by);

        return $this->settle($by);
    }

    public function value(): int
    {
        $this->writeInTime();
        $sum = $this->segment->get("sum $this->name");
        try {
            return \is_int($sum) ? $this->total($sum) ?? $this->settle() : $this->database->value();
        } catch (CounterOverflow) {
            // Another process has just added too much, and is taking it back.
            return $this->database->value();
        }
    }

    public function reset(): void
    {
        $this->settle(isReset: true);
    }

    /** @return int|false false: there is no cell, or its sum would not fit, or could not be taken back */
    private function collect(int $by): int|false
    {
        if ($by === \PHP_INT_MIN) {
            return false;
        }

        // Where there is no cell, the sum with this start does not fit either, so that none is made.
        return $this->segment->increment("sum $this->name", $by, $by > 0 ? \PHP_INT_MAX : \PHP_INT_MIN);
    }

    /** Makes the cell, if there is room: this memory must never evict. */
    private function begin(): bool
    {
        if ($this->segment->stats()['bytes_used'] > self::BYTES / 2) {
            return false;
        }
        $this->database->inTransaction(0, function (SqliteConnection $connection): void {
            if (\is_int($this->segment->get("sum $this->name"))) {
                return;
            }
            // Who died right here has left the number of a cell that never had a sum.
            $id = $this->number('id') ?: \random_int(1, \PHP_INT_MAX);
            $this->database->see($connection, $id, 0);
            $this->segment->set("id $this->name", $id);
            $this->segment->set("base $this->name", $this->database->stored($connection));
            $this->segment->set("written $this->name", \hrtime(true));
        });

        // Only now, when the database knows the cell: before that, no process can add to it.
        return $this->segment->add("sum $this->name", 0) || \is_int($this->segment->get("sum $this->name"));
    }

    private function writeInTime(): void
    {
        $written = $this->segment->get("written $this->name");
        $now = \hrtime(true);
        if (\is_int($written) && $now - $written >= self::PAUSE) {
            $this->segment->set("written $this->name", $now);
            try {
                $this->settle();
            } catch (CounterOverflow) {
                // Another process has just added too much, and is taking it back: the next call writes.
            }
        }
    }

    /**
     * Writes what the cell has collected.
     *
     * @param int  $by      added as well
     * @param bool $isReset the value becomes zero, whatever was collected
     *
     * @return int the value
     */
    private function settle(int $by = 0, bool $isReset = false): int
    {
        try {
            return $this->database->inTransaction($by, function (SqliteConnection $connection) use ($by, $isReset): int {
                [$sum, $id] = [$this->segment->get("sum $this->name"), $this->number('id')];
                $sum = \is_int($sum) ? $sum : null;
                $seen = $sum === null ? null : $this->database->seen($connection, $id);
                if ($sum !== null && $seen === null) {
                    // Another database was put in its place: the cell is not of that one.
                    $this->segment->delete("sum $this->name");
                }
                $value = $isReset ? $this->database->zero($connection) : $this->database->stored($connection);
                foreach ([$isReset || $sum === null || $seen === null ? 0 : $sum - $seen, $by] as $more) {
                    $value = $more === 0 ? $value : $this->database->sum($connection, $more);
                }
                if ($sum !== null && $seen !== null) {
                    $sum === $seen || $this->database->see($connection, $id, $sum);
                    // In the transaction, so that a later one's base stays. One that does not fit is a float, and total() leaves it.
                    $this->segment->set("base $this->name", $value - $sum);
                }

                return $value;
            });
        } catch (CounterFailure $failure) {
            // The base may be that of what was rolled back: the next call settles it first.
            $this->segment->replace("written $this->name", 0);
            throw $failure;
        }
    }

    /** Null: it, or its base, does not fit. */
    private function total(int $sum): ?int
    {
        $base = $this->segment->get("base $this->name");
        if (!\is_int($base)) {
            return null;
        }
        $fits = $base > 0 ? $sum <= \PHP_INT_MAX - $base : $sum >= \PHP_INT_MIN - $base;

        return $fits ? $sum + $base : null;
    }

    private function number(string $what): int
    {
        $number = $this->segment->get("$what $this->name");

        return \is_int($number) ? $number : 0;
    }
}
