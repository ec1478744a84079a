<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Appending;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\Markers;
use Larder\Store\ReadsOne;
use Larder\Store\Record;
use Larder\Store\Snapshot;
use Larder\Store\Store;
use Larder\Store\StoreBusy;
use Larder\Store\Watch;
use Larder\System\CircuitBreaker;
use Larder\System\Failure;
use Larder\System\FailureLog;
use Larder\System\StaticCopies;

/**
 * The truth tier, failing open: where the store fails, a call returns null and the application goes on.
 *
 * After a failure this class does not call the store for a while, so a request waits for a failed store once and not at
 * every call. It keeps invalidations that the store could not record (see PendingInvalidations). The first process that
 * reaches the store again applies them before it reads.
 *
 * A call made inside another call of the store may find every connection in use (see ReentrantStore). That is no failure
 * of the store: this class makes such an invalidation as soon as the outer call has ended.
 */
final class Truth
{
    /** Milliseconds after which the store's clock is asked again. */
    private const COMPARED = 500;

    public int $hits = 0;
    public int $misses = 0;
    public int $writes = 0;
    public int $errors = 0;
    /** Calls of the store: round trips, where it is a server. */
    public int $calls = 0;
    /** Nanoseconds spent in the store. */
    public int $time = 0;

    /** Starts as if an outage had just ended, so that pending invalidations are applied before anything else. */
    private readonly CircuitBreaker $breaker;

    /** Milliseconds by which the store's clock was ahead of hrtime() when it was last read. */
    public int $ahead = 0;

    /** hrtime() in milliseconds until which $ahead is used without asking again. */
    public int $compared = 0;

    /** @var list<string> keys and markers that calls inside other calls could not invalidate yet */
    private array $deferred = [];

    public function __construct(
        public readonly Store $store,
        private readonly string $name,
        private readonly PendingInvalidations $pending,
        private readonly FailureLog $failureLog,
        /** Names the request that opened it. */
        public readonly string $writer,
        /** The directory of the purge counters, if there may be any. */
        private readonly ?string $purges = null,
        /** The file that names the mirrors, if there may be any. */
        private readonly ?string $mirrors = null,
        private readonly ?Watch $watch = null,
    ) {
        $this->breaker = new CircuitBreaker();
        $this->breaker->until = 1;
    }

    /** The same store for another request, under a name of its own. */
    public function apart(): self
    {
        return new self($this->store, $this->name, $this->pending, $this->failureLog, \bin2hex(\random_bytes(6)), $this->purges, $this->mirrors, $this->watch);
    }

    public function down(): bool
    {
        return $this->breaker->isOpen();
    }

    /** Lets the next call try the store again, and not only when its rest is over. */
    public function retry(): void
    {
        $this->breaker->until === 0 || $this->breaker->until = 1;
    }

    /**
     * Milliseconds by the clock of the store, which all its users share: see Store::now(). While the store cannot be asked,
     * this is computed from its last answer.
     */
    public function now(): int
    {
        $uptime = \intdiv(\hrtime(true), 1_000_000);
        if ($uptime < $this->compared) {
            return $uptime + $this->ahead;
        }
        if ($this->breaker->until === 0 || !$this->down()) {
            try {
                $now = $this->store->now();
                $this->ahead = $now - $uptime;
                $this->compared = $uptime + self::COMPARED;

                return $now;
            } catch (Failure $failure) {
                $this->failed($failure);
            } finally {
                $this->deferred === [] || $this->writeDeferred();
            }
        }

        return $this->compared === 0 ? (int) (\microtime(true) * 1000) : $uptime + $this->ahead;
    }

    /** Whether since() would answer that nothing has changed. Costs a few stats and makes no call; false: ask since(). */
    public function isUnchanged(string $epoch, string $token): bool
    {
        return $token !== '' && $this->watch !== null && $this->reachable() && $this->watch->isUnchanged($epoch, $token);
    }

    public function since(string $epoch, int $position, string $token): ?JournalSlice
    {
        if (!$this->reachable()) {
            return null;
        }
        $this->calls++;
        $start = \hrtime(true);
        try {
            return $this->store->since($epoch, $position, $token);
        } catch (Failure $failure) {
            return $this->failed($failure);
        } finally {
            $this->time += \hrtime(true) - $start;
            $this->deferred === [] || $this->writeDeferred();
        }
    }

    /**
     * As since(), for a reader that keeps its place as a text.
     *
     * @return ?array{mark: string, names: ?list<string>}
     */
    public function changes(string $mark): ?array
    {
        [$position, $epoch, $token] = \explode(' ', $mark, 3) + ['', '', ''];
        $slice = $this->since($epoch, (int) $position, $token);

        return $slice === null ? null : ['mark' => "$slice->end $slice->epoch $slice->token", 'names' => $slice->complete ? \array_column($slice->list, 0) : null];
    }

