<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\System\Failure;
use Larder\System\FailureLog;
use Larder\System\Signals;
use Larder\System\StaticCopies;

/**
 * Stands before a store: every call of it passes call(), which fails open. Null: the call was not made, or has failed.
 *
 *  - Outage. After a failure the store is left alone for a while, so that a request waits for its time-out once and not at
 *    every call. Invalidations that it could not record are kept (PendingInvalidations). The first process that reaches it
 *    again applies them before it calls anything else.
 *  - Nested calls. A destructor that the garbage collector runs, or an error handler, may use the cache at any step of an
 *    engine: between binding a key to a prepared statement and executing it, or between a command and its reply. A call
 *    inside another one is not made, which is no failure: it misses, and what it invalidates is invalidated as soon as the
 *    outer call has ended. Handlers of asynchronous signals wait until the call has ended. If another exception leaves the
 *    store in the middle of a call (a destructor threw), that object is never used again.
 *
 * The store is made with the first call. If it cannot be made (its directory cannot be created, for example), every call tries
 * again.
 */
final class OutageGuard
{
    /** Seconds for which a store that has failed is left alone. */
    private const REST = 2.0;

    /** How often what nested calls invalidate is written after one call. */
    private const ROUNDS = 3;

    public int $errors = 0;

    /** Nanoseconds spent in the store. */
    public int $time = 0;

    /**
     * hrtime() until which the store is left alone; 0: it works. Begins as if an outage had just ended, so that pending
     * invalidations are applied before anything else. For callers that may not afford a call to learn that.
     */
    public int $until = 1;

    /** @var ?\Closure(string, int): void told of each call, and its nanoseconds */
    public ?\Closure $called = null;

    /** @var ?\Closure(string, string): void told of each failure, and its message */
    public ?\Closure $hasFailed = null;

    private bool $isBusy = false;

    private bool $isSettling = false;

    /** @var array<string, array<string, true>> by writer: keys and markers that nested calls could not invalidate yet */
    private array $deferred = [];

    /**
     * @param string             $name   of the store, in log lines
     * @param ?Store             $store  null: it is not made yet
     * @param ?\Closure(): Store $make
     * @param ?string            $purges the directory of the purge counters, if there may be any
     * @param ?string            $trees  the file that names the trees of static copies, if there may be any
     */
    public function __construct(
        public readonly string $name,
        private ?Store $store,
        private readonly ?\Closure $make = null,
        private readonly ?FailureLog $failureLog = null,
        private readonly ?PendingInvalidations $pending = null,
        private readonly ?string $purges = null,
        private readonly ?string $trees = null,
    ) {}

    /**
     * Logs a line about what goes wrong with what lies in the store, though the store answers: at most one a minute from each
     * process.
     *
     * @param string $subject of which no second line is logged
     */
    public function report(string $subject, string $message): void
    {
        $this->failureLog?->report("$this->name $subject", $message);
    }

    /**
     * Makes a call.
     *
     * @template T
     *
     * @param \Closure(Store): T $call
     * @param list<string>       $invalidated keys or markers; if the call is not made or fails, they are deferred or kept
     * @param string             $writer      who invalidates them
     * @param bool               $isHeld      the caller holds signals (Signals)
     *
     * @return ?T
     */
    public function call(\Closure $call, array $invalidated = [], string $writer = '', bool $isHeld = false): mixed
    {
        if ($this->isBusy) {
            foreach ($invalidated as $key) {
                $this->deferred[$writer][$key] = true;
            }
            self::isAfterFatalError() && $this->keepDeferred();

            return null;
        }
        $this->deferred === [] || $this->isSettling || $this->writeDeferred();
        $start = (int) \hrtime(true);
        if ($this->until !== 0 && !$this->isReachable()) {
            $this->keep($invalidated, $writer, $start);

            return null;
        }
        $held = $isHeld ? null : Signals::hold();
        try {
            $this->isBusy = true;

            return $call($this->store ??= $this->made());
        } catch (Failure $failure) {
            $this->keep($invalidated, $writer, $start);
            $this->failed($failure);

            return null;
        } catch (\Throwable $thrown) {
            $this->store = null;
            // Destroy it now, with its locks and transactions: its parts refer to each other.
            \gc_collect_cycles();

            throw $thrown;
        } finally {
            $this->isBusy = false;
            $this->time += \hrtime(true) - $start;
            $this->called === null || ($this->called)($this->name, \hrtime(true) - $start);
            $this->deferred === [] || $this->isSettling || $this->writeDeferred();
        }
    }

