<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Near\Near;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Intent;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\Markers;
use Larder\Store\Record;
use Larder\Store\Snapshot;
use Larder\System\Clock;
use Larder\System\Signals;

/**
 * The view of one request: begins and renews it, and holds the flush and tag markers that the request knows, and its
 * copies.
 *
 * This folder holds everything between Cache and the engines: reading down and filling up (Reader), writing and the
 * table of conflicts (Writes, ConflictTable), intents. Engines know nothing of it; what goes on where one of them fails is
 * Store\OutageGuard's. Cache knows no engine, but reads the near tier by itself if that is APCu or the segment, which saves a call on
 * each hit; the classes in Near/ take the copies apart.
 *
 * This file is longer than others because positions, markers and copies are one state, which the beginning, the renewal
 * and each read must change together.
 */
final class View
{
    /** Nanoseconds after which a long-running process renews its copies. */
    private const RENEWAL = 1000000000;

    /** Milliseconds to wait for another process that makes a marker. */
    private const MAKING = 1000;

    /** Spaces whose copies are kept after the application has dropped their Cache objects; keys noted as held. */
    private const SPACES = 200;
    private const HELD = 10000;

    /** Markers that one request remembers. */
    private const MARKERS = 20000;

    /** New epochs of the store after which one call gives up. */
    private const EPOCHS = 3;

    /** Microseconds, about, between two looks for the marker that another process makes. */
    private const LONGEST_PAUSE = 16000;

    /** Grows when the view changes: whatever a caller has derived from it must be derived again. */
    public int $version = 1;

    /** hrtime() of the next renewal. */
    public int $renewal = 0;

    /** hrtime() at which a get calls Cache::check(): at the next renewal, or at once while a transaction is open. */
    public int $due = 0;

    /** Grows with each change by this request, and when it learns of others' or begins anew: what is being decoded may be older. */
    public int $changes = 0;

    /** Grows when this request learns of others' changes. */
    public int $news = 0;

    /** Grows with each call of the application's that may write: one in the middle of another is a destructor's. */
    public int $calls = 0;

    /** True once the view has begun: others' changes count from there on. */
    public bool $isBegun = false;

    /** True: the near tier has followed the journal and may be read. */
    public bool $nearReadable = false;

    /** Changes that the near tier had not followed when this view began. */
    public int $lag = 0;
    public readonly History $history;

    /** Null: this request has taken none. */
    public ?Leases $leases = null;

    /** Names this request in the journal: its own changes do not count against it. */
    public string $writer;

    /** @var array<string, int> positions of flush and tag markers known in this request */
    private array $markers = [];

    /** @var array<string, int> by path: position of the last flush that covers the space; derived from $markers. For a reader that may not afford a call, where floor() need not ask a store */
    public array $floors = [];

    /** @var array<string, true> keys on which an intent stood when they were read */
    private array $held = [];

    /** @var array<string, int> markers on which an intent stood when they were read, with where they stand; PHP_INT_MAX: a writer of one is dead */
    private array $heldMarkers = [];

    /** @var array<string, array{Space, \WeakReference<RequestTier>}> by the prefix of their keys */
    private array $spaces = [];

    /** @var array<string, RequestTier> the last opened ones, kept even if the application holds no Cache object of theirs */
    private array $opened = [];

    /**
     * @param bool $lazy the first read begins the view, which saves a round trip; ignored with a near tier, which must follow
     *                   the journal before it is read
     */
    public function __construct(
        public readonly Truth $truth,
        public readonly ?Near $near,
        private readonly bool $lazy = false,
        public readonly OpenTransactions $transactions = new OpenTransactions(),
        /** Null: what requests do is not asked for. */
        public readonly ?Observer $observer = null,
    ) {
        $this->history = new History();
        $this->writer = $truth->writer;
        $this->renewLater();
        if (!$lazy || $near !== null) {
            $this->start();
        }
    }

    private function renewLater(): void
    {
        $this->renewal = \hrtime(true) + self::RENEWAL;
        $this->schedule();
    }

    /** In a transaction each get looks whether it is a forked child's. */
    public function schedule(): void
    {
        $this->due = $this->history->isFrozen() ? 0 : $this->renewal;
        foreach ($this->spaces as [, $reference]) {
            $copies = $reference->get();
            if ($copies !== null) {
                $copies->due = \min($this->due, $copies->end);
            }
        }
    }

