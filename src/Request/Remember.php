<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Snapshot;
use Larder\System\Clock;
use Larder\System\Coroutine;
use Larder\System\Fork;
use Larder\System\Signals;

/**
 * remember(): one process computes a key for all processes that miss it.
 *
 * The computing process writes the value and releases the lease in one step, as soon as it has the value. The others
 * poll for both in one read, with growing pauses of at most MAXIMUM_PAUSE. A process that computes one key and waits for
 * another says so in its lease. If waiting would close a circle, it computes the second key itself.
 *
 * Fibers of one process wait for one another in the same way if Revolt's event loop runs them, which goes on meanwhile. What
 * only another fiber's resume() would bring on is not waited for: the second fiber computes the key itself.
 */
final class Remember
{
    private const MINIMUM_PAUSE = 500;
    private const MAXIMUM_PAUSE = 15000;

    /** @param int $lease milliseconds */
    public function __construct(
        private readonly View $view,
        private readonly Reader $reader,
        private readonly Truth $truth,
        private readonly Leases $leases,
        private readonly int $lease,
    ) {}

    /**
     * @param \Closure(bool): array{\Closure(): mixed, \Closure(mixed): ?Entry, \Closure(Verdict): void, Request} $begin called where the key is computed, with whether an old value is there. Gives what
     *                                                                           computes the value, and what makes an entry of
     *                                                                           it: null is not stored; throws Codec\NotStorable;
     *                                                                           and what is told what became of that; and whose
     *                                                                           fills store it: one that finds all has none.
     *                                                                           The first lets signals in while it does
     * @param int                                                           $own   position at which this request changed the key: older near copies do not count
     */
    public function value(string $name, string $key, Space $space, RequestTier $copies, \Closure $begin, int $own): mixed
    {
        // A signal handler may run, and throw, while this process computes or waits, but not between taking a lease and
        // noting it.
        $held = Signals::hold();
        $view = $this->view;
        $lease = Space::lease($name);
        $changes = $view->changes;
        $snapshot = null;
        $entry = $view->near === null ? null : $this->reader->near($name, $space, $own);
        $value = $entry === null
            ? $this->reader->value($key, $name, $space, $copies, $found, $lease, $snapshot)
            : $copies->put($key, $entry, $found);
        $changes === $view->changes || $copies->drop($key);
        if ($found) {
            if (!$copies->renews($key)) {
                return $value;
            }
            // The soft expiry has passed: one process renews the value, the others get the old one at once. The copy
            // is dropped so that the next call asks again.
            $copies->drop($key);
            if ($this->leases->holds($name) || $this->leases->take($name, $this->lease) !== true) {
                return $value;
            }

            return $this->compute($name, $key, $space, $copies, $begin, true);
        }
        if ($this->leases->holds($name)) {
            // This process holds the lease: it asks from within its own computation, or was chosen to renew the value.
            return $this->compute($name, $key, $space, $copies, $begin, false);
        }

        if ($snapshot !== null && ($view->isHeld($name) || $this->reader->isUnsure($name, $snapshot->records[$name] ?? null, $space, false))) {
            // While an intent stands nothing is served that others store, so it is no use to wait for them.
            return $this->compute($name, $key, $space, $copies, $begin, false);
        }

        // A flush marker that is newer than what was read, as one just made anew, would stop the value from being stored.
        if ($snapshot !== null && !isset($snapshot->records[$lease]) && $view->floor($space) <= $snapshot->at
            && $this->leases->takeUnchanged($name, $this->lease, $snapshot->at)) {
            return $this->compute($name, $key, $space, $copies, $begin, true, $snapshot);
        }
        $taken = isset($snapshot->records[$lease]) && $this->leases->stands($snapshot->records[$lease]) ? false : null;

        return $this->await($name, $key, $space, $copies, $begin, $taken);
    }

