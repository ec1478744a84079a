<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Change;
use Larder\Store\ChangeResult;

/** Stores values that were just computed: at the end of the request, or at once together with the release of their lease. */
final class Fills
{
    /** Fills, and their bytes, that may wait for the end of the request. */
    private const PENDING = 1000;
    private const PENDING_BYTES = 8_388_608;

    /** Of the payloads that wait. */
    private int $bytes = 0;

    public function __construct(
        private readonly Writes $writes,
        private readonly View $view,
        private readonly Reader $reader,
        private readonly Truth $truth,
        private readonly Deletes $deletes,
    ) {}

    /**
     * Keeps a value just computed until commit().
     *
     * @param array{int, int, int} $beginning see History::beginning()
     *
     * @return bool false: the key was changed meanwhile
     */
    public function fill(string $key, Space $space, Entry $entry, array $beginning): bool
    {
        unset($this->writes->pending[$key]);
        $this->view->renew();
        $history = $this->view->history;
        $epoch = $history->epoch;
        [$how, $reference] = $history->reference($key);
        [, $position, $moment] = $beginning;
        if ($position < $reference) {
            $reference = $position;
        }
        if ($this->truth->down() || (!$space->cacheOnly && $this->view->transactions->count > 0) || !$this->unchanged($key, $space, $entry, $reference, $moment)) {
            $this->writes->refused++;
            $this->view->observer?->refused($key, $space, !$this->truth->down() && ($space->cacheOnly || $this->view->transactions->count === 0));

            return false;
        }
        $this->writes->pending[$key] = [$space, $entry, $reference, $moment];
        // Others may read the value from the near tier at once if this request missed the key, has not changed it since, and
        // saw no intent on it. As was just learned, the key was not changed up to `seen`.
        if ($how === History::MISSED && !$this->view->isHeld($key)
            && !isset($this->view->copies($space)->own[\substr($key, \strlen($space->entries))])) {
            $at = \max($reference, $history->seen);
            $this->view->copyNear([[$key, $entry, $at, $at]], $epoch);
        }
        $this->bytes += \strlen($entry->payload);
        if (\count($this->writes->pending) > self::PENDING || $this->bytes > self::PENDING_BYTES) {
            $this->commit();
        }

        return true;
    }

    /**
     * Commits a value just computed at once, together with the release of its lease.
     *
     * @param int $reference position at which the computation began
     * @param int $moment    the same by History::watch()
     */
    public function fillNow(string $key, Space $space, Entry $entry, ?Change $release, int $reference, int $moment): Verdict
    {
        unset($this->writes->pending[$key]);

        return $this->commitFills([$key => [$space, $entry, $reference, $moment]], $release === null ? [] : [$release]);
    }

    /**
     * Writes the waiting fills in one transaction or round trip.
     *
     * @param list<Change> $also written in the same one, after the values (released leases)
     * @param ?string      $key  only this key's
     *
     * @return Verdict on all of them: the worst
     */
    public function commit(array $also = [], ?string $key = null): Verdict
    {
        $pending = $key === null ? $this->writes->pending : [$key => $this->writes->pending[$key]];
        $this->writes->pending = \array_diff_key($this->writes->pending, $pending);
        if ($this->writes->pending === []) {
            $this->bytes = 0;
        }

        return $this->commitFills($pending, $also);
    }

    /**
     * @param array<string, array{Space, Entry, int, int}> $fills as $pending
     * @param list<Change>                                 $also
     *
     * @return Verdict on all of them: the worst
     */
    private function commitFills(array $fills, array $also): Verdict
    {
        $verdict = Verdict::Store;
        $changes = $keys = [];
        $history = $this->view->history;
        $now = $history->moment;
        foreach ($fills as $key => [$space, $entry, $reference, $moment]) {
            // Note the epoch before the positions: asking for a marker, or a destructor that uses the cache, may reveal
            // another one.
            $epoch = $history->epoch;
            $this->view->precede($space, $entry);
            if (!$this->unchanged($key, $space, $entry, $reference, $moment)) {
                $verdict = Verdict::worst($verdict, $this->truth->down() ? Verdict::Failed : Verdict::Drop);
                $this->notFilled($key, $space, true);
                continue;
            }
            $changes[] = new Change(
                $key,
                $this->reader->signer->seal($key, $entry),
                $this->view->writer,
                $history->limit($key, $reference),
                $entry->expiry,
                $this->view->guards($space, $entry, $reference),
                epoch: $epoch,
            );
            $keys[] = $key;
        }
        $all = [...$changes, ...$also];
        $kept = \array_merge([], ...\array_map(Leases::kept(...), $also));
        $outcomes = $all === [] ? [] : $this->truth->write($all, $kept) ?? [];
        // A destructor may have changed some of them since they were looked at, before or after the write, which is not known.
        $isSame = $now === $history->moment;
        $stored = [];
        foreach ($keys as $i => $key) {
            [$space, $entry, , $moment] = $fills[$key];
            $outcome = $outcomes[$i] ?? null;
            if ($outcome === null || !$outcome->done) {
                $verdict = Verdict::worst($verdict, match ($outcome?->kind) {
                    null => Verdict::Failed,
                    ChangeResult::REFUSED => Verdict::Refused,
                    default => Verdict::Drop,
                });
                $this->notFilled($key, $space, $outcome !== null);
                continue;
            }
            $this->writes->stored($key, $space, $entry, $outcome, $changes[$i]->epoch);
            if (!$isSame && $history->hasChanged($key, $space, $entry, $moment)) {
                $this->deletes->one($key, $space);
                $this->writes->refused++;
                $verdict = Verdict::worst($verdict, Verdict::Drop);
                $this->view->observer?->refused($key, $space, true);
            } else {
                $stored[] = $key;
                $this->view->observer?->wrote($key, $space, Verdict::Store);
            }
        }
        foreach ($history->isShared ? $stored : [] as $key) {
            $history->change($key);
        }

        return $verdict;
    }

    /** Whether this request knows of no change, by another after that position or by itself after that moment, that would refuse this fill. */
    private function unchanged(string $key, Space $space, Entry $entry, int $reference, int $moment): bool
    {
        $history = $this->view->history;
        [$how] = $history->reference($key);
        if ($moment !== $history->moment && $history->hasChanged($key, $space, $entry, $moment)) {
            return ConflictTable::stores($how, true);
        }
        foreach ([$key, ...$space->flushes, ...$entry->tags] as $each) {
            if ($history->changed($each, $reference)) {
                return ConflictTable::stores($how, true);
            }
        }

        return ConflictTable::stores($how, false);
    }

    private function notFilled(string $key, Space $space, bool $isConflict): void
    {
        $this->writes->refused++;
        $this->view->observer?->refused($key, $space, $isConflict);
        $this->writes->gone($key, $space);
    }
}
