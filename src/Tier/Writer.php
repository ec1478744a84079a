<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Codec\Entry;
use Larder\Store\Change;
use Larder\Store\Outcome;
use Larder\Store\Record;
use Larder\System\Process;

/**
 * How one request writes: fills behind, at its end; everything else at once, before it returns.
 *
 * Every write carries the position by which it is judged; where the store finds a newer change by somebody else,
 * the table of conflicts (ConflictTable) says what becomes of it, and the verdict is carried out by compare-and-swap on
 * exactly that change. A newer one still, and it is judged again.
 *
 * Longer than other files, since every kind of write must treat what waits to be filled, the copies and the near
 * tiers in the same way, and one that forgot any of them would be a stale value: they are to be read side by side.
 */
final class Writer
{
    /** Lost races after which a set gives up and drops the key, and an atomic operation says it was not done. */
    private const TRIES = 200;

    /** How often a mark follows to a new epoch before it is set in whatever epoch there is. */
    private const EPOCHS = 3;

    /** Fills, and bytes of them, that wait for the request's end. */
    private const PENDING = 1000;
    private const PENDING_BYTES = 8_388_608;

    /** Positions of own changes noted in one space. */
    private const OWN = 20_000;

    /** Sets of one transaction or round trip. */
    private const AT_ONCE = 1_000;

    /** Changes that wait in the store, of one request. */
    private const LATE = 256;

    /** Sets that were not stored because somebody else had changed the key. */
    public int $dropped = 0;
    public int $bounded = 0;
    public int $refused = 0;

    /** @var array<string, array{Space, Entry}> fills that wait for the request's end */
    private array $pending = [];
    private int $bytes = 0;

    /** @var array<string, array{Space, ?Entry}> changes that the store took and has not judged yet; null: a deletion */
    private array $late = [];

    /** @var array<string, true> keys on which this request has an intent */
    public array $intended = [];

    public function __construct(
        private readonly View $view,
        private readonly Reader $reader,
        private readonly Truth $truth,
    ) {}

    /** After a fork: what waits is the parent's. */
    public function forget(): void
    {
        $this->pending = $this->late = $this->intended = [];
    }

    public function set(string $key, Space $space, Entry $entry): Verdict
    {
        unset($this->pending[$key]);
        if ($this->append($key, $space, $entry)) {
            return Verdict::Store;
        }

        return $this->settle([$key => $entry], $space)[$key];
    }

    /**
     * Several sets in few transactions or round trips, also those that meet conflicts.
     *
     * @param non-empty-array<string, Entry> $entries by key
     *
     * @return array<string, Verdict>
     */
    public function setMany(array $entries, Space $space): array
    {
        $verdicts = [];
        foreach (\array_chunk($entries, self::AT_ONCE, true) as $part) {
            foreach ($part as $key => $_) {
                unset($this->pending[$key]);
            }
            $verdicts += $this->settle($part, $space);
        }

        return $verdicts;
    }

    /** Keeps a value just computed for commit(). False: somebody changed its key meanwhile. */
    public function fill(string $key, Space $space, Entry $entry): bool
    {
        unset($this->pending[$key]);
        $this->view->renew();
        $epoch = $this->view->history->epoch;
        if ($this->truth->down() || !$this->unchanged($key, $space, $entry)) {
            $this->refused++;

            return false;
        }
        $this->pending[$key] = [$space, $entry];
        // Others may have it from the near tiers at once, if it was missed and not held by an intent. Nobody changed
        // the key up to `seen`, as was just learned.
        [$how, $reference] = $this->view->history->reference($key);
        if ($how === RequestHistory::MISSED && !$this->view->isHeld($key)) {
            $at = \max($reference, $this->view->history->seen);
            $this->view->copyNear($key, $entry, $at, $at, $epoch);
        }
        $this->bytes += \strlen($entry->payload);
        if (\count($this->pending) > self::PENDING || $this->bytes > self::PENDING_BYTES) {
            $this->commit();
        }

        return true;
    }