    /**
     * @param \Closure(bool): array{\Closure(): mixed, \Closure(mixed): ?Entry, \Closure(Verdict): void, Request} $begin
     * @param ?bool                                                         $taken false: another process holds the lease
     */
    private function await(string $name, string $key, Space $space, RequestTier $copies, \Closure $begin, ?bool $taken): mixed
    {
        $view = $this->view;
        $lease = Space::lease($name);
        $begun = (int) \hrtime(true);
        $end = $begun + $this->lease * 1000000;
        $pause = self::MINIMUM_PAUSE;
        $told = false;
        try {
            do {
                $taken ??= $this->leases->take($name, $this->lease);
                if ($taken !== false) {
                    break;
                }
                if ($this->leases->holdsAny()) {
                    if (!$told) {
                        $told = true;
                        $this->leases->waitFor($name, $this->lease);
                    }
                    if ($this->leases->wouldDeadlock($name)) {
                        $taken = null;
                        break;
                    }
                }
                do {
                    $this->pause($name, $pause + \random_int(0, $pause >> 2));
                    $pause = \min(self::MAXIMUM_PAUSE, $pause * 2);
                    if ($pause === self::MAXIMUM_PAUSE) {
                        // The holder may have failed to release its lease: then the release is a pending invalidation.
                        $this->truth->catchUp();
                    }
                    $changes = $view->changes;
                    $snapshot = $this->reader->read([$name, $lease], $space);
                    $record = $snapshot?->records[$name] ?? null;
                    $entry = $snapshot === null || $record === null ? null : $this->reader->valid($name, $record, $snapshot, $space);
                    if ($snapshot !== null && $record !== null && $entry !== null && !$entry->outlived($this->truth->now())) {
                        $value = $this->keep($copies, $key, $entry, $changes, $found);
                        if ($found) {
                            $view->history->hit($name, $record->position, $entry->sure !== 0);

                            return $value;
                        }
                    }
                } while (isset($snapshot->records[$lease]) && $this->leases->stands($snapshot->records[$lease]) && \hrtime(true) < $end);
                $taken = null;
            } while (\hrtime(true) < $end);
        } finally {
            if ($told) {
                $this->leases->waitFor('', $this->lease);
            }
            $pause === self::MINIMUM_PAUSE || $view->observer?->waited((int) \hrtime(true) - $begun);
        }

        return $this->compute($name, $key, $space, $copies, $begin, $this->leases->holds($name));
    }

    /** Lets an event loop go on if it runs this, or what computes the key. */
    private function pause(string $name, int $microseconds): void
    {
        $goesOn = Coroutine::isInLoop() || Leases::goesOn($name);
        Signals::letIn(static fn() => $goesOn ? Coroutine::pause($microseconds) : Clock::pause($microseconds));
    }

    /**
     * @param \Closure(bool): array{\Closure(): mixed, \Closure(mixed): ?Entry, \Closure(Verdict): void, Request} $begin
     * @param bool                                                          $release this call took the lease, and releases it together with the value
     * @param ?Snapshot                                                     $missed  a read that missed the key, if the key was not changed between it and the lease
     */
    private function compute(string $name, string $key, Space $space, RequestTier $copies, \Closure $begin, bool $release, ?Snapshot $missed = null): mixed
    {
        $view = $this->view;
        $changes = $view->changes;
        $snapshot = $missed ?? $this->reader->read([$name], $space);
        $renews = false;
        if ($snapshot !== null) {
            $record = $snapshot->records[$name] ?? null;
            $entry = $release && $missed === null && $record !== null ? $this->reader->valid($name, $record, $snapshot, $space) : null;
            $renews = $entry !== null && !$entry->outlived($this->truth->now());
            if ($record !== null && $entry !== null && $renews && !$entry->stale($this->truth->now())) {
                // Another process stored it between the last read and the lease.
                $value = $this->keep($copies, $key, $entry, $changes, $found);
                if ($found) {
                    $view->history->hit($name, $record->position, $entry->sure !== 0);
                    $this->leases->giveBack($name);

                    return $value;
                }
            }
            // The value is computed from what the database shows now, so it is judged from this position, not from an
            // earlier read's.
            $reference = $view->history->anew($name, $snapshot->at);
        } else {
            [, $reference] = $view->history->reference($name);
        }
        $process = Fork::pid();
        $release && $this->leases->computes($name);
        $open = $view->transactions->count;
        $moment = $view->history->watch();
        [$compute, $wrap, $tell, $request] = $begin($renews);
        $entry = null;
        try {
            $value = $compute();
            $entry = $wrap($value);
        } finally {
            // Nothing is to be stored, an exception, or the end of a fiber that is not resumed. Handlers wait again, so none of theirs ends this early.
            if ($entry === null && $release && Fork::pid() === $process) {
                $this->leases->giveBack($name);
            }
        }
        if ($entry === null || Fork::pid() !== $process) {
            // A child that was forked in the computation: its parent holds the lease, and stores its own value.
            $tell(Verdict::Kept);

            return $value;
        }
        if (\max($open, $view->transactions->count) > 0 && !$space->cacheOnly) {
            // Meanwhile a database transaction was open: the value may come from rows that are never committed.
            $release && $this->leases->giveBack($name);
            $tell(Verdict::Held);

            return $value;
        }
        $fills = $request->fills(false);
        $calls = $view->calls;
        $verdict = $fills->fillNow($name, $space, $entry, $release ? $this->leases->release($name) : null, $reference, $moment);
        $tell($verdict);
        if ($calls !== $view->calls) {
            // A destructor has used the cache meanwhile: the store may have another value.
            $request->gone($name, $space);
        } elseif ($verdict === Verdict::Store || ($this->truth->down() && !$view->history->hasChanged($name, $space, $entry, $moment))) {
            $copies->keepValue($key, $value, $entry);
        }

        return $value;
    }

    /** The entry's value. Keeps it as a copy, unless a destructor or signal handler has changed anything since the read. */
    private function keep(RequestTier $copies, string $key, Entry $entry, int $changes, mixed &$found): mixed
    {
        $value = $copies->put($key, $entry, $found);
        if ($changes !== $this->view->changes) {
            $copies->drop($key);
        }

        return $value;
    }
}