    /**
     * Writes. Beside a write that may move a marker the purge counters move, and after a flush no static copy stays.
     *
     * @param non-empty-list<Change> $changes
     * @param list<string>           $invalidated as for call()
     *
     * @return ?non-empty-list<ChangeResult>
     */
    public function write(array $changes, array $invalidated = []): ?array
    {
        $work = isset($changes[1]) || Markers::is($changes[0]->key)
            ? fn(Store $store): array => $this->put($store, $changes)
            : static fn(Store $store): array => $store->write($changes);
        $results = $this->call($work, $invalidated, $changes[0]->writer);
        foreach ($results ?? [] as $result) {
            if ($result->kind === ChangeResult::REFUSED && !$result->done) {
                $this->failureLog?->report($this->name, $this->name . ' did not store a value: it has no room, or the value is too large for it;'
                    . ' give it more memory (Redis: maxmemory and maxmemory-policy; Memcached: -m and -I), or a larger budget');
                break;
            }
        }

        return $results;
    }

    /** @return iterable<string, Record> all records; the caller may make other calls between two of them */
    public function each(): iterable
    {
        $records = null;
        $advance = static function (Store $store) use (&$records): bool {
            if ($records === null) {
                $records = (static fn(): \Generator => yield from $store->each())();
            } else {
                $records->next();
            }

            return $records->valid();
        };
        while ($this->call($advance) === true) {
            \assert($records instanceof \Generator);
            yield $records->key() => $records->current();
        }
    }

    /** The store, for what it answers without asking a server or a file. Null: it cannot be made now. */
    public function engine(): ?Store
    {
        try {
            return $this->store ??= $this->made();
        } catch (Failure) {
            return null;
        }
    }

    /** Whether the store is left alone now. */
    public function isDown(): bool
    {
        return $this->until !== 0 && \hrtime(true) < $this->until;
    }

    /** Lets the next call try the store again, and not only when its rest is over. */
    public function retry(): void
    {
        $this->until === 0 || $this->until = 1;
    }

    /**
     * Whether the store may be called: it works, or it is time to try it again, and no pending invalidation is left to apply
     * first. For the beginning of a request, each renewal of its view, and a swap; call() asks after a failure.
     */
    public function isReachable(): bool
    {
        if ($this->isBusy || $this->isDown()) {
            return false;
        }
        if ($this->pending === null || !$this->pending->pending()) {
            $this->until = 0;

            return true;
        }
        $held = Signals::hold();
        $this->until = 0;
        $applied = null;
        try {
            // Under a new writer's name: another request may have kept them, and a request's own changes would not count
            // against the fills that it has still to write.
            $writer = \bin2hex(\random_bytes(6));
            $applied = $this->call(function (Store $store) use ($writer): bool {
                $invalidation = new Invalidation(fn(array $changes): array => $this->put($store, $changes), $writer);
                // Connecting has a time-out of its own, as where nothing is kept: a slow server that works must not fail here.
                $store->now();

                return $this->pending->apply(fn(array $kept) => $invalidation->make($kept, $store->now(...)) || throw Failure::because($this->name, 'other processes changed a key again and again'));
            });
        } finally {
            $applied === true || $this->until = \max(1, $this->until);
        }
        $applied === false && $this->failed(Failure::because($this->name, 'invalidations kept during the outage could not be applied yet'));

        return $applied === true && $this->until === 0;
    }

    /** How many invalidations are kept until the store is back. */
    public function waiting(): int
    {
        return $this->pending?->count() ?? 0;
    }

    public function purges(): ?PurgeCounters
    {
        return $this->purges === null ? null : new PurgeCounters($this->purges);
    }

    /**
     * @param non-empty-list<Change> $changes
     *
     * @return non-empty-list<ChangeResult>
     *
     * @throws Failure
     */
    private function put(Store $store, array $changes): array
    {
        $markers = [];
        foreach ($changes as $change) {
            if (Markers::is($change->key)) {
                $markers[] = $change->key;
            }
        }
        if ($markers === []) {
            return $store->write($changes);
        }
        $purges = $this->purges();
        $begun = $purges?->begin($markers) ?? [];
        $isDone = false;
        try {
            $results = $store->write($changes);
            $isDone = true;

            return $results;
        } finally {
            $purges?->end($markers, $begun, $isDone);
            $this->clearTrees($markers);
        }
    }