    /** A value just computed, committed at once together with the release of its lease. */
    public function fillNow(string $key, Space $space, Entry $entry, ?Change $release): bool
    {
        unset($this->pending[$key]);

        return $this->commitFills([$key => [$space, $entry]], $release === null ? [] : [$release]) === 1;
    }

    /**
     * Writes what waits, in one transaction or round trip.
     *
     * @param list<Change> $also written in the same one, after the values (leases given back)
     */
    public function commit(array $also = []): void
    {
        $this->land();
        $pending = $this->pending;
        $this->pending = [];
        $this->bytes = 0;
        $this->commitFills($pending, $also);
    }

    /**
     * @param array<string, array{Space, Entry}> $fills
     * @param list<Change>                       $also
     *
     * @return int how many were stored
     */
    private function commitFills(array $fills, array $also): int
    {
        $changes = $keys = [];
        foreach ($fills as $key => [$space, $entry]) {
            // Before the positions: asking for a marker, or a destructor that uses the cache, may show another one.
            $epoch = $this->view->history->epoch;
            $this->view->precede($space, $entry);
            if (!$this->unchanged($key, $space, $entry)) {
                $this->notFilled($key, $space);
                continue;
            }
            [, $reference] = $this->view->history->reference($key);
            $changes[] = new Change(
                $key,
                $this->reader->envelope->seal($key, $entry),
                $this->view->writer,
                $this->view->history->limit($key, $reference),
                $entry->expiry,
                $this->view->guards($space, $entry, $reference),
                epoch: $epoch,
            );
            $keys[] = $key;
        }
        $all = [...$changes, ...$also];
        $kept = \array_merge([], ...\array_map(Leases::kept(...), $also));
        $outcomes = $all === [] ? [] : $this->truth->write($all, $kept) ?? [];
        $stored = 0;
        foreach ($keys as $i => $key) {
            [$space, $entry] = $fills[$key];
            $outcome = $outcomes[$i] ?? null;
            if ($outcome === null || !$outcome->done) {
                $this->notFilled($key, $space);
            } else {
                $this->stored($key, $space, $entry, $outcome, $changes[$i]->epoch);
                $stored++;
            }
        }

        return $stored;
    }

    /**
     * @param non-empty-list<string> $keys  of one space
     * @param int                    $there set to how many of them had a value; what tags say is not asked
     */
    public function delete(array $keys, Space $space, int &$there = 0): bool
    {
        $there = 0;
        $changes = $waited = [];
        foreach ($keys as $key) {
            $waited[$key] = isset($this->pending[$key]);
            unset($this->pending[$key]);
            $changes[] = new Change($key, null, $this->view->writer, kind: Entry::DELETED);
        }
        $outcomes = $this->truth->write($changes, $keys);
        foreach ($keys as $i => $key) {
            $this->gone($key, $space);
            $outcome = $outcomes[$i] ?? null;
            if ($outcome !== null && $outcome->done) {
                $this->view->history->own($outcome);
                $this->noteForeign($key, $outcome->writer, $outcome->previous);
                if ($waited[$key] || $outcome->kind === 's' && $outcome->previous > $this->view->floor($space)) {
                    $there++;
                }
            } elseif ($outcome !== null && $this->takeAway($key, $outcome, Entry::DELETED) === null) {
                $outcomes = null;
            }
        }

        return $outcomes !== null;
    }

    /**
     * Flushes or invalidates: everything at or before the markers' new positions is no longer valid.
     *
     * @param non-empty-list<string> $markers
     */
    public function mark(array $markers): bool
    {
        $this->discardMarked($markers);
        for ($try = 1; ; $try++) {
            $epoch = $try <= self::EPOCHS ? $this->view->history->epoch : '';
            $outcomes = $this->truth->write(\array_map(
                fn(string $marker): Change => new Change($marker, Entry::MARKER, $this->view->writer, kind: Entry::MARKER, epoch: $epoch),
                $markers,
            ), $markers);
            if ($outcomes === null || $epoch === '' || $outcomes[0]->position >= 0) {
                break;
            }
            // The store has begun anew: where near copies of before lie compared with this mark, nobody could say.
            $this->view->renew();
        }
        $done = true;
        foreach ($markers as $i => $marker) {
            foreach ($this->view->nears as $near) {
                $near->drop($marker);
            }
            $outcome = $outcomes[$i] ?? null;
            if ($outcome !== null && !$outcome->done) {
                // Somebody's intent stands on it.
                $outcome = $this->takeAway($marker, $outcome, Entry::MARKER, Entry::MARKER);
            }
            if ($outcome === null) {
                // For this request it is flushed all the same.
                $this->view->changed($marker, \PHP_INT_MAX, true);
                $done = false;
            } else {
                $this->moved($marker, $outcome);
            }
        }

        return $done;
    }

