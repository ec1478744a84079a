<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Record;
use Larder\System\Process;

/**
 * Writes for one request: fills at its end, everything else at once, before the call returns.
 *
 * Every write carries the position by which it is judged. If the store finds a newer change by another request, the
 * table of conflicts (ConflictTable) decides, and the writer carries out the verdict by compare-and-swap on exactly that
 * change. If a still newer change comes between, it is judged again.
 *
 * This file is longer than others because every kind of write must treat waiting fills, copies and the near tier alike.
 * One that forgot any of them would leave a stale value, so they should be read side by side.
 */
final class Writer
{
    /** Lost races after which a set gives up and drops the key, and an atomic operation reports that it was not done. */
    private const TRIES = 200;

    /** New epochs that a mark follows before it is set in whichever epoch the store has. */
    private const EPOCHS = 3;

    /** Fills, and their bytes, that may wait for the end of the request. */
    private const PENDING = 1000;
    private const PENDING_BYTES = 8_388_608;

    /** Positions of this request's own changes noted in one space. */
    private const OWN = 20_000;

    /** Sets in one transaction or round trip. */
    private const AT_ONCE = 1_000;

    /** Appended changes of one request, and their bytes, that may wait in the store. */
    private const LATE = 256;
    private const LATE_BYTES = 1_048_576;

    /** Sets that were not stored because another request had changed the key. */
    public int $dropped = 0;
    public int $bounded = 0;
    public int $refused = 0;

    /** @var array<string, array{Space, Entry, int, int}> fills that wait for the end of the request, each with the position and the moment at which its view of the key began */
    private array $pending = [];
    private int $bytes = 0;

    /**
     * Changes that the store has taken and not judged yet; an entry of null is a deletion. Null: a later change of the key
     * was made in another way.
     *
     * @var array<string, ?array{Space, ?Entry}>
     */
    private array $late = [];
    private int $lateBytes = 0;

    /** How often land() was called. */
    private int $landings = 0;

    /** @var array<string, true> keys on which this request has an intent */
    public array $intended = [];

    /** Copied for a change, which costs a third of making one. */
    private readonly Change $blank;

    /** Whether the store is known to append. */
    private bool $appends = false;

    public function __construct(
        private readonly View $view,
        private readonly Reader $reader,
        private readonly Truth $truth,
    ) {
        $this->blank = new Change('', null, '');
    }

    /** In a forked child: the waiting writes are its parent's. */
    public function forget(): void
    {
        $this->pending = $this->late = $this->intended = [];
    }

    public function set(string $key, Space $space, Entry $entry): Verdict
    {
        // A store that is made late may append from then on.
        if (($this->appends || ($this->appends = $this->truth->appends())) && $this->append($key, $space, $entry)) {
            return Verdict::Store;
        }
        $this->view->history->isWatched && $this->view->history->change($key);
        unset($this->pending[$key]);
        $change = $this->first($key, $space, $entry);
        $outcome = null;
        if ($change !== null) {
            $outcome = $this->truth->write([$change], [$key])[0] ?? null;
            if ($outcome !== null && $outcome->done) {
                $this->stored($key, $space, $entry, $outcome, $change->epoch);

                return Verdict::Store;
            }
        }

        return $this->settle([$key => $entry], $space, $change, $outcome)[$key];
    }

