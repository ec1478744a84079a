<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Codec\Entry;
use Larder\Store\Change;
use Larder\Store\Changes;
use Larder\Store\Markers;
use Larder\Store\Record;
use Larder\Store\Snapshot;
use Larder\System\Process;
use Larder\System\Signals;
use Larder\Tier\Near\Near;

/**
 * What one request sees of its tiers, and since when: how its view begins and is renewed, the flush and tag markers it
 * knows, and the copies it holds.
 *
 * This folder holds everything between the front door and the engines: reading down and filling up (Reader), writing
 * and the table of conflicts (Writer, ConflictTable), intents, failing open (Truth, PendingInvalidations). Engines know nothing of it; the front
 * door knows nothing of engines.
 *
 * Longer than other files: the view of a request (positions, markers, copies) is one state that its beginning, its
 * renewal and each read must change together.
 */
final class View
{
    /** Nanoseconds after which a process that lives on renews its copies. */
    private const RENEWAL = 1000000000;

    /** Milliseconds that the making of a marker by another process is waited for. */
    private const MAKING = 1000;

    /** Spaces whose copies are kept though the application has let go of them, and keys noted as held. */
    private const SPACES = 200;
    private const HELD = 10000;

    /** Markers that are known in one request. */
    private const MARKERS = 20000;

    /** Times that the store may begin a new epoch while one call looks. */
    private const EPOCHS = 3;

    /** Microseconds between two looks whether it is made, about. */
    private const LONGEST_PAUSE = 16000;

    /** Grows when the view is renewed: what was derived from it is to be derived again. */
    public int $version = 0;

    /** hrtime() of the next renewal. */
    public int $due = 0;

    /** Grows with each change by this request. */
    public int $changes = 0;

    /** Grows when something was learned that others changed. */
    public int $news = 0;

    /** The view of this request has begun: it is known since when others' changes count. */
    public bool $isBegun = false;

    /** The near tiers could follow the journal and may be read. */
    public bool $nearReadable = true;
    public readonly RequestHistory $history;

    /** Names this request in the journal: its own changes do not count against it. */
    public string $writer;

    /** @var array<string, int> positions of flush and tag markers known in this request */
    private array $markers = [];

    /** @var array<string, int> the last flush that covers a space, by path; follows from $markers */
    private array $floors = [];

    /** @var array<string, true> keys on which an intent stood when they were read */
    private array $held = [];

    /** @var array<string, true> markers on which an intent stood when they were read */
    private array $heldMarkers = [];

    /** @var array<string, array{Space, \WeakReference<RequestTier>}> by what their keys begin with */
    private array $spaces = [];

    /** @var array<string, RequestTier> kept also when the application holds nothing of theirs: those opened last */
    private array $opened = [];
    private int $pid;

    /**
     * @param list<Near> $nears nearest first
     * @param bool       $lazy  without a near tier, which has to follow before it is read, the first read is the beginning
     *                          of the view: one round trip less
     */
    public function __construct(
        public readonly Truth $truth,
        public readonly array $nears,
        public readonly Leases $leases,
        private readonly bool $lazy = false,
    ) {
        $this->history = $leases->history;
        $this->pid = Process::id();
        $this->writer = $truth->writer;
        $this->begin();
    }

    public function register(Space $space, RequestTier $copies): void
    {
        if (\count($this->spaces) >= 2 * self::SPACES) {
            $this->spaces = \array_filter($this->spaces, static fn(array $open): bool => $open[1]->get() !== null);
        }
        $this->spaces[$space->entries] = [$space, \WeakReference::create($copies)];
        $this->opened[$space->entries] = $copies;
        if (\count($this->opened) > self::SPACES) {
            unset($this->opened[\array_key_first($this->opened)]);
        }
    }

    /** The copies of a space, if it was opened before in this request. */
    public function copies(Space $space): ?RequestTier
    {
        return isset($this->spaces[$space->entries]) ? $this->spaces[$space->entries][1]->get() : null;
    }