    /**
     * Read, decide, compare-and-swap, until nobody came between.
     *
     * @param \Closure(?Entry): ?Entry $decide from the entry there is to the new one; null: leave it
     *
     * @return ?Entry the new one, once it is stored; null: not done
     */
    public function atomic(string $key, Space $space, \Closure $decide): ?Entry
    {
        if (isset($this->pending[$key])) {
            // What this request has just computed is what there is.
            $fill = [$key => $this->pending[$key]];
            unset($this->pending[$key]);
            $this->commitFills($fill, []);
        }
        if ($space->cacheOnly) {
            // Somebody else's too: of two that swap, each must see what the other has done.
            $this->land();
        }
        $tags = [];
        for ($try = 0; $try < self::TRIES; $try++) {
            $snapshot = $this->reader->readToSwap($key, $space, $tags);
            if ($snapshot === null) {
                return null;
            }
            $record = $snapshot->records[$key] ?? null;
            $entry = $record === null ? null : $this->reader->valid($key, $record, $snapshot, $space);
            if ($entry !== null && \array_diff($entry->tags, $tags) !== []) {
                $tags = $entry->tags;
                continue;
            }
            if ($record !== null && $entry === null && (Intent::alive(Intent::parse($record->body), $this->truth->now()) !== []
                || $this->reader->isUnsure($key, $record, $space))) {
                return null;
            }
            $next = $decide($entry);
            if ($next === null || !$this->view->precede($space, $next)) {
                return null;
            }
            $guards = [];
            foreach ([...$space->flushes, ...$next->tags] as $marker) {
                $guards[$marker] = $snapshot->at;
            }
            $outcomes = $this->truth->write([new Change(
                $key,
                $this->reader->envelope->seal($key, $next),
                $this->view->writer,
                $record->position ?? $snapshot->at,
                $next->expiry,
                $guards,
                strict: true,
                epoch: $snapshot->epoch,
                atomic: true,
            )]);
            if ($outcomes === null) {
                return null;
            }
            if ($outcomes[0]->done) {
                $this->stored($key, $space, $next, $outcomes[0], $snapshot->epoch);
                $this->view->history->swapped($key, $outcomes[0]->position);

                return $next;
            }
            if ($outcomes[0]->kind === Outcome::REFUSED) {
                return null;
            }
            if ($try > 2) {
                Process::pause(\random_int(10, 100 * \min($try, 20)));
            }
        }

        return null;
    }

    /**
     * Leaves a change to the store, to be judged later: where nothing is judged, since no database stands behind the
     * space and the last one wins.
     *
     * @param ?Entry $entry null: a deletion
     *
     * @return bool false: nothing has happened
     */
    public function append(string $key, Space $space, ?Entry $entry): bool
    {
        if (!$space->cacheOnly || ($entry !== null && ($entry->tags !== [] || $entry->sure !== 0)) || isset($this->intended[$key])
            || $this->view->isHeld($key) || $this->view->history->reference($key)[0] !== RequestHistory::SEEN) {
            return false;
        }
        $body = $entry === null ? null : $this->reader->envelope->seal($key, $entry);
        if (!$this->truth->append(new Change($key, $body, $this->view->writer, expiry: $entry->expiry ?? 0, kind: $entry === null ? Entry::DELETED : 's'))) {
            return false;
        }
        unset($this->pending[$key]);
        $this->gone($key, $space);
        $this->late[$key] = [$space, $entry];
        if (\count($this->late) >= self::LATE) {
            $this->land();
        }

        return true;
    }