    public function leases(): Leases
    {
        $made = $this->leases ?? new Leases($this->truth, $this->history, $this->writer);

        // See Request::of().
        return $this->leases ??= $made;
    }

    /**
     * @return RequestTier the request tier of the space from here on: the one that a destructor has made while the caller made this
     *                one, so that two caches of one space never have copies of their own
     */
    public function register(Space $space, RequestTier $copies): RequestTier
    {
        if (\count($this->spaces) >= 2 * self::SPACES) {
            $this->spaces = \array_filter($this->spaces, static fn(array $open): bool => $open[1]->get() !== null);
        }
        $copies->current = &$this->version;
        $copies->changes = &$this->changes;
        $copies->due = $this->due;
        // Without a near tier open() has nothing to set.
        $this->near !== null || $copies->version = $this->version;
        $entry = [$space, \WeakReference::create($copies)];
        $there = $this->copies($space);
        if ($there !== null) {
            return $there;
        }
        $this->spaces[$space->entries] = $entry;
        $this->opened[$space->entries] = $copies;
        if (\count($this->opened) > self::SPACES) {
            unset($this->opened[\array_key_first($this->opened)]);
        }

        return $copies;
    }

    /** The request tier of a space, if this request has opened it before. */
    public function copies(Space $space): ?RequestTier
    {
        return isset($this->spaces[$space->entries]) ? $this->spaces[$space->entries][1]->get() : null;
    }

    /**
     * Sets what the near tier checks its copies against, from what this request knows now.
     *
     * A destructor that uses the cache meanwhile finds no near tier, or calls this method itself. If it changes anything, the
     * view's version changes, and the next get calls this method again.
     */
    public function open(RequestTier $copies, Space $space): void
    {
        $held = Signals::hold();
        $copies->close();
        if ($this->near === null || !$this->nearReadable) {
            $copies->version = $this->version;

            return;
        }
        // Ask for the floor first: that may renew the view, and begin a new generation of near copies.
        $this->floor($space);
        $version = $this->version;
        $floor = \max($this->floors[$space->path] ?? $this->floor($space), $this->history->ownFloor);
        $copies->version = -1;
        $copies->floor = $floor;
        $copies->ceiling = $this->history->start;
        $this->near->open($copies, $space->entries);
        $copies->version = $version;
    }

    /** @return array<string, array{Space, RequestTier}> by the prefix of their keys */
    private function opened(): array
    {
        $open = [];
        foreach ($this->spaces as $entries => [$space, $reference]) {
            $copies = $reference->get();
            if ($copies !== null) {
                $open[$entries] = [$space, $copies];
            }
        }

        return $open;
    }

    /** Begins the request, or begins it anew: the application holds nothing that it read before. */
    public function begin(): void
    {
        // A destructor or signal handler that uses the cache meanwhile must not read them before they have followed.
        $this->nearReadable = false;
        $this->version++;
        $this->changes++;
        $this->held = $this->heldMarkers = [];
        $this->markers = $this->floors = [];
        foreach ($this->opened() as [, $copies]) {
            $copies->clear();
            $copies->own = [];
        }
        $this->isBegun = false;
        $this->history->refresh();
        $this->renewLater();
        if (!$this->lazy || $this->near !== null) {
            $this->start();
        }
    }

    /** Begins the view with its first read: others' changes count from there on. */
    public function beginAt(?Snapshot $snapshot): void
    {
        $this->isBegun = true;
        $snapshot === null ? $this->history->beginBlind() : $this->history->begin(new JournalSlice($snapshot->epoch, $snapshot->at, '', true));
    }

    /** Begins the view now: others' changes count from here on. */
    public function start(): void
    {
        $held = Signals::hold();
        $this->isBegun = true;
        $known = $this->near === null ? ['', 0, ''] : $this->near->state();
        if ($this->truth->isUnchanged($known[0], $known[2])) {
            $this->history->beginAt($known[0], $known[1], $known[2]);
            $this->nearReadable = true;
            $this->version++;

            return;
        }
        $changes = $this->truth->since(...$known);
        if ($changes === null) {
            $this->history->beginBlind();
        } else {
            $this->lag = $known[0] === $changes->epoch ? $changes->end - $known[1] : 0;
            $readable = $this->near === null || ($known[2] === $changes->token && !$changes->news($known[0], $known[1])) || $this->near->follow($changes);
            $this->history->begin($changes);
            $this->nearReadable = $readable;
        }
        $this->version++;
    }