    /** @param non-empty-list<string> $keys */
    public function read(array $keys): ?Snapshot
    {
        if ($this->breaker->until !== 0 && !$this->reachable()) {
            return null;
        }
        $this->calls++;
        $start = \hrtime(true);
        try {
            return $this->store->read($keys);
        } catch (Failure $failure) {
            return $this->failed($failure);
        } finally {
            $this->time += \hrtime(true) - $start;
            $this->deferred === [] || $this->writeDeferred();
        }
    }

    /** @return array{?string, int, string}|Snapshot|null see ReadsOne::readOne(), for stores of both kinds */
    public function readOne(string $key): array|Snapshot|null
    {
        if ($this->breaker->until !== 0 && !$this->reachable()) {
            return null;
        }
        $this->calls++;
        $start = \hrtime(true);
        try {
            return $this->store instanceof ReadsOne ? $this->store->readOne($key) : $this->store->read([$key]);
        } catch (Failure $failure) {
            return $this->failed($failure);
        } finally {
            $this->time += \hrtime(true) - $start;
            $this->deferred === [] || $this->writeDeferred();
        }
    }

    /**
     * @param non-empty-list<Change> $changes
     * @param list<string>           $invalidated keys or flush markers; if the write fails, they are kept as pending invalidations
     *
     * @return ?non-empty-list<ChangeResult>
     */
    public function write(array $changes, array $invalidated = []): ?array
    {
        $start = \hrtime(true);
        if ($this->breaker->until !== 0 && !$this->reachable()) {
            $this->keep($invalidated, $start);

            return null;
        }
        $this->calls++;
        try {
            $this->writes += \count($changes);
            $outcomes = $this->put($changes);
            foreach ($outcomes as $outcome) {
                if ($outcome->kind === ChangeResult::REFUSED && !$outcome->done) {
                    $this->failureLog->report($this->name, $this->name . ' did not store a value: it has no room, or the value is too large for it;'
                        . ' give it more memory (Redis: maxmemory and maxmemory-policy; Memcached: -m and -I), or a larger budget');
                    break;
                }
            }

            return $outcomes;
        } catch (StoreBusy) {
            $this->deferred = [...$this->deferred, ...$invalidated];

            return null;
        } catch (Failure $failure) {
            $this->keep($invalidated, $start);

            return $this->failed($failure);
        } finally {
            $this->time += \hrtime(true) - $start;
            $this->deferred === [] || $this->writeDeferred();
        }
    }

    /** Whether the store may take changes that it will judge later: see Appending. */
    public function appends(): bool
    {
        return $this->store instanceof Appending && $this->store->appends();
    }

    /** Whether the store took a change that it will judge later. */
    public function append(Change $change): bool
    {
        if (!$this->store instanceof Appending || $this->breaker->until !== 0) {
            return false;
        }
        $this->calls++;
        $start = \hrtime(true);
        try {
            return $this->store->append($change);
        } catch (Failure) {
            // The write that follows reports the failure.
            return false;
        } finally {
            $this->time += \hrtime(true) - $start;
            $this->deferred === [] || $this->writeDeferred();
        }
    }

    /**
     * @param array<string, true> $bounded
     *
     * @return array<string, int> see Appending::settle()
     */
    public function settle(string $writer, array &$bounded = []): array
    {
        if (!$this->store instanceof Appending || ($this->breaker->until !== 0 && !$this->reachable())) {
            return [];
        }
        $start = \hrtime(true);
        try {
            return $this->store->settle($writer, $bounded);
        } catch (Failure $failure) {
            $this->failed($failure);

            return [];
        } finally {
            $this->time += \hrtime(true) - $start;
            $this->deferred === [] || $this->writeDeferred();
        }
    }

    /** See Appending::position(). */
    public function position(string $key, string $epoch): ?int
    {
        if (!$this->store instanceof Appending || $this->breaker->until !== 0) {
            return null;
        }
        $this->calls++;
        $start = \hrtime(true);
        try {
            return $this->store->position($key, $epoch);
        } catch (Failure) {
            // The read that follows reports the failure.
            return null;
        } finally {
            $this->time += \hrtime(true) - $start;
            $this->deferred === [] || $this->writeDeferred();
        }
    }

    /** Housekeeping at the end of a request that used the store. */
    public function tidy(): void
    {
        if ($this->time !== 0 && $this->breaker->until === 0) {
            $this->store->tidy();
            $this->deferred === [] || $this->writeDeferred();
        }
    }

    /** @return iterable<string, Record> */
    public function each(): iterable
    {
        try {
            yield from $this->store->each();
        } catch (Failure $failure) {
            $this->failed($failure);
        }
    }

    /** @return array{engine: string, entries: int, bytes: int, budget: int} */
    public function stats(): array
    {
        if ($this->reachable()) {
            try {
                return $this->store->stats();
            } catch (Failure $failure) {
                $this->failed($failure);
            }
        }

        return ['engine' => $this->name, 'entries' => 0, 'bytes' => 0, 'budget' => 0];
    }