    /** @return array<string, array{Space, RequestTier}> by what their keys begin with */
    private function open(): array
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

    /** The request begins, or begins anew: nothing is held from before. */
    public function begin(): void
    {
        // Not before they have followed, also for a destructor or a signal handler that uses the cache meanwhile.
        $this->nearReadable = false;
        $this->version++;
        $this->held = $this->heldMarkers = [];
        $this->markers = $this->floors = [];
        foreach ($this->open() as [, $copies]) {
            $copies->clear();
            $copies->own = [];
        }
        $this->isBegun = false;
        $this->due = \hrtime(true) + self::RENEWAL;
        if (!$this->lazy || $this->nears !== []) {
            $this->start();
        }
    }

    /** The first read is the beginning: what others change after it counts. */
    public function beginAt(?Snapshot $snapshot): void
    {
        $this->isBegun = true;
        $snapshot === null ? $this->history->beginBlind() : $this->history->begin(new Changes($snapshot->epoch, $snapshot->at, '', true));
    }

    /** What others change from now on counts. */
    public function start(): void
    {
        $held = Signals::hold();
        $this->isBegun = true;
        $known = ['', 0, ''];
        foreach ($this->nears as $near) {
            $known = $near->state();
            break;
        }
        $changes = $this->truth->since(...$known);
        if ($changes === null) {
            $this->history->beginBlind();
        } else {
            $readable = true;
            foreach ($this->nears as $i => $near) {
                if ($i > 0) {
                    $known = $near->state();
                    $changes = $this->truth->since(...$known) ?? $changes;
                }
                $same = $known[2] === $changes->token && !$changes->news($known[0], $known[1]);
                $readable = ($same || $near->follow($changes)) && $readable;
            }
            $this->history->begin($changes);
            $this->nearReadable = $readable;
        }
        $this->version++;
    }

    /** Learns what others changed meanwhile, and drops the copies of it; what was read stays the measure of writes. */
    public function renew(): void
    {
        // All of it, or none: what was learned and not dropped would stay.
        $held = Signals::hold();
        $this->due = \hrtime(true) + self::RENEWAL;
        if (!$this->isBegun) {
            $this->start();

            return;
        }
        $changes = $this->truth->since($this->history->epoch, $this->history->seen, $this->history->token);
        if ($changes === null) {
            // Nobody says what changed: nothing that was copied before is shown any longer.
            $this->nearReadable = false;
            $this->forgetAll();

            return;
        }
        foreach (\array_keys($this->markers, \PHP_INT_MAX, true) as $marker) {
            // Nobody could say where it is, or it could not be set and was kept: now it can be asked for.
            unset($this->markers[$marker]);
        }
        $before = $this->history->seen;
        $epoch = $this->history->epoch;
        foreach ($changes->list as [, , $writer]) {
            if ($writer !== $this->writer) {
                $this->news++;
                break;
            }
        }
        $this->history->learn($changes, $this->writer);
        if ($changes->epoch !== $epoch) {
            // They were of the old epoch, and ended with it.
            $this->leases->forget();
        }
        if (!$changes->complete || $changes->epoch !== $epoch) {
            $this->forgetAll();
        } else {
            foreach ($changes->list as [$key, $position, $writer]) {
                $this->changed($key, $position, $writer === $this->writer);
            }
        }
        $readable = true;
        foreach ($this->nears as $near) {
            $state = $near->state();
            if (!$changes->news($state[0], $state[1])) {
                continue;
            }
            $news = $state[0] === $changes->epoch && $state[1] >= $before && $epoch === $changes->epoch
                ? $changes : $this->truth->since(...$state);
            $readable = $news !== null && $near->follow($news) && $readable;
        }
        $this->nearReadable = $readable;
        $this->version++;
        $held = $this->heldMarkers;
        $this->heldMarkers = [];
        foreach ($held as $marker => $_) {
            // That the writer of an intent has died is no change that anybody lists.
            unset($this->markers[$marker]);
            $this->floors = [];
            if ($this->marker((string) $marker) === \PHP_INT_MAX) {
                $this->changed((string) $marker, \PHP_INT_MAX, true);
            }
        }
    }