    /** What was appended gets its positions, and near copies. */
    private function land(): void
    {
        $epoch = $this->view->history->epoch;
        $settled = $this->truth->settle();
        foreach ($this->late as $key => [$space, $entry]) {
            $outcome = $settled[$key] ?? null;
            // Else somebody else has applied it, or a later change came over it.
            if ($outcome !== null && $outcome->done) {
                if ($entry === null) {
                    $this->view->history->own($outcome);
                    foreach ($this->view->nears as $near) {
                        $near->drop($key);
                    }
                } else {
                    $this->stored($key, $space, $entry, $outcome, $epoch);
                }
            }
        }
        $this->late = [];
    }

    /** A change that others made to this key after the request had read it, before its own. */
    public function noteForeign(string $key, string $writer, int $position): void
    {
        if ($position > 0 && $writer !== '' && $writer !== $this->view->writer) {
            if ($position > $this->view->history->reference($key)[1]) {
                $this->view->history->foreign($key, $position, '');
            }
        }
    }

    /**
     * Takes a key away, or moves a marker, over the record that was in the way, but leaves the intents of others standing.
     *
     * @param ?string $body what is there then, if none of them stands
     */
    private function takeAway(string $key, Outcome $outcome, string $kind, ?string $body = null): ?Outcome
    {
        for ($try = 0; $try < self::TRIES; $try++) {
            $standing = $this->othersIntents($outcome->record->body ?? '');
            $outcomes = $this->truth->write([new Change(
                $key,
                $standing === [] ? $body : Intent::body($standing),
                $this->view->writer,
                $outcome->record->position ?? Change::ALWAYS,
                kind: $kind,
                strict: $outcome->record !== null,
            )], [$key]);
            if ($outcomes === null || $outcomes[0]->done) {
                return $outcomes[0] ?? null;
            }
            $outcome = $outcomes[0];
        }

        return null;
    }

    /** Ends an intent of this request, which lies in the record, with a change of the key. */
    public function takeAwayRecord(string $key, Record $record): bool
    {
        $isMarker = $key[0] !== 'e';
        $outcome = $this->takeAway(
            $key,
            new Outcome(false, $record->position, record: $record),
            $isMarker ? Entry::MARKER : Entry::DELETED,
            $isMarker ? Entry::MARKER : null,
        );
        if ($outcome !== null && $isMarker) {
            $this->moved($key, $outcome);
        }

        return $outcome !== null;
    }

    /**
     * A change of keys, or a move of markers, whatever they are.
     *
     * @param non-empty-list<string> $keys
     */
    public function invalidate(array $keys, Space $space): bool
    {
        return $keys[0][0] === 'e' ? $this->delete($keys, $space) : $this->mark($keys);
    }

    /** This request has put an intent on it. */
    public function changed(string $key, Space $space, Outcome $outcome): void
    {
        if ($key[0] === 'e') {
            $this->gone($key, $space);
        } else {
            foreach ($this->view->nears as $near) {
                $near->drop($key);
            }
            $this->moved($key, $outcome);
        }
    }

    /** A fill that waits for the request's end is not to be stored any more. */
    public function discard(string $key): void
    {
        unset($this->pending[$key]);
    }

    /** @param list<string> $markers */
    public function discardMarked(array $markers): void
    {
        foreach ($this->pending as $key => [, $entry]) {
            foreach ($markers as $marker) {
                if (Space::marks($marker, (string) $key, $entry)) {
                    unset($this->pending[$key]);
                }
            }
        }
    }

    private function moved(string $marker, Outcome $outcome): void
    {
        $this->view->changed($marker, $outcome->position, true);
        $this->view->history->own($outcome);
        $this->noteForeign($marker, $outcome->writer, $outcome->previous);
    }

    /** @return array<string, array{int, string, bool}> */
    private function othersIntents(string $body): array
    {
        $standing = Intent::alive(Intent::parse($body), $this->truth->now());
        unset($standing['w' . $this->view->writer]);

        return $standing;
    }