    /** Applies the invalidations that other processes kept during an outage. */
    public function catchUp(): void
    {
        $this->reachable();
    }

    /**
     * Whether the store may be called: it works, or it is time to try it again, and no pending invalidation is left to apply
     * first. Looks for those when a request begins, each time its view is renewed, before a swap, and after a failure.
     */
    private function reachable(): bool
    {
        if ($this->breaker->isOpen()) {
            return false;
        }
        if (!$this->pending->pending()) {
            $this->breaker->close();

            return true;
        }
        try {
            // Under a new writer's name: another request may have kept them, and a request's own changes would not count
            // against the fills that it has still to write.
            $writer = \bin2hex(\random_bytes(6));
            $applied = $this->pending->apply(fn(array $keys) => $this->invalidate($keys, $writer));
            if ($applied) {
                $this->breaker->close();
            } else {
                $this->failed(Failure::because($this->name, 'invalidations kept during the outage could not be applied yet'));
            }

            return $applied;
        } catch (Failure $failure) {
            $this->failed($failure);

            return false;
        } finally {
            $this->deferred === [] || $this->writeDeferred();
        }
    }

    /**
     * @param non-empty-list<string> $keys
     *
     * @throws Failure
     */
    private function invalidate(array $keys, string $writer): void
    {
        $this->put(\array_map(
            static fn(string $key): Change => match ($key[0]) {
                'e' => new Change($key, null, $writer, kind: Entry::DELETED, strict: true),
                // A lease that could not be released.
                'l' => new Change($key, null, $writer, logged: false, kind: Entry::DELETED, strict: true),
                default => new Change($key, Entry::MARKER, $writer, kind: Entry::MARKER, strict: true),
            },
            $keys,
        ));
    }

    /**
     * Every write that may move a marker passes here: beside it the purge counters move, and after a flush the mirrors empty.
     *
     * @param non-empty-list<Change> $changes
     *
     * @return non-empty-list<ChangeResult>
     *
     * @throws Failure
     */
    private function put(array $changes): array
    {
        $markers = [];
        foreach ($changes as $change) {
            if (Markers::is($change->key)) {
                $markers[] = $change->key;
            }
        }
        if ($markers === []) {
            return $this->store->write($changes);
        }
        $purges = $this->purges();
        $begun = $purges?->begin($markers) ?? [];
        $isDone = false;
        try {
            $outcomes = $this->store->write($changes);
            $isDone = true;

            return $outcomes;
        } finally {
            $purges?->end($markers, $begun, $isDone);
            $this->emptyMirrors($markers);
        }
    }

    /** @param list<string> $markers */
    private function emptyMirrors(array $markers): void
    {
        $flushes = \array_values(\array_filter($markers, static fn(string $marker): bool => $marker[0] === Markers::FLUSHES));
        if ($flushes !== [] && $this->mirrors !== null) {
            StaticCopies::flushed($this->mirrors, $flushes);
        }
    }

    /**
     * After a call, makes the invalidations that calls inside it could not make. All at once: later they would drop what was
     * set since.
     */
    private function writeDeferred(): void
    {
        while ($this->deferred !== []) {
            $keys = $this->deferred;
            $this->deferred = [];
            $start = (int) \hrtime(true);
            try {
                $this->invalidate($keys, $this->writer);
            } catch (StoreBusy) {
                // This call was itself inside another call, which makes them.
                $this->deferred = [...$keys, ...$this->deferred];

                return;
            } catch (Failure $failure) {
                $this->keep($keys, $start);
                $this->failed($failure);
            }
        }
    }

    /**
     * @param list<string> $keys
     * @param int          $begun hrtime() when the call began that has failed: it has one time-out, for the store and for this
     */
    private function keep(array $keys, int $begun): void
    {
        if ($keys !== [] && !$this->pending->keep($keys, $begun)) {
            $this->failureLog->report($this->name, 'an invalidation could not be recorded, and only this process keeps it: there is no file for it in ' . $this->pending->where());
        }
        $markers = \array_values(\array_filter($keys, Markers::is(...)));
        $this->emptyMirrors($markers);
        $purges = $this->purges();
        if ($markers === [] || $purges === null) {
            return;
        }
        try {
            // After they are kept: who has copies now asks the store again, which makes these first.
            $purges->end($markers, $purges->begin($markers), false);
        } catch (Failure $failure) {
            $this->failureLog->report($this->name, $failure->getMessage());
        }
    }

    public function purges(): ?PurgeCounters
    {
        return $this->purges === null ? null : new PurgeCounters($this->purges);
    }

    private function failed(Failure $failure): null
    {
        if ($failure instanceof StoreBusy) {
            return null;
        }
        // No second wait for a time-out.
        $keys = $this->deferred;
        $this->deferred = [];
        $this->keep($keys, 0);
        $this->errors++;
        $this->breaker->trip();
        $this->failureLog->report($this->name, $failure->getMessage() . '; going on without it');

        return null;
    }
}