    /** Asks the journal what others changed, and drops the copies of it. Writes are still judged by the first reads. */
    public function renew(): void
    {
        // No signal handler may interrupt this: a change that was learned, but whose copies were not dropped, would be
        // missed for ever.
        $held = Signals::hold();
        $this->renewLater();
        if (!$this->isBegun) {
            $this->start();

            return;
        }
        $changes = $this->truth->since($this->history->epoch, $this->history->seen, $this->history->token);
        if ($changes === null) {
            // What changed cannot be told, so no older copy is served any longer.
            $this->nearReadable = false;
            $this->forgetAll();

            return;
        }
        foreach (\array_keys($this->markers, \PHP_INT_MAX, true) as $marker) {
            // The marker's position was unknown, or its move is a pending invalidation: now the store can be asked.
            unset($this->markers[$marker]);
        }
        $before = $this->history->seen;
        $epoch = $this->history->epoch;
        if ($changes->epoch === $epoch && $changes->end === $before && $changes->complete && $changes->list === [] && $this->near === null && $this->heldMarkers === []) {
            // Nothing changed.
            $this->history->token = $changes->token;

            return;
        }
        foreach ($changes->list as [, , $writer]) {
            if ($writer !== $this->writer) {
                $this->news++;
                $this->changes++;
                break;
            }
        }
        $this->history->learn($changes, $this->writer);
        if ($changes->epoch !== $epoch) {
            // The leases were of the old epoch and ended with it.
            $this->leases?->forget();
        }
        if (!$changes->complete || $changes->epoch !== $epoch) {
            $this->forgetAll();
        } else {
            foreach ($changes->list as [$key, $position, $writer]) {
                $this->changed($key, $position, $writer === $this->writer);
            }
        }
        $near = $this->near;
        $state = $near === null ? ['', 0, ''] : $near->state();
        $readable = true;
        if ($near !== null && $changes->news($state[0], $state[1])) {
            $news = $state[0] === $changes->epoch && $state[1] >= $before && $epoch === $changes->epoch
                ? $changes : $this->truth->since(...$state);
            $readable = $news !== null && $news->epoch === $changes->epoch && $near->follow($news);
        }
        $this->nearReadable = $readable;
        $this->version++;
        $markers = $this->heldMarkers;
        $this->heldMarkers = [];
        foreach ($markers as $marker => $_) {
            // The death of an intent's writer appears in no journal, so the marker is read again.
            unset($this->markers[$marker]);
            $this->floors = [];
            if ($this->marker((string) $marker) === \PHP_INT_MAX) {
                $this->changed((string) $marker, \PHP_INT_MAX, true);
            }
        }
    }

    /**
     * Reads records from the truth tier, all of the epoch that this request knows. If the store has begun another, learns
     * of it first.
     *
     * @param non-empty-list<string> $keys
     */
    public function again(array $keys): ?Snapshot
    {
        for ($try = 0; $try < self::EPOCHS; $try++) {
            $snapshot = $this->truth->read($keys);
            if ($snapshot === null || $snapshot->epoch === $this->history->epoch) {
                return $snapshot;
            }
            $this->renew();
        }

        return null;
    }

    /**
     * @param array<Space> $spaces
     *
     * @return list<string>
     */
    public function unknownFlushes(array $spaces): array
    {
        $unknown = [];
        foreach ($spaces as $space) {
            if (!isset($this->floors[$space->path])
                && \array_diff_key(\array_flip($space->flushes), $this->markers) !== []) {
                // Read all of the space's markers in one snapshot. An engine may remove a marker that a newer one above
                // covers; beside an older position of the one above, a missing marker would mean "never flushed".
                $unknown += \array_flip($space->flushes);
            }
        }

        return \array_keys($unknown);
    }

    /**
     * Puts copies into the near tier.
     *
     * @param list<array{string, Entry, int, int}> $copies key, entry, position, position at which the truth was read
     * @param string                               $epoch  of all positions
     */
    public function copyNear(array $copies, string $epoch): void
    {
        if ($this->near === null || $copies === []) {
            return;
        }
        foreach ($copies as &$copy) {
            $expiry = $copy[1]->expiry;
            $copy[] = $expiry === 0 ? 0 : \max(1, \intdiv($expiry - $this->truth->now(), 1000) + 1);
        }
        unset($copy);
        $this->near->put($copies, $epoch);
    }