    /**
     * Writes values, and again where that meets a change by somebody else, until each has its verdict.
     *
     * @param non-empty-array<string, Entry> $entries by key
     *
     * @return non-empty-array<string, Verdict>
     */
    private function settle(array $entries, Space $space): array
    {
        $verdicts = $open = [];
        foreach ($entries as $key => $entry) {
            $open[$key] = $this->settling((string) $key, $space, $entry);
        }
        do {
            $changes = [];
            foreach ($open as $key => $settling) {
                if ($settling->valid()) {
                    $changes[$key] = $settling->current();
                } else {
                    $verdicts[$key] = $settling->getReturn();
                    unset($open[$key]);
                }
            }
            $outcomes = $changes === [] ? null : $this->truth->write(\array_values($changes), \array_keys($changes));
            foreach (\array_values($open) as $i => $settling) {
                $settling->send($outcomes[$i] ?? null);
            }
        } while ($open !== []);
        foreach ($verdicts as $verdict) {
            if ($verdict === Verdict::Drop) {
                $this->dropped++;
            } elseif ($verdict === Verdict::Bounded) {
                $this->bounded++;
            }
        }

        /** @var non-empty-array<string, Verdict> */
        return $verdicts;
    }

    /** @return \Generator<int, Change, ?Outcome, Verdict> gives a change to be written, and is told what became of it; null: that is not known */
    private function settling(string $key, Space $space, Entry $entry): \Generator
    {
        $history = $this->view->history;
        // Before the positions: a destructor that uses the cache may learn of another one.
        $epoch = $history->epoch;
        [$how, $reference] = $history->reference($key);
        $verdict = ConflictTable::set($how, $space->cacheOnly, null, false, false);
        $stored = $entry;
        $strict = false;
        if ($how === RequestHistory::SEEN && $space->cacheOnly) {
            // The last one wins, over whatever there is: an intent alone stops it, which the store looks for by itself.
            $limit = Change::ALWAYS;
            $guards = [];
            $this->view->precede($space, $entry);
        } else {
            $limit = $history->limit($key, $reference);
            $guards = $this->view->guards($space, $entry, $reference);
            // A foreign change that is known already may lie under a later one of this request: then both are looked at.
            $strict = $history->changed($key, $reference);
            if ($limit < 0 || \in_array(-1, $guards, true)) {
                // What happened meanwhile is not known any more: that counts as a conflict.
                $verdict = ConflictTable::set($how, $space->cacheOnly, '', false, false);
                $limit = Change::ALWAYS;
                $strict = false;
                $guards = [];
                $epoch = '';
            }
        }
        for ($try = 0; $try < self::TRIES; $try++) {
            if ($verdict === Verdict::Drop) {
                return (yield from $this->dropping($key, $space)) ? Verdict::Drop : Verdict::Failed;
            }
            if ($verdict === Verdict::Same) {
                foreach ($this->view->nears as $near) {
                    $near->drop($key);
                }

                return $verdict;
            }
            if ($verdict === Verdict::Bounded) {
                $stored = $entry->bounded($this->truth->now());
            }
            $current = yield new Change(
                $key,
                $this->reader->envelope->seal($key, $stored),
                $this->view->writer,
                $limit,
                $stored->expiry,
                $guards,
                strict: $strict,
                epoch: $epoch,
            );
            if ($current === null) {
                break;
            }
            if ($current->done) {
                $this->stored($key, $space, $stored, $current, $epoch);

                return $verdict;
            }
            if ($current->kind === Outcome::REFUSED) {
                // Too large: visibly not stored, and the value that it was to replace goes.
                yield from $this->dropping($key, $space);
                break;
            }
            if ($current->position < 0 && $epoch !== '' && $epoch === $history->epoch) {
                // The store may have begun anew: near copies of before cannot be compared with what is stored now.
                $this->view->renew();
                if ($limit === Change::ALWAYS) {
                    $epoch = '';
                    $this->view->precede($space, $entry);
                    continue;
                }
            }
            $verdict = $this->judge($key, $space, $entry, $how, $current, $verdict);
            if ($current->guard !== null) {
                $guards[$current->guard] = $current->position < 0 ? Change::ALWAYS : $current->position;
            } else {
                $strict = $current->record !== null;
                $limit = $current->record->position ?? ($current->position < 0 ? Change::ALWAYS : $current->position);
            }
            // What was in the way has its position in the epoch that was asked for, whatever has been learned since.
            $epoch = $limit === Change::ALWAYS ? '' : ($epoch === '' ? $history->epoch : $epoch);
        }
        $this->gone($key, $space);

        return Verdict::Failed;
    }