    /** @param list<string> $markers */
    private function clearTrees(array $markers): void
    {
        $flushes = \array_values(\array_filter($markers, static fn(string $marker): bool => $marker[0] === Markers::FLUSHES));
        if ($flushes !== [] && $this->trees !== null) {
            StaticCopies::flushed($this->trees, $flushes);
        }
    }

    /**
     * After a call, makes the invalidations of those nested in it. All at once: later they would drop what was set since. Calls
     * may be nested in this too, again and again: after some rounds the rest is left to the next call.
     */
    private function writeDeferred(): void
    {
        try {
            $this->isSettling = true;
            for ($round = 0; $this->deferred !== [] && $round < self::ROUNDS; $round++) {
                $deferred = $this->deferred;
                $this->deferred = [];
                foreach ($deferred as $writer => $keys) {
                    $writer = (string) $writer;
                    $keys = \array_fill_keys(\array_keys($keys), [$writer]);
                    $now = fn(): int => $this->call(static fn(Store $store): int => $store->now()) ?? (int) (\microtime(true) * 1000);
                    $keys === [] || (new Invalidation($this->writeOrKeep(...), $writer))->make($keys, $now);
                }
            }
        } finally {
            $this->isSettling = false;
        }
    }

    /**
     * @param non-empty-list<Change> $changes
     *
     * @return ?non-empty-list<ChangeResult>
     */
    private function writeOrKeep(array $changes): ?array
    {
        return $this->write($changes, \array_map(static fn(Change $change): string => $change->key, $changes));
    }

    /**
     * Keeps what the store could not record.
     *
     * @param list<string> $keys
     * @param string       $writer who invalidates them
     * @param int          $begun  hrtime() when the call began that has failed: it has one time-out, for the store and for this
     */
    private function keep(array $keys, string $writer, int $begun): void
    {
        if ($keys === [] || $this->pending === null) {
            return;
        }
        if (!$this->pending->keep($keys, $writer, $begun)) {
            $this->failureLog?->report($this->name, 'an invalidation could not be recorded, and only this process keeps it: there is no file for it in ' . $this->pending->where());
        }
        $markers = \array_values(\array_filter($keys, Markers::is(...)));
        $this->clearTrees($markers);
        $purges = $markers === [] ? null : $this->purges();
        try {
            // After they are kept: who has copies now asks the store again, which makes these first.
            $purges?->end($markers, $purges->begin($markers), false);
        } catch (Failure $failure) {
            $this->failureLog?->report($this->name, $failure->getMessage());
        }
    }

    /**
     * Whether a fatal error has ended the script: a limit of time or memory. The call in which it struck is over then, but its
     * `finally` did not run, and the store was left in the middle of something. What shutdown functions still do is kept for others.
     */
    private static function isAfterFatalError(): bool
    {
        return \in_array(\error_get_last()['type'] ?? 0, [\E_ERROR, \E_CORE_ERROR, \E_COMPILE_ERROR, \E_USER_ERROR], true);
    }

    private function keepDeferred(): void
    {
        foreach ($this->deferred as $writer => $keys) {
            $this->keep(\array_map(\strval(...), \array_keys($keys)), (string) $writer, (int) \hrtime(true));
        }
        $this->deferred = [];
    }

    private function failed(Failure $failure): void
    {
        $this->until = (int) \hrtime(true) + (int) (self::REST * 1e9);
        $this->errors++;
        $this->failureLog?->report($this->name, $failure->getMessage() . '; going on without it');
        $this->hasFailed === null || ($this->hasFailed)($this->name, $failure->getMessage());
    }

    /** @throws Failure */
    private function made(): Store
    {
        try {
            return $this->make === null ? throw Failure::because($this->name, 'a call of it was left in its middle') : ($this->make)();
        } catch (Failure $failure) {
            throw $failure;
        } catch (\Exception $refusal) {
            // Meanwhile another user may have made the directory as their own.
            throw Failure::because($this->name, $refusal->getMessage(), $refusal);
        }
    }
}