    /**
     * The intents in a record that still stand. If one has ended, or its writer was found dead, this changes the record.
     *
     * @return array<string, array{int, string, bool}>
     */
    public function standing(string $key, Record $record, Snapshot $snapshot): array
    {
        $noted = Intent::parse($record->body);
        $standing = Intent::alive($noted, $this->truth->now());
        if ($standing !== $noted || $noted === []) {
            // The journal lists only a key's last change, and that will be this request's own: note the other's first.
            if ($record->writer !== $this->writer) {
                $this->history->foreign($key, $record->position, Entry::INTENT);
            }
            $this->history->change($key);
            [$body, $kind] = $key[0] === 'e' ? [null, Entry::DELETED] : [Entry::MARKER, Entry::MARKER];
            if ($standing !== []) {
                [$body, $kind] = [Intent::body($standing), Entry::INTENT];
            }
            $this->truth->write([new Change($key, $body, $this->writer, $record->position, kind: $kind, strict: true, epoch: $snapshot->epoch)]);
        }

        return $standing;
    }

    /** Whether an intent stood on a marker that this request has read: its end may come without a move of the marker. */
    public function hasHeldMarkers(): bool
    {
        return $this->heldMarkers !== [];
    }

    /** Drops the request's copies of a space and of the groups in it. */
    public function forget(Space $space): void
    {
        foreach ($this->opened() as $entries => [$below, $copies]) {
            if (Space::covers($space->flush(), $entries)) {
                $this->lose($below, $copies);
            }
        }
    }

    /**
     * Drops all copies of a space. Notes the keys as read; a key that was not read has its first read still before it.
     */
    private function lose(Space $space, RequestTier $copies): void
    {
        foreach ($copies->names() as $name) {
            $this->history->gone($space->entries . $name);
        }
        $copies->clear();
    }

    /** Notes that an intent stands on the key. */
    public function hold(string $key): void
    {
        if (\count($this->held) < self::HELD) {
            $this->held[$key] = true;
        }
    }

    /** Whether this request has seen an intent on the key. */
    public function isHeld(string $key): bool
    {
        // Too many to note them all: then any key counts as held.
        return isset($this->held[$key]) || \count($this->held) >= self::HELD;
    }

    /**
     * Position of the last flush that covers a space; PHP_INT_MAX: unknown, so nothing in the space is valid.
     *
     * @param bool $swaps see at()
     */
    public function floor(Space $space, bool $swaps = false): int
    {
        if (isset($this->floors[$space->path])) {
            return $this->floors[$space->path];
        }
        $floor = 0;
        $changes = $this->changes;
        // The innermost first: marker() asks for those around it too.
        for ($i = \count($space->flushes) - 1; $i >= 0; $i--) {
            $marker = $space->flushes[$i];
            // Where no database is behind it, there is no transaction of one.
            $position = $this->known($marker) ?? \PHP_INT_MAX;
            if ($position === \PHP_INT_MAX) {
                $position = $this->at($marker, $swaps || $space->cacheOnly);
            }
            if ($position > $floor) {
                $floor = $position;
            }
        }
        // Not if a destructor or signal handler has flushed meanwhile.
        if ($floor !== \PHP_INT_MAX && $this->heldMarkers === [] && $changes === $this->changes) {
            $this->floors[$space->path] = $floor;
        }

        return $floor;
    }

    /**
     * A marker's position; PHP_INT_MAX: unknown, also under another's intent.
     *
     * @param bool $swaps for a counter or a lock, which no transaction of the database concerns: where the marker stands under
     *                    the intent
     */
    public function at(string $marker, bool $swaps): int
    {
        $position = $this->marker($marker);

        return $position === \PHP_INT_MAX && $swaps ? $this->heldMarkers[$marker] ?? $position : $position;
    }

    /**
     * Call precede() before: a marker that does not exist yet guards nothing.
     *
     * @return array<string, int> the markers that cover a value of this space with these tags, each with its limit
     */
    public function guards(Space $space, Entry $entry, int $reference): array
    {
        $guards = [];
        foreach ([...$space->flushes, ...$entry->tags] as $marker) {
            $guards[$marker] = $this->history->changed($marker, $reference) ? -1 : $this->history->limit($marker, $reference);
        }

        return $guards;
    }