    /**
     * Records of the truth, of the epoch that this request knows. The store has begun another: that is learned first.
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
                // All of them, in one view: an engine may remove a marker that one above it covers, so that one missing
                // beside an older one that was known before would say that nothing was flushed.
                $unknown += \array_flip($space->flushes);
            }
        }

        return \array_keys($unknown);
    }

    /**
     * Into the near tiers, all of them or those before a level.
     *
     * @param int    $at    position at which the truth was read
     * @param string $epoch of both positions
     */
    public function copyNear(string $key, Entry $entry, int $position, int $at, string $epoch, int $levels = \PHP_INT_MAX): void
    {
        $life = $entry->expiry === 0 ? 0 : \max(1, \intdiv($entry->expiry - $this->truth->now(), 1000) + 1);
        foreach ($this->nears as $level => $near) {
            if ($level < $levels) {
                $near->put($key, $entry, $position, $at, $epoch, $life);
            }
        }
    }

    /**
     * The intents in a record that still stand. Whoever notices that one has ended, or that its writer is dead, changes
     * the record.
     *
     * @return array<string, array{int, string, bool}>
     */
    public function standing(string $key, Record $record, Snapshot $snapshot): array
    {
        $noted = Intent::parse($record->body);
        $standing = Intent::alive($noted, $this->truth->now());
        if ($standing !== $noted || $noted === []) {
            // That change will be the last one listed, and this request's own, so what was there is noted before.
            if ($record->writer !== $this->writer) {
                $this->history->foreign($key, $record->position, Entry::INTENT);
            }
            [$body, $kind] = $key[0] === 'e' ? [null, Entry::DELETED] : [Entry::MARKER, Entry::MARKER];
            if ($standing !== []) {
                [$body, $kind] = [Intent::body($standing), Entry::INTENT];
            }
            $this->truth->write([new Change($key, $body, $this->writer, $record->position, kind: $kind, strict: true, epoch: $snapshot->epoch)]);
        }

        return $standing;
    }

    /** The request's copies of a space, and of those in it, go. */
    public function forget(Space $space): void
    {
        foreach ($this->open() as $entries => [$below, $copies]) {
            if (Space::covers($space->flush(), $entries)) {
                $this->lose($below, $copies);
            }
        }
    }

    /**
     * All copies of a space go. That they had been read stays true; but of what was not, the first read is yet to come,
     * and is after this.
     */
    private function lose(Space $space, RequestTier $copies): void
    {
        foreach ($copies->names() as $name) {
            $this->history->gone($space->entries . $name);
        }
        $copies->clear();
    }

    /** An intent was seen to stand on the key. */
    public function hold(string $key): void
    {
        if (\count($this->held) < self::HELD) {
            $this->held[$key] = true;
        }
    }

    /** Whether an intent was seen to stand on the key in this request. */
    public function isHeld(string $key): bool
    {
        // More than can be noted: any key may be.
        return isset($this->held[$key]) || \count($this->held) >= self::HELD;
    }

    /** The last flush that covers a space. */
    public function floor(Space $space): int
    {
        if (isset($this->floors[$space->path])) {
            return $this->floors[$space->path];
        }
        $floor = 0;
        foreach ($space->flushes as $marker) {
            $position = $this->marker($marker);
            if ($position > $floor) {
                $floor = $position;
            }
        }
        if ($floor !== \PHP_INT_MAX) {
            $this->floors[$space->path] = $floor;
        }

        return $floor;
    }

    /** @return array<string, int> the markers that a value of this space with these tags depends on, each with its limit */
    public function guards(Space $space, Entry $entry, int $reference): array
    {
        $this->precede($space, $entry);
        $guards = [];
        foreach ([...$space->flushes, ...$entry->tags] as $marker) {
            $guards[$marker] = $this->history->changed($marker, $reference) ? -1 : $this->history->limit($marker, $reference);
        }

        return $guards;
    }