    /**
     * Makes several sets in few transactions or round trips, even if some of them conflict.
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
                $this->view->history->change($key);
                unset($this->pending[$key]);
            }
            $verdicts += $this->settle($part, $space);
        }

        return $verdicts;
    }

    /**
     * Keeps a value just computed for commit().
     *
     * @param array{int, int, int} $beginning see RequestHistory::beginning()
     *
     * @return bool false: somebody changed the key meanwhile
     */
    public function fill(string $key, Space $space, Entry $entry, array $beginning): bool
    {
        unset($this->pending[$key]);
        $this->view->renew();
        $history = $this->view->history;
        $epoch = $history->epoch;
        [$how, $reference] = $history->reference($key);
        [, $position, $moment] = $beginning;
        if ($position < $reference) {
            $reference = $position;
        }
        if ($this->truth->down() || !$this->unchanged($key, $space, $entry, $reference, $moment)) {
            $this->refused++;

            return false;
        }
        $this->pending[$key] = [$space, $entry, $reference, $moment];
        // Others may read the value from the near tier at once if this request missed the key, has not changed it since, and
        // saw no intent on it. As was just learned, nobody changed the key up to `seen`.
        if ($how === RequestHistory::MISSED && !$this->view->isHeld($key)
            && !isset($this->view->copies($space)->own[\substr($key, \strlen($space->entries))])) {
            $at = \max($reference, $history->seen);
            $this->view->copyNear([[$key, $entry, $at, $at]], $epoch);
        }
        $this->bytes += \strlen($entry->payload);
        if (\count($this->pending) > self::PENDING || $this->bytes > self::PENDING_BYTES) {
            $this->commit();
        }

        return true;
    }

    /**
     * Commits a value just computed at once, together with the release of its lease.
     *
     * @param int $reference position at which the computation began
     * @param int $moment    the same by RequestHistory::watch()
     */
    public function fillNow(string $key, Space $space, Entry $entry, ?Change $release, int $reference, int $moment): bool
    {
        unset($this->pending[$key]);

        return $this->commitFills([$key => [$space, $entry, $reference, $moment]], $release === null ? [] : [$release]) === 1;
    }

    /**
     * Writes the waiting fills in one transaction or round trip.
     *
     * @param list<Change> $also written in the same one, after the values (released leases)
     */
    public function commit(array $also = []): void
    {
        // If nothing of this request's waits, whoever begins next applies what does.
        $this->late === [] || $this->land();
        $pending = $this->pending;
        $this->pending = [];
        $this->bytes = 0;
        $this->commitFills($pending, $also);
    }