    /**
     * Makes the entry's markers before the entry is stored: a marker that is missing later is then known to be lost.
     *
     * @return bool false: the position of one of them is unknown, so the entry would count as invalid
     */
    public function precede(Space $space, Entry $entry): bool
    {
        return !$this->truth->forgets() || ($this->floor($space, true) !== \PHP_INT_MAX && $this->tagsHold($entry, \PHP_INT_MAX, true));
    }

    /**
     * As precede(), for many entries: learns their tags' markers in one read, and leaves to the caller to make those that are
     * missing, by changes before those of the entries in the same write. Until settle() they count as moved when they were read.
     *
     * @param array<array-key, Entry> $entries
     *
     * @return array<array-key, Change> by marker
     */
    public function missingMarkers(array $entries): array
    {
        $unknown = [];
        foreach ($this->truth->forgets() ? $entries : [] as $entry) {
            foreach ($entry->tags as $tag) {
                if (!isset($unknown[$tag]) && $this->known($tag) === null) {
                    $unknown[$tag] = true;
                }
            }
        }
        if (\count($unknown) < 2) {
            // marker() makes one.
            return [];
        }
        $this->isBegun || $this->start();
        $snapshot = $this->readMarkers(\array_keys($unknown));
        if ($snapshot === null) {
            return [];
        }
        $making = [];
        foreach ($unknown as $marker => $_) {
            if (isset($snapshot->records[$marker])) {
                $this->learnMarker($marker, $snapshot);
            } else {
                $making[$marker] = $this->making($marker, $snapshot);
                $this->noteMarker($marker, $snapshot->at);
            }
        }

        return $making;
    }

    /**
     * @param array<array-key, Change>      $making   of missingMarkers()
     * @param list<?ChangeResult>           $outcomes in their order
     */
    public function settle(array $making, array $outcomes): void
    {
        $i = 0;
        foreach ($making as $marker => $_) {
            $outcome = $outcomes[$i++] ?? null;
            if ($outcome !== null && $outcome->done) {
                $this->history->own($outcome->position, $outcome->step);
                $this->noteMarker((string) $marker, $outcome->position);
            } else {
                // Another request has made it, or may have: to be read when it is asked for.
                unset($this->markers[$marker]);
            }
        }
    }

    /** Applies a change that this process made or learned of to its markers and copies. */
    public function changed(string $key, int $position, bool $own): void
    {
        if ($key[0] === 'f' || $key[0] === 't') {
            if ($own) {
                $this->markers[$key] = \max($position, $this->markers[$key] ?? 0);
            } else {
                // A journal may also list a change that was announced and never made, so read the marker when needed.
                unset($this->markers[$key]);
            }
            $this->floors = [];
            if ($key[0] === 'f') {
                foreach ($this->opened() as [$space, $copies]) {
                    if (Space::covers($key, $space->entries)) {
                        $this->lose($space, $copies);
                    }
                }
            } else {
                // Which copies carry the tag is not noted, so all copies of the tag's space are dropped.
                $path = \substr($key, 2, (int) \strpos($key, ':', 2) - 2);
                [$space, $reference] = $this->spaces['e:' . $path . ':'] ?? [null, null];
                $copies = $reference?->get();
                if ($space !== null && $copies !== null) {
                    $this->lose($space, $copies);
                }
            }
            $this->version++;
            $this->changes++;
        } elseif (!$own && $key[0] === 'e') {
            $colon = \strpos($key, ':', 2);
            $space = \substr($key, 0, (int) $colon + 1);
            if (isset($this->spaces[$space])) {
                $name = \substr($key, (int) $colon + 1);
                $copies = $this->spaces[$space][1]->get();
                if ($copies !== null && $copies->has($name)) {
                    $copies->drop($name);
                    $this->history->gone($key);
                }
            }
        }
    }

    /** In a forked child: it becomes a request of its own, without its parent's leases. */
    public function leaveParent(): void
    {
        $this->writer = \bin2hex(\random_bytes(6));
        $this->leases?->leaveParent($this->writer);
        $this->version++;
    }

    /**
     * Learns the positions of markers that are not known yet, all in one read.
     *
     * @param list<string> $markers
     */
    public function learnMarkers(array $markers): void
    {
        $unknown = [];
        foreach ($markers as $marker) {
            if ($this->known($marker) === null) {
                $unknown[] = $marker;
            }
        }
        if (\count($unknown) < 2) {
            // marker() reads one.
            return;
        }
        $this->isBegun || $this->start();
        $snapshot = $this->readMarkers($unknown);
        if ($snapshot === null) {
            return;
        }
        foreach ($unknown as $marker) {
            $this->learnMarker($marker, $snapshot);
        }
    }

