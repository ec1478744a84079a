<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Store\Appending;
use Larder\Store\Change;
use Larder\Store\Changes;
use Larder\Store\Outcome;
use Larder\Store\Record;
use Larder\Store\Store;
use Larder\Store\StoreFailure;
use Larder\Store\View;

/**
 * The truth tier, failing open: every call answers null where the store could not.
 *
 * After a failure the store is left alone for a while, so that a request waits for it once and not at every call.
 * Invalidations that could not be recorded are kept (see Kept), and applied by whoever reaches the store first,
 * before it reads.
 */
final class Truth
{
    /** Seconds that a failed store is left alone. */
    private const REST = 2.0;

    public int $hits = 0;
    public int $misses = 0;
    public int $writes = 0;
    public int $errors = 0;
    /** Times the store was asked or told something: round trips, where it is a server. */
    public int $calls = 0;
    /** Nanoseconds spent in the store. */
    public int $time = 0;

    /** hrtime() before which the store is not asked; 0: it works; long over at first, so that what was kept is applied before anything. */
    private int $rest = 1;

    public function __construct(
        public readonly Store $store,
        private readonly string $name,
        private readonly Kept $kept,
        private readonly Alarm $alarm,
        /** Names the request that opened it. */
        public readonly string $writer,
    ) {}

    public function down(): bool
    {
        return $this->rest !== 0 && \hrtime(true) < $this->rest;
    }

    public function since(string $epoch, int $position, string $token): ?Changes
    {
        if (!$this->reachable()) {
            return null;
        }
        $this->calls++;
        $start = \hrtime(true);
        try {
            return $this->store->since($epoch, $position, $token);
        } catch (StoreFailure $failure) {
            return $this->failed($failure);
        } finally {
            $this->time += \hrtime(true) - $start;
        }
    }

    /** @param non-empty-list<string> $keys */
    public function read(array $keys): ?View
    {
        if ($this->rest !== 0 && !$this->reachable()) {
            return null;
        }
        $this->calls++;
        $start = \hrtime(true);
        try {
            return $this->store->read($keys);
        } catch (StoreFailure $failure) {
            return $this->failed($failure);
        } finally {
            $this->time += \hrtime(true) - $start;
        }
    }

    /**
     * @param non-empty-list<Change> $changes
     * @param list<string>           $invalidated keys (or flush markers) that others must not go on reading should this fail
     *
     * @return ?non-empty-list<Outcome>
     */
    public function write(array $changes, array $invalidated = []): ?array
    {
        if ($this->rest !== 0 && !$this->reachable()) {
            $this->keep($invalidated);

            return null;
        }
        $this->calls++;
        $start = \hrtime(true);
        try {
            $this->writes += \count($changes);

            return $this->store->write($changes);
        } catch (StoreFailure $failure) {
            $this->keep($invalidated);

            return $this->failed($failure);
        } finally {
            $this->time += \hrtime(true) - $start;
        }
    }

    /** Whether the store may take changes that it will judge later: see Appending. */
    public function appends(): bool
    {
        return $this->store instanceof Appending;
    }

    /** Whether the store took a change that it will judge later. */
    public function append(Change $change): bool
    {
        if (!$this->store instanceof Appending || $this->rest !== 0) {
            return false;
        }
        $this->calls++;
        $start = \hrtime(true);
        try {
            return $this->store->append($change);
        } catch (StoreFailure) {
            // Writing it says why.
            return false;
        } finally {
            $this->time += \hrtime(true) - $start;
        }
    }

    /** @return array<string, Outcome> see Appending::settle() */
    public function settle(): array
    {
        if (!$this->store instanceof Appending || ($this->rest !== 0 && !$this->reachable())) {
            return [];
        }
        $start = \hrtime(true);
        try {
            return $this->store->settle();
        } catch (StoreFailure $failure) {
            $this->failed($failure);

            return [];
        } finally {
            $this->time += \hrtime(true) - $start;
        }
    }

    /** Housekeeping at the end of a request that used the store. */
    public function tidy(): void
    {
        if ($this->time !== 0 && $this->rest === 0) {
            $this->store->tidy();
        }
    }

    /** @return iterable<string, Record> */
    public function each(): iterable
    {
        try {
            yield from $this->store->each();
        } catch (StoreFailure $failure) {
            $this->failed($failure);
        }
    }

    /** @return array{engine: string, entries: int, bytes: int, budget: int} */
    public function stats(): array
    {
        if ($this->reachable()) {
            try {
                return $this->store->stats();
            } catch (StoreFailure $failure) {
                $this->failed($failure);
            }
        }

        return ['engine' => $this->name, 'entries' => 0, 'bytes' => 0, 'budget' => 0];
    }

    /**
     * Working, or to be tried again; and nothing is left to be applied first (asked when a request begins, each
     * time its view is renewed, and after a failure).
     */
    private function reachable(): bool
    {
        if ($this->rest !== 0 && \hrtime(true) < $this->rest) {
            return false;
        }
        if (!$this->kept->pending()) {
            $this->rest = 0;

            return true;
        }
        try {
            $applied = $this->kept->apply(function (array $keys): void {
                $this->store->write(\array_map(
                    fn(string $key): Change => $key[0] === 'e'
                        ? new Change($key, null, $this->writer, strict: true, kind: Entry::DELETED)
                        : new Change($key, Entry::MARKER, $this->writer, strict: true, kind: Entry::MARKER),
                    $keys,
                ));
            });
            if ($applied) {
                $this->rest = 0;
            } else {
                $this->failed(StoreFailure::because($this->name, 'invalidations kept while it was away could not be applied yet'));
            }

            return $applied;
        } catch (StoreFailure $failure) {
            $this->failed($failure);

            return false;
        }
    }

    /** @param list<string> $keys */
    private function keep(array $keys): void
    {
        if ($keys !== [] && !$this->kept->keep($keys)) {
            $this->alarm->ring($this->name, 'an invalidation could not be recorded, and is kept by this process only: no file for it in ' . $this->kept->where());
        }
    }

    private function failed(StoreFailure $failure): null
    {
        $this->errors++;
        $this->rest = \hrtime(true) + (int) (self::REST * 1e9);
        $this->alarm->ring($this->name, $failure->getMessage() . '; going on without it');

        return null;
    }
}