    /**
     * @param array<string, array{Space, Entry, int, int}> $fills as $pending
     * @param list<Change>                                 $also
     *
     * @return int how many were stored
     */
    private function commitFills(array $fills, array $also): int
    {
        $changes = $keys = [];
        $history = $this->view->history;
        foreach ($fills as $key => [$space, $entry, $reference, $moment]) {
            // Note the epoch before the positions: asking for a marker, or a destructor that uses the cache, may reveal
            // another one.
            $epoch = $history->epoch;
            $this->view->precede($space, $entry);
            if (!$this->unchanged($key, $space, $entry, $reference, $moment)) {
                $this->notFilled($key, $space);
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
        $now = $history->moment;
        $outcomes = $all === [] ? [] : $this->truth->write($all, $kept) ?? [];
        // A destructor may have changed some of them in the middle of the write, nobody knows whether before or after it.
        $isSame = $now === $history->moment;
        $stored = [];
        foreach ($keys as $i => $key) {
            [$space, $entry, , $moment] = $fills[$key];
            $outcome = $outcomes[$i] ?? null;
            if ($outcome === null || !$outcome->done) {
                $this->notFilled($key, $space);
                continue;
            }
            $this->stored($key, $space, $entry, $outcome, $changes[$i]->epoch);
            if (!$isSame && $history->hasChanged($key, $space, $entry, $moment)) {
                $this->delete([$key], $space);
                $this->refused++;
            } else {
                $stored[] = $key;
            }
        }
        foreach ($history->isShared ? $stored : [] as $key) {
            $history->change($key);
        }

        return \count($stored);
    }

    /** Whether a key has a value now (one that a tag has invalidated counts). Does not count as a read of the application's. */
    public function isThere(string $key, Space $space): bool
    {
        if (isset($this->pending[$key])) {
            return true;
        }
        $epoch = $this->view->history->epoch;
        $position = $this->truth->position($key, $epoch);
        if ($position !== null) {
            $isThere = $position > $this->view->floor($space);
            if ($epoch === $this->view->history->epoch) {
                return $isThere;
            }
        }
        $record = $this->view->again([$key])->records[$key] ?? null;

        return $record !== null && ($record->body[0] ?? '') !== Entry::INTENT && $record->position > $this->view->floor($space);
    }

    /**
     * @param non-empty-list<string> $keys  of one space
     * @param int                    $there set to how many of them had a value (one that a tag has invalidated counts)
     */
    public function delete(array $keys, Space $space, int &$there = 0): bool
    {
        $there = 0;
        $changes = $waited = [];
        foreach ($keys as $key) {
            $this->view->history->change($key);
            $waited[$key] = isset($this->pending[$key]);
            unset($this->pending[$key]);
            $change = clone $this->blank;
            $change->key = $key;
            $change->writer = $this->view->writer;
            $change->kind = Entry::DELETED;
            $changes[] = $change;
        }
        $outcomes = $this->truth->write($changes, $keys);
        foreach ($keys as $i => $key) {
            $this->gone($key, $space);
            $outcome = $outcomes[$i] ?? null;
            if ($outcome !== null && $outcome->done) {
                $this->view->history->own($outcome->position, $outcome->step);
                $this->noteForeign($key, $outcome->writer, $outcome->previous);
                if ($waited[$key] || $outcome->kind === 's' && $outcome->previous > $this->view->floor($space)) {
                    $there++;
                }
            } elseif ($outcome !== null && $this->takeAway($key, $outcome, Entry::DELETED) === null) {
                $outcomes = null;
            }
            // Once more: a destructor that has read the key meanwhile began a view, by which a fill outside must not be judged.
            $this->view->history->change($key);
        }

        return $outcomes !== null;
    }

    /**
     * Flushes spaces or invalidates tags: every entry at or before the markers' new positions is invalid.
     *
     * @param non-empty-list<string> $markers
     */
    public function mark(array $markers): bool
    {
        foreach ($markers as $marker) {
            $this->view->history->change($marker);
        }
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
            // The store has begun a new epoch, in which older near copies cannot be compared with this marker.
            $this->view->renew();
        }
        $done = true;
        foreach ($markers as $i => $marker) {
            $this->view->history->change($marker);
            $this->view->near?->drop($marker);
            $outcome = $outcomes[$i] ?? null;
            if ($outcome !== null && !$outcome->done) {
                // An intent stands on the marker.
                $outcome = $this->takeAway($marker, $outcome, Entry::MARKER, Entry::MARKER);
            }
            if ($outcome === null) {
                // The store could not record it, but for this request it counts.
                $this->view->changed($marker, \PHP_INT_MAX, true);
                $done = false;
            } else {
                $this->moved($marker, $outcome);
            }
        }

        return $done;
    }

    /**
     * Reads, decides and compares-and-swaps, until no other process changes the key in between.
     *
     * @param \Closure(?Entry): ?Entry $decide takes the present entry and returns the new one; null: keep the present one
     *
     * @return ?Entry the new entry, once it is stored; null: nothing was stored
     */
    public function atomic(string $key, Space $space, \Closure $decide): ?Entry
    {
        if (isset($this->pending[$key])) {
            // This request's waiting fill must be stored first: it is the present value.
            $fill = [$key => $this->pending[$key]];
            unset($this->pending[$key]);
            $this->commitFills($fill, []);
        }
        // What another process could not write is applied first: applied later, it would take away what is swapped now.
        $this->truth->catchUp();
        // Apply appended changes, of other processes too: of two processes that swap, each must see the other's change.
        $this->land();
        $tags = [];
        for ($try = 0; $try < self::TRIES; $try++) {
            $snapshot = $this->reader->readToSwap($key, $space, $tags);
            if ($snapshot === null) {
                return null;
            }
            $record = $snapshot->records[$key] ?? null;
            $entry = $record === null ? null : $this->reader->valid($key, $record, $snapshot, $space, true);
            if ($entry !== null && \array_diff($entry->tags, $tags) !== []) {
                $tags = $entry->tags;
                continue;
            }
            if ($record !== null && $entry === null && (Intent::alive(Intent::parse($record->body), $this->truth->now()) !== []
                || $this->reader->isUnsure($key, $record, $space, true))) {
                return null;
            }
            $moment = $this->view->history->watch();
            $next = $decide($entry);
            if ($next === null || !$this->view->precede($space, $next)) {
                return null;
            }
            if ($this->view->history->hasChanged($key, $space, $next, $moment)) {
                // By a call within $decide, or by another fiber meanwhile: the store compares with others' flushes only.
                continue;
            }
            $guards = \array_fill_keys([...$space->flushes, ...$next->tags], $snapshot->at);
            $this->view->history->change($key);
            $outcomes = $this->truth->write([new Change(
                $key,
                $this->reader->signer->seal($key, $next),
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
                // Once more, as a delete does.
                $this->view->history->change($key);
                $this->view->history->swapped($key, $outcomes[0]->position);

                return $next;
            }
            if ($outcomes[0]->kind === ChangeResult::REFUSED) {
                return null;
            }
            if ($try > 2) {
                Process::pause(\random_int(10, 100 * \min($try, 20)));
            }
        }

        return null;
    }

    /**
     * Hands a change to the store, which applies and judges it later. In a cache-only space the last set wins that follows a
     * hit or no read at all. Any other change carries the position up to which this request knows that nobody is in its way.
     * If somebody is, the store does what the table of conflicts says: it drops the key, or gives a set after a miss a
     * bounded life. The caller drops or replaces the request's copy.
     *
     * @param ?Entry $entry null: a deletion
     *
     * @return bool false: the store has not taken it
     */
    public function append(string $key, Space $space, ?Entry $entry): bool
    {
        $view = $this->view;
        $history = $view->history;
        [$how, $reference] = $history->reference($key);
        if (($entry !== null && ($entry->tags !== [] || $entry->sure !== 0 || $how === RequestHistory::UNSURE))
            || isset($this->intended[$key]) || $view->isHeld($key)) {
            return false;
        }
        $change = clone $this->blank;
        $change->key = $key;
        $change->writer = $view->writer;
        if (!$space->cacheOnly || $how !== RequestHistory::SEEN) {
            $limit = $history->limitOfAll($key, $space->flushes, $reference);
            if ($limit === null) {
                return false;
            }
            $change->limit = $limit;
            $change->epoch = $history->epoch;
        }
        if ($entry === null) {
            $change->kind = Entry::DELETED;
        } else {
            $change->body = $this->reader->signer->seal($key, $entry);
            $change->expiry = $entry->expiry;
            if ($how === RequestHistory::MISSED) {
                $change->bounded = $this->reader->signer->seal($key, $entry->bounded($this->truth->now()));
                $change->payload = \strlen($entry->payload);
            }
        }
        $landings = $this->landings;
        $history->isWatched && $history->change($key);
        if (isset($this->late[$key])) {
            // A destructor or signal handler may apply both changes, and would give the older value the position of the newer.
            $this->late[$key] = null;
        }
        if (!$this->truth->append($change)) {
            return false;
        }
        unset($this->pending[$key], $this->late[$key]);
        if ($view->near === null) {
            $view->changes++;
        } else {
            // A copy in a near tier may stay until the change is applied. A request that begins before that applies it itself,
            // since something waits in the log; and this one knows that the key is its own.
            $this->own($key, $space, \PHP_INT_MAX) ?? $this->hide($key, $space);
        }
        // In the order in which they get their positions.
        $this->late[$key] = [$space, $entry];
        $entry === null && $history->isWatched && $history->change($key);
        $this->lateBytes += $change->body === null ? 0 : \strlen($change->body);
        if ($landings !== $this->landings) {
            // A destructor or signal handler may have applied it before it was noted, and knew of no copy.
            $view->near?->drop($key);
        }
        if (\count($this->late) >= self::LATE || $this->lateBytes > self::LATE_BYTES) {
            $this->land();
        }

        return true;
    }

    /** Applies the appended changes: they get positions, and copies in the near tier. */
    public function land(): void
    {
        $history = $this->view->history;
        $epoch = $history->epoch;
        $this->landings++;
        $late = $this->late;
        $this->late = [];
        $this->lateBytes = 0;
        $bounded = [];
        $settled = $this->truth->settle($this->view->writer, $bounded);
        $copies = [];
        foreach ($late as $key => $waiting) {
            // 0: another process has applied it, or a later change has replaced it.
            $position = $settled[$key] ?? 0;
            if ($waiting === null) {
                $position > 0 && $history->own($position, 1);
                continue;
            }
            [$space, $entry] = $waiting;
            if ($position > 0) {
                $history->own($position, 1);
                if ($this->view->near === null) {
                    continue;
                }
                if ($entry === null) {
                    $this->view->near->drop($key);
                } else {
                    $this->own($key, $space, $position);
                    $copies[] = [$key, $entry, $position, $position];
                }
            } elseif ($position < 0) {
                // Another request's change was in the way.
                if (isset($bounded[$key])) {
                    $this->bounded++;
                } elseif ($entry !== null) {
                    $this->dropped++;
                }
                $history->foreign($key, -$position, '');
                $this->gone($key, $space);
            }
        }
        $this->view->copyNear($copies, $epoch);
    }

    /** Notes a change that another request made to this key after this one had read it, and before its own change. */
    public function noteForeign(string $key, string $writer, int $position): void
    {
        if ($position > 0 && $writer !== '' && $writer !== $this->view->writer) {
            if ($position > $this->view->history->reference($key)[1]) {
                $this->view->history->foreign($key, $position, '');
            }
        }
    }

    /**
     * Removes a key, or moves a marker, over the record that was in the way, but leaves the intents of others standing.
     *
     * @param ?string $body the new body if no other intent stands
     */
    private function takeAway(string $key, ChangeResult $outcome, string $kind, ?string $body = null): ?ChangeResult
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

    /** Ends this request's intent in the record, with a change of the key. */
    public function takeAwayRecord(string $key, Record $record): bool
    {
        $this->view->history->change($key);
        $isMarker = $key[0] !== 'e';
        $outcome = $this->takeAway(
            $key,
            new ChangeResult(false, $record->position, record: $record),
            $isMarker ? Entry::MARKER : Entry::DELETED,
            $isMarker ? Entry::MARKER : null,
        );
        if ($outcome !== null && $isMarker) {
            $this->moved($key, $outcome);
        }

        return $outcome !== null;
    }

    /**
     * Changes keys, or moves markers, whatever their records hold.
     *
     * @param non-empty-list<string> $keys
     */
    public function invalidate(array $keys, Space $space): bool
    {
        return $keys[0][0] === 'e' ? $this->delete($keys, $space) : $this->mark($keys);
    }

    /** Notes that this request has put an intent on the key or marker. */
    public function changed(string $key, Space $space, ChangeResult $outcome): void
    {
        if ($key[0] === 'e') {
            $this->gone($key, $space);
        } else {
            $this->view->near?->drop($key);
            $this->moved($key, $outcome);
        }
    }

    /** Discards a key's waiting fill. */
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

    private function moved(string $marker, ChangeResult $outcome): void
    {
        $this->view->changed($marker, $outcome->position, true);
        $this->view->history->own($outcome->position, $outcome->step);
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
     * Writes values, and those that conflict again, until each has its verdict.
     *
     * @param non-empty-array<string, Entry> $entries by key
     * @param ?Change                        $made    of one value: first(), which the store has been asked to make already
     * @param ?ChangeResult                       $outcome what the store answered; null: unknown
     *
     * @return non-empty-array<string, Verdict>
     */
    private function settle(array $entries, Space $space, ?Change $made = null, ?ChangeResult $outcome = null): array
    {
        $verdicts = $open = [];
        foreach ($entries as $key => $entry) {
            $open[$key] = $this->settling((string) $key, $space, $entry, $made ?? $this->first((string) $key, $space, $entry), $made !== null, $outcome);
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

    /**
     * The change by which a set is tried first: most sets have nobody in their way.
     *
     * @return ?Change null: somebody has changed the key or a marker that covers it, or may have
     */
    private function first(string $key, Space $space, Entry $entry): ?Change
    {
        $view = $this->view;
        $history = $view->history;
        // Note the epoch before the positions: a destructor that uses the cache may learn of another one.
        $epoch = $history->epoch;
        // A space whose floor is known has its markers.
        if ($entry->tags !== [] || !isset($view->floors[$space->path])) {
            $view->precede($space, $entry);
        }
        [$how, $reference] = $history->reference($key);
        if ($how === RequestHistory::UNSURE) {
            return null;
        }
        $change = clone $this->blank;
        if ($how !== RequestHistory::SEEN || !$space->cacheOnly) {
            $markers = $entry->tags === [] ? $space->flushes : [...$space->flushes, ...$entry->tags];
            $limit = $history->limitOfAll($key, $markers, $reference);
            if ($limit === null) {
                return null;
            }
            $change->limit = $limit;
            $change->guards = \array_fill_keys($markers, $limit);
        }
        // In a cache-only space the last set wins. Only an intent stops it, and the store checks for one by itself.
        $change->key = $key;
        $change->body = $this->reader->signer->seal($key, $entry);
        $change->writer = $view->writer;
        $change->expiry = $entry->expiry;
        $change->epoch = $epoch;

        return $change;
    }

    /**
     * @param ?Change  $first   see first()
     * @param bool     $isMade  the store has been asked to make it
     * @param ?ChangeResult $outcome what the store answered; null: unknown
     *
     * @return \Generator<int, Change, ?ChangeResult, Verdict> yields a change to write, and is sent its outcome; null: unknown
     */
    private function settling(string $key, Space $space, Entry $entry, ?Change $first, bool $isMade, ?ChangeResult $outcome): \Generator
    {
        $history = $this->view->history;
        $epoch = $first->epoch ?? $history->epoch;
        [$how, $reference] = $history->reference($key);
        $verdict = ConflictTable::set($how, $space->cacheOnly, null, false, false);
        $stored = $entry;
        $strict = false;
        $limit = $first->limit ?? Change::ALWAYS;
        $guards = $first->guards ?? [];
        if ($first === null && $verdict !== Verdict::Drop) {
            $limit = $history->limit($key, $reference);
            $guards = $this->view->guards($space, $entry, $reference);
            // Another request's change may lie under a later one of this request's own. A strict write reports both.
            $strict = $history->changed($key, $reference);
            if ($limit < 0 || \in_array(-1, $guards, true)) {
                // The changes since then are unknown, which counts as a conflict.
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
                $this->view->near?->drop($key);

                return $verdict;
            }
            if ($verdict === Verdict::Bounded) {
                $stored = $entry->bounded($this->truth->now());
            }
            if ($try === 0 && $first !== null) {
                $current = $isMade ? $outcome : yield $first;
            } else {
                $current = yield new Change(
                    $key,
                    $this->reader->signer->seal($key, $stored),
                    $this->view->writer,
                    $limit,
                    $stored->expiry,
                    $guards,
                    strict: $strict,
                    epoch: $epoch,
                );
            }
            if ($current === null) {
                break;
            }
            if ($current->done) {
                $this->stored($key, $space, $stored, $current, $epoch);

                return $verdict;
            }
            if ($current->kind === ChangeResult::REFUSED) {
                // The store refuses the value, for example as too large. The set returns false, and the old value is dropped.
                yield from $this->dropping($key, $space);
                break;
            }
            if ($current->position < 0 && $epoch !== '' && $epoch === $history->epoch) {
                // The store may have begun a new epoch, in which older near copies cannot be compared with the new record.
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
            // The position of the conflicting change belongs to the epoch that the write named, whatever was learned since.
            $epoch = $limit === Change::ALWAYS ? '' : ($epoch === '' ? $history->epoch : $epoch);
        }
        $this->gone($key, $space);

        return Verdict::Failed;
    }

    /** @return \Generator<int, Change, ?ChangeResult, bool> as settling(); returns whether the key was dropped */
    private function dropping(string $key, Space $space): \Generator
    {
        $this->gone($key, $space);
        $outcome = yield new Change($key, null, $this->view->writer, kind: Entry::DROPPED);

        return $outcome !== null && ($outcome->done || $this->takeAway($key, $outcome, Entry::DROPPED) !== null);
    }

    /** @param Verdict $before the verdict before this conflict */
    private function judge(string $key, Space $space, Entry $entry, int $how, ChangeResult $conflict, Verdict $before): Verdict
    {
        if ($conflict->guard !== null) {
            if ($conflict->kind === Entry::MADE) {
                $this->view->renew();
                $history = $this->view->history;
                if ($history->seen >= $conflict->position && !$history->changed($conflict->guard, $history->reference($key)[1])) {
                    // A marker that was only made anew changes nothing.
                    return $before;
                }
            }

            return ConflictTable::set($how, $space->cacheOnly, Entry::DELETED, false, false);
        }
        if ($conflict->writer === $this->view->writer) {
            // The record is this request's own change or intent: only others' changes before it count.
            $history = $this->view->history;
            $change = $history->changed($key, $history->reference($key)[1]) ? $history->kind($key) : null;
        } else {
            $change = $conflict->kind;
            $this->view->history->foreign($key, \max(0, $conflict->position), $conflict->kind);
        }
        $there = $conflict->record === null ? null : $this->reader->signer->open($key, $conflict->record->body);
        $same = $there !== null && $there->payload === $entry->payload && $there->tags === $entry->tags;
        $standing = $this->othersIntents($conflict->record->body ?? '') !== [];

        $verdict = ConflictTable::set($how, $space->cacheOnly, $change, $same, $standing);

        // Where this request put an intent, its value may not be the older of two even for two seconds: drop it, and the
        // next reader asks the database.
        return $verdict === Verdict::Bounded && isset($this->intended[$key]) ? Verdict::Drop : $verdict;
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

    /** @param string $epoch of the outcome's position; '': unknown, so the near tier takes no copy */
    private function stored(string $key, Space $space, Entry $entry, ChangeResult $outcome, string $epoch): void
    {
        $this->view->history->own($outcome->position, $outcome->step);
        if ($this->view->near === null) {
            $this->view->changes++;
        } else {
            $this->own($key, $space, $outcome->position);
            $this->view->copyNear([[$key, $entry, $outcome->position, $outcome->position]], $epoch);
        }
    }

    private function notFilled(string $key, Space $space): void
    {
        $this->refused++;
        $this->gone($key, $space);
    }

    /** Drops a key's copies from the request tier and the near tier. */
    public function gone(string $key, Space $space): void
    {
        $this->hide($key, $space)?->drop(\substr($key, \strlen($space->entries)));
    }

    /** Drops a key's copies from the near tier. */
    private function hide(string $key, Space $space): ?RequestTier
    {
        $copies = $this->own($key, $space, \PHP_INT_MAX);
        $this->view->near?->drop($key);

        return $copies;
    }

    private function own(string $key, Space $space, int $position): ?RequestTier
    {
        $this->view->changes++;
        if (isset($this->late[$key])) {
            // The store has applied it before this change.
            $this->late[$key] = null;
        }
        $copies = $this->view->copies($space);
        if ($copies !== null && $this->view->near !== null) {
            if (\count($copies->own) >= self::OWN) {
                $this->view->history->forgetOwn($copies->own);
                $copies->own = [];
                // Cache must derive anew which positions of near copies are valid.
                $this->view->version++;
            }
            $copies->own[\substr($key, \strlen($space->entries))] = $position;
        }

        return $copies;
    }
}