    /**
     * Reads markers, and learns those above them in the same read: see unknownFlushes().
     *
     * @param non-empty-list<string> $markers
     */
    private function readMarkers(array $markers): ?Snapshot
    {
        $above = \array_values(\array_unique(\array_merge(...\array_map(Markers::covering(...), $markers))));
        $snapshot = $this->again([...$markers, ...$above]);
        if ($snapshot !== null) {
            foreach ($above as $marker) {
                $this->learnMarker($marker, $snapshot);
            }
        }

        return $snapshot;
    }

    /** @param bool $swaps see at() */
    public function tagsHold(Entry $entry, int $position, bool $swaps = false): bool
    {
        isset($entry->tags[1]) && $this->learnMarkers($entry->tags);
        foreach ($entry->tags as $tag) {
            if ($this->at($tag, $swaps) >= $position) {
                return false;
            }
        }

        return true;
    }

    public function marker(string $marker): int
    {
        $known = $this->known($marker);
        if ($known !== null) {
            return $known;
        }
        $this->isBegun || $this->start();
        // Read the markers above it too: see unknownFlushes().
        $above = Markers::covering($marker);
        $position = $this->near === null ? $this->positionOf($marker, $above) : null;
        if ($position !== null) {
            return $position;
        }
        $snapshot = $this->again([$marker, ...$above]);
        if ($snapshot === null) {
            // Without an answer, nothing that the marker covers is known to be valid.
            return \PHP_INT_MAX;
        }
        foreach ($above as $each) {
            $this->learnMarker($each, $snapshot);
        }

        return $this->learnMarker($marker, $snapshot);
    }

    /**
     * As marker(), one by one, for a store to which that is cheaper. An engine may remove a marker that a newer one above covers:
     * so those above come after it, the outermost last. Null: marker() must read their records.
     *
     * @param list<string> $above the outermost first
     */
    private function positionOf(string $marker, array $above): ?int
    {
        $markers = [$marker, ...\array_reverse($above)];
        $positions = $this->truth->positions($markers, $this->history->epoch);
        if ($positions === null) {
            return null;
        }
        $noted = null;
        $highest = 0;
        // The marker itself last. What this request could not move stays moved: see noteMarker().
        for ($i = \count($markers) - 1; $i >= 0; $i--) {
            // One that was removed counts as moved with the flush that covers it: the value that asks for it was read before that.
            $highest = \max($positions[$i], $highest);
            $noted = $this->noteMarker($markers[$i], $highest);
        }

        return $noted;
    }

    /** A marker's position, if no store needs to be asked. */
    private function known(string $marker): ?int
    {
        if (isset($this->markers[$marker])) {
            return $this->markers[$marker];
        }
        $position = $this->nearReadable ? $this->near?->marker($marker) : null;

        return $position === null ? null : $this->noteMarker($marker, $position);
    }

    /** @param Snapshot $snapshot of the marker and of the markers above it */
    public function learnMarker(string $marker, Snapshot $snapshot): int
    {
        $known = $this->markers[$marker] ?? -1;
        if ($known === \PHP_INT_MAX) {
            return $known;
        }
        $record = $snapshot->records[$marker] ?? null;
        $position = $record->position ?? 0;
        if ($record !== null && ($record->body[0] ?? '') === Entry::INTENT) {
            $standing = $this->standing($marker, $record, $snapshot);
            // The near tier would not learn that the intent's writer died, so it does not get this marker. A dead writer's marker
            // is about to move once more, also if it was found dead just now.
            $this->heldMarkers[$marker] = $standing !== [] && Intent::live($standing) ? $position : \PHP_INT_MAX;
            unset($standing['w' . $this->writer]);

            // What was stored since the intent was put may be older than what another's transaction has committed.
            return $this->noteMarker($marker, $standing === [] ? $this->heldMarkers[$marker] : \PHP_INT_MAX);
        }
        if ($position === 0 && $this->truth->forgets()) {
            $position = $this->makeMarker($marker, $snapshot);
            if ($position === \PHP_INT_MAX) {
                // It could not be made now, for example inside another call. The next read of it tries again.
                return $position;
            }
        }
        foreach (Markers::covering($marker) as $above) {
            // A reader of the near tier may find this marker beside an older one above it, so give it the newest position.
            $position = \max($position, $snapshot->records[$above]->position ?? 0);
        }
        if ($known !== $position) {
            $this->near?->putMarker($marker, $position, \max($snapshot->at, $position), $snapshot->epoch);
        }

        return $this->noteMarker($marker, $position);
    }