    /**
     * Markers come before what they cover, so that one that is missing later is known to be lost.
     *
     * @return bool false: nobody can say where one of them is, so what it covers would count as invalid
     */
    public function precede(Space $space, Entry $entry): bool
    {
        return !$this->truth->store->forgets() || ($this->floor($space) !== \PHP_INT_MAX && $this->tagsHold($entry, \PHP_INT_MAX));
    }

    /** A change that this process made or learned of. */
    public function changed(string $key, int $position, bool $own): void
    {
        if ($key[0] === 'f' || $key[0] === 't') {
            if ($own) {
                $this->markers[$key] = \max($position, $this->markers[$key] ?? 0);
            } else {
                // Some stores also list what was announced and never made: it is asked for when it is needed.
                unset($this->markers[$key]);
            }
            $this->floors = [];
            if ($key[0] === 'f') {
                foreach ($this->open() as [$space, $copies]) {
                    if (Space::covers($key, $space->entries)) {
                        $this->lose($space, $copies);
                    }
                }
            } else {
                // Which copies carry the tag is not kept; the tags of one space concern only that space.
                $path = \substr($key, 2, (int) \strpos($key, ':', 2) - 2);
                [$space, $reference] = $this->spaces['e:' . $path . ':'] ?? [null, null];
                $copies = $reference?->get();
                if ($space !== null && $copies !== null) {
                    $this->lose($space, $copies);
                }
            }
            $this->version++;
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

    /** After a fork: the child is a request of its own and owes nothing that its parent promised. */
    public function forked(): bool
    {
        $pid = Process::id();
        if ($pid === $this->pid) {
            return false;
        }
        $this->pid = $pid;
        $this->writer = \bin2hex(\random_bytes(6));
        $this->leases->forget();
        $this->version++;

        return true;
    }

    public function tagsHold(Entry $entry, int $position): bool
    {
        foreach ($entry->tags as $tag) {
            if ($this->marker($tag) >= $position) {
                return false;
            }
        }

        return true;
    }

    public function marker(string $marker): int
    {
        if (isset($this->markers[$marker])) {
            return $this->markers[$marker];
        }
        if ($this->nearReadable) {
            foreach ($this->nears as $near) {
                $position = $near->marker($marker);
                if ($position !== null) {
                    return $this->markers[$marker] = $position;
                }
            }
        }
        $this->isBegun || $this->start();
        // With those above it: see unknownFlushes().
        $above = Markers::covering($marker);
        $snapshot = $this->again([$marker, ...$above]);
        if ($snapshot === null) {
            // Without an answer nothing is known to be good.
            return \PHP_INT_MAX;
        }
        foreach ($above as $each) {
            $this->learnMarker($each, $snapshot);
        }

        return $this->learnMarker($marker, $snapshot);
    }

    /** @param Snapshot $snapshot has those above it too */
    public function learnMarker(string $marker, Snapshot $snapshot): int
    {
        if (\count($this->markers) >= self::MARKERS) {
            // They are asked for again, but for those that nobody could set.
            $this->markers = \array_filter($this->markers, static fn(int $position): bool => $position === \PHP_INT_MAX);
            $this->floors = [];
        }
        $known = $this->markers[$marker] ?? -1;
        if ($known === \PHP_INT_MAX) {
            return $known;
        }
        $record = $snapshot->records[$marker] ?? null;
        $position = $record->position ?? 0;
        if ($record !== null && ($record->body[0] ?? '') === Entry::INTENT) {
            $standing = $this->standing($marker, $record, $snapshot);
            // The near tiers do not hear of a death, so they are not told.
            $this->heldMarkers[$marker] = true;

            // Where its writer is dead, and where that has just been noticed, it is about to move once more.
            return $this->noteMarker($marker, $standing !== [] && Intent::live($standing) ? $position : \PHP_INT_MAX);
        }
        if ($position === 0 && $this->truth->store->forgets()) {
            $position = $this->makeMarker($marker, $snapshot);
            if ($position === \PHP_INT_MAX) {
                // Not now, inside another call for example; the next one who asks may be able to.
                return $position;
            }
        }
        foreach (Markers::covering($marker) as $above) {
            // For whoever reads it near, beside an older one above it.
            $position = \max($position, $snapshot->records[$above]->position ?? 0);
        }
        if ($known !== $position) {
            foreach ($this->nears as $near) {
                $near->putMarker($marker, $position, \max($snapshot->at, $position), $snapshot->epoch);
            }
        }

        return $this->noteMarker($marker, $position);
    }

    private function noteMarker(string $marker, int $position): int
    {
        if (($this->markers[$marker] ?? $position) !== $position) {
            $this->floors = [];
            $this->version++;
        }

        return $this->markers[$marker] = $position;
    }

    /**
     * The store may have evicted it, or never had it: what it guarded counts as invalidated from now.
     *
     * Where many do so at once, some are refused because of others who are not yet done and may be refused as well:
     * none of these is where the marker will be, and what is computed from such a position is not stored. So after a
     * refusal one of them makes it, and the others wait for that.
     */
    private function makeMarker(string $marker, Snapshot $snapshot): int
    {
        $change = fn(Snapshot $snapshot): Change => new Change(
            $marker,
            Entry::MADE,
            $this->writer,
            $snapshot->at,
            kind: Entry::MADE,
            strict: true,
            epoch: $snapshot->epoch,
        );
        $this->noteForgotten($marker, $snapshot);
        $outcome = $this->truth->write([$change($snapshot)])[0] ?? null;
        if ($outcome === null || $outcome->done) {
            return $outcome->position ?? \PHP_INT_MAX;
        }
        $turn = 'm' . $marker;
        $end = \hrtime(true) + self::MAKING * 1000000;
        for ($pause = 500; ; $pause = \min(2 * $pause, self::LONGEST_PAUSE)) {
            $taken = $this->leases->take($turn, self::MAKING);
            $snapshot = $this->again([$marker]);
            $position = $snapshot->records[$marker]->position ?? 0;
            $late = \hrtime(true) > $end;
            if ($snapshot !== null && $position === 0 && ($taken === true || $late)) {
                $this->noteForgotten($marker, $snapshot);
                $outcome = $this->truth->write([$change($snapshot)])[0] ?? null;
                // Those who began before anybody waited may still be in the way.
                $position = $outcome === null ? \PHP_INT_MAX : ($outcome->done || $late ? \max(0, $outcome->position) : 0);
            }
            $this->leases->giveBack($turn);
            if ($snapshot === null || $position !== 0 || $late) {
                return $position === 0 ? \PHP_INT_MAX : $position;
            }
            Process::pause(\random_int($pause, 2 * $pause));
        }
    }

    /**
     * The marker that is about to be made will be its key's last change: who moved it before it was forgotten is listed
     * until then only, and counts against what this request has computed.
     */
    private function noteForgotten(string $marker, Snapshot $snapshot): void
    {
        $history = $this->history;
        if ($snapshot->at <= $history->seen) {
            return;
        }
        $changes = $this->truth->since($history->epoch, $history->seen, '');
        if ($changes === null || !$changes->complete || $changes->epoch !== $history->epoch) {
            $history->foreign($marker, $snapshot->at, '');

            return;
        }
        foreach ($changes->list as [$key, $position, $writer, $kind]) {
            if ($key === $marker && $writer !== $this->writer && $kind !== Entry::MADE) {
                $history->foreign($marker, $position, $kind);
            }
        }
    }

    private function forgetAll(): void
    {
        $this->news++;
        $this->markers = $this->floors = [];
        foreach ($this->open() as [, $copies]) {
            $copies->clear();
        }
        $this->history->goneAll();
        $this->version++;
    }
}