    /** @return \Generator<int, Change, ?Outcome, bool> as settling(); whether it is dropped */
    private function dropping(string $key, Space $space): \Generator
    {
        $this->gone($key, $space);
        $outcome = yield new Change($key, null, $this->view->writer, kind: Entry::DROPPED);

        return $outcome !== null && ($outcome->done || $this->takeAway($key, $outcome, Entry::DROPPED) !== null);
    }

    /** @param Verdict $before what it was before this conflict came in the way */
    private function judge(string $key, Space $space, Entry $entry, int $how, Outcome $conflict, Verdict $before): Verdict
    {
        if ($conflict->guard !== null) {
            if ($conflict->kind === Entry::MADE) {
                $this->view->renew();
                $history = $this->view->history;
                if ($history->seen >= $conflict->position && !$history->changed($conflict->guard, $history->reference($key)[1])) {
                    // That it was missing changes nothing.
                    return $before;
                }
            }

            return ConflictTable::set($how, $space->cacheOnly, Entry::DELETED, false, false);
        }
        if ($conflict->writer === $this->view->writer) {
            // This request's own change, or its intent: only what others did before it counts.
            $history = $this->view->history;
            $change = $history->changed($key, $history->reference($key)[1]) ? $history->kind($key) : null;
        } else {
            $change = $conflict->kind;
            $this->view->history->foreign($key, \max(0, $conflict->position), $conflict->kind);
        }
        $there = $conflict->record === null ? null : $this->reader->envelope->open($key, $conflict->record->body);
        $same = $there !== null && $there->payload === $entry->payload && $there->tags === $entry->tags;
        $standing = $this->othersIntents($conflict->record->body ?? '') !== [];

        $verdict = ConflictTable::set($how, $space->cacheOnly, $change, $same, $standing);

        // It has said that the database changes, so the next reader may go there: not even for a moment the older of two.
        return $verdict === Verdict::Bounded && isset($this->intended[$key]) ? Verdict::Drop : $verdict;
    }

    /** Nothing is known of a foreign change that would keep this fill from being stored. */
    private function unchanged(string $key, Space $space, Entry $entry): bool
    {
        $history = $this->view->history;
        [$how, $reference] = $history->reference($key);
        foreach ([$key, ...$space->flushes, ...$entry->tags] as $each) {
            if ($history->changed($each, $reference)) {
                return ConflictTable::stores($how, true);
            }
        }

        return ConflictTable::stores($how, false);
    }

    /** @param string $epoch of the outcome's position; '': not known, so that the near tiers take no copy */
    private function stored(string $key, Space $space, Entry $entry, Outcome $outcome, string $epoch): void
    {
        $this->own($key, $space, $outcome->position);
        $this->view->history->own($outcome);
        $this->view->nears === [] || $this->view->copyNear($key, $entry, $outcome->position, $outcome->position, $epoch);
    }

    private function notFilled(string $key, Space $space): void
    {
        $this->refused++;
        $this->gone($key, $space);
    }

    /** The copies of a key go, here and near. */
    public function gone(string $key, Space $space): void
    {
        $this->own($key, $space, \PHP_INT_MAX)?->drop(\substr($key, \strlen($space->entries)));
        foreach ($this->view->nears as $near) {
            $near->drop($key);
        }
    }

    private function own(string $key, Space $space, int $position): ?RequestTier
    {
        $this->view->changes++;
        if ($this->view->nears === []) {
            return $this->view->copies($space);
        }
        $copies = $this->view->copies($space);
        if ($copies !== null) {
            if (\count($copies->own) >= self::OWN) {
                $this->view->history->forgetOwn($copies->own);
                $copies->own = [];
                // What was derived from the positions that near copies must have is to be derived again.
                $this->view->version++;
            }
            $copies->own[\substr($key, \strlen($space->entries))] = $position;
        }

        return $copies;
    }
}