    private function noteMarker(string $marker, int $position): int
    {
        if (!isset($this->markers[$marker]) && \count($this->markers) >= self::MARKERS) {
            // Forget them, to be read again; but keep those that count as moved because the store could not move them.
            $this->markers = \array_filter($this->markers, static fn(int $position): bool => $position === \PHP_INT_MAX);
            $this->floors = [];
        }
        if (($this->markers[$marker] ?? $position) !== $position) {
            $this->floors = [];
            $this->version++;
        }

        // A destructor or signal handler may have moved it since it was read.
        return $this->markers[$marker] = \max($position, $this->markers[$marker] ?? 0);
    }

    /**
     * Makes a missing marker, which the store may have evicted or never had. What it covered counts as invalidated now.
     *
     * When many processes do so at once, the store may refuse one because of another's unfinished write, which it may
     * refuse too. None of their positions is then the marker's, and a value judged by such a position would not be stored.
     * So after a refusal one process makes the marker under a lease, and the others wait for it.
     */
    private function makeMarker(string $marker, Snapshot $snapshot): int
    {
        $outcome = $this->tryToMake($marker, $snapshot);
        if ($outcome === null || $outcome->done) {
            return $outcome->position ?? \PHP_INT_MAX;
        }
        $turn = 'm' . $marker;
        $leases = $this->leases();
        $end = \hrtime(true) + self::MAKING * 1000000;
        for ($pause = 500; ; $pause = \min(2 * $pause, self::LONGEST_PAUSE)) {
            $taken = $leases->take($turn, self::MAKING);
            $snapshot = $this->again([$marker]);
            $position = $snapshot->records[$marker]->position ?? 0;
            $late = \hrtime(true) > $end;
            if ($snapshot !== null && $position === 0 && ($taken === true || $late)) {
                $outcome = $this->tryToMake($marker, $snapshot);
                // Processes that began before the lease was taken may still be in the way.
                $position = $outcome === null ? \PHP_INT_MAX : ($outcome->done || $late ? \max(0, $outcome->position) : 0);
            }
            $leases->giveBack($turn);
            if ($snapshot === null || $position !== 0 || $late) {
                return $position === 0 ? \PHP_INT_MAX : $position;
            }
            Clock::pause(\random_int($pause, 2 * $pause));
        }
    }

    private function tryToMake(string $marker, Snapshot $snapshot): ?ChangeResult
    {
        $outcome = $this->truth->write([$this->making($marker, $snapshot)])[0] ?? null;
        if ($outcome !== null && $outcome->done) {
            $this->history->own($outcome->position, $outcome->step);
        }

        return $outcome;
    }

    private function making(string $marker, Snapshot $snapshot): Change
    {
        $this->noteForgotten($marker, $snapshot);

        return new Change(
            $marker,
            Entry::MADE,
            $this->writer,
            $snapshot->at,
            kind: Entry::MADE,
            strict: true,
            epoch: $snapshot->epoch,
            // If this process dies now, a marker that another process makes first stays where it is, and what it covers valid.
            atomic: true,
        );
    }

    /**
     * Notes others' moves of a marker before this request makes it anew. The journal lists only a key's last change, which
     * will then be this request's; the others' moves count against what this request has computed.
     */
    private function noteForgotten(string $marker, Snapshot $snapshot): void
    {
        $history = $this->history;
        if ($snapshot->at <= $history->markersSeen) {
            return;
        }
        $changes = $this->truth->since($history->epoch, $history->markersSeen, '');
        if ($changes === null || !$changes->complete || $changes->epoch !== $history->epoch) {
            $history->foreign($marker, $snapshot->at, '');

            return;
        }
        $history->learnMarkers($changes, $this->writer);
    }

    private function forgetAll(): void
    {
        $this->news++;
        $this->changes++;
        $this->markers = $this->floors = [];
        foreach ($this->opened() as [, $copies]) {
            $copies->clear();
        }
        $this->history->goneAll();
        $this->version++;
    }
}
