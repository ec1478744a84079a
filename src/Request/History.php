<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\Markers;

/**
 * Remembers what one request knows of the journal: where the request started, at which position it first read each key,
 * and what others have changed since. From this follows the position by which each write is judged.
 *
 *        start                      seen
 *     ─────┬──────────────────────────┬──────────────▶ positions
 *          │ all foreign changes here │ changes here are known to the store only: a write carries
 *          │ are in $foreign          │ `seen` as its limit, and the store finds what came after
 *
 * A long-running process renews its copies, but its start stays the same until the application calls refresh(), which
 * says that it holds nothing it read before.
 *
 * This class reads and writes no store.
 */
final class History
{
    /** How a key was first read: as a hit, or not at all (the table of conflicts treats both alike). */
    public const SEEN = 0;
    /** As a miss. */
    public const MISSED = 1;
    /** As a value of bounded life: nothing computed from it is stored. */
    public const UNSURE = 2;

    /** As a miss, after which this request has filled the key: the next miss begins a view anew. */
    private const FILLED = 3;

    /** More keys than this are not remembered one by one. */
    private const MANY = 50000;

    /** Nor when their names together have more bytes: a key may have 64 kB. */
    private const BYTES = 16_777_216;

    public string $epoch = '';
    public int $seen = 0;
    public string $token = '';

    /** Others' moves of markers are known up to here: at least up to `seen`. */
    public int $markersSeen = 0;
    public int $start = 0;

    /** Up to this position others' changes are unknown: a key first read before it counts as changed. */
    private int $lost = -1;

    /** What others changed after the start and up to this position only the store knows: see beginBefore(). */
    private int $untold = -1;

    /** Near copies before this position may be older than a change of this request whose position was forgotten. */
    public int $ownFloor = 0;
    private int $lastOwn = 0;

    /** Every read counts as made at this position or before. */
    private int $latest = \PHP_INT_MAX;

    /** @var array<string, array{int, int, int}> how, at which position and at which moment a key was first read, unless `start` says it */
    private array $first = [];

    /** @var array<string, array{int, string}> position and kind of others' last change of a key since the start */
    private array $foreign = [];

    /** @var ?array{int, int, int} the value in $first shared by all keys read at the start */
    private ?array $early = null;

    /** Some first reads have been forgotten: a key that $first lacks may have been read at the start. */
    private bool $forgetful = false;

    /** Grows with each change of this request, as long as it notes them. */
    public int $moment = 0;

    /** True: something may be computed now, so this request notes what it changes meanwhile. */
    public bool $isWatched = false;

    /** True: several may compute one key at the same time, so what one of them stores is noted too. */
    public bool $isShared = false;

    /** @var array<string, int> the moments of this request's last changes, by key or marker */
    private array $mine = [];

    /** Any key or marker that is not in $mine counts as changed at this moment. */
    private int $mineAll = 0;

    /**
     * @var array<string, array{0: int, 1: int, 2: int, 3?: array{int, int, int}}> the same of the miss with which the
     *      view of a key began, and of the oldest one before that it has not filled since
     */
    private array $missed = [];

    /** The moment of this request's last change. */
    private int $changedAt = 0;

    /** @var array<string, true> see wasFound() */
    private array $found = [];

    /** How often readAnew() was called. */
    private int $readings = 0;

    /** @var array<string, array{int, int}> see missedAgain(), and how often readAnew() had been called then */
    private array $again = [];

    /** Some of these have been forgotten: a key that they lack may have been missed before all of this request's changes. */
    private bool $lacksMisses = false;

    /** Bytes of the names noted since the last time that all were forgotten, at most. */
    private int $bytes = 0;

    /** Begins the request, or begins it anew: it holds nothing that was read before. */
    public function begin(JournalSlice $now): void
    {
        $this->beginAt($now->epoch, $now->end, $now->token);
    }

    public function beginAt(string $epoch, int $position, string $token): void
    {
        $this->epoch = $epoch;
        $this->start = $this->seen = $this->markersSeen = $position;
        $this->token = $token;
        $this->lost = $this->untold = -1;
        $this->early = null;
        $this->first = $this->foreign = $this->found = $this->again = [];
        $this->readings = 0;
        $this->bytes = 0;
        $this->forgetful = false;
        $this->latest = \PHP_INT_MAX;
        $this->ownFloor = $this->lastOwn = 0;
    }

    /**
     * A fiber's view begins with its first call, but what it sets may come from what the application read before that. When the
     * fiber began is not known, but not before the main program's view. So a key that the fiber has not read is judged from
     * there, by the store. After refresh() it is judged from that point.
     */
    public function beginBefore(string $epoch, int $position): void
    {
        $this->untold = $this->start;
        $this->start = $epoch === $this->epoch ? \min($position, $this->start) : -1;
    }

    /** Begins without an answer of the truth tier: every write counts as made after unknown changes. */
    public function beginBlind(): void
    {
        $this->beginAt('', -1, '');
        $this->lost = 0;
    }

    /** Notes others' changes since `seen`. */
    public function learn(JournalSlice $changes, string $writer): void
    {
        if (!$changes->complete || $changes->epoch !== $this->epoch) {
            // The journal no longer tells which keys changed, or a new epoch counts its own positions.
            if ($changes->epoch !== $this->epoch) {
                $this->start = -1;
                $this->early = null;
                $this->first = $this->found = $this->again = [];
                $this->changeAll();
            }
            $this->foreign = [];
            $this->lost = $changes->end;
        }
        foreach ($changes->list as [$key, $position, $by, $kind]) {
            // A marker that was only made anew (c) is not a flush.
            if ($by !== $writer && $kind !== 'c') {
                $this->foreign[$key] = [$position, $kind];
            }
        }
        $this->bound($changes->end);
        $this->epoch = $changes->epoch;
        $this->seen = $this->markersSeen = $changes->end;
        $this->token = $changes->token;
    }

    /** Others' moves of markers since `markersSeen`, from a complete answer of this epoch; of other keys nothing is learned. */
    public function learnMarkers(JournalSlice $changes, string $writer): void
    {
        foreach ($changes->list as [$key, $position, $by, $kind]) {
            if ($by !== $writer && $kind !== 'c' && Markers::is($key)) {
                $this->foreign($key, $position, $kind);
            }
        }
        $this->bound($changes->end);
        $this->markersSeen = \max($this->markersSeen, $changes->end);
    }

    /**
     * Notes this request's own change: if its position is the very next one, no other writer changed anything since `seen`.
     *
     * @param int $step how far the position lies above the journal's previous end
     */
    public function own(int $position, int $step): void
    {
        if ($position > $this->lastOwn) {
            $this->lastOwn = $position;
        }
        $before = $position - $step;
        if ($before === $this->seen) {
            $this->seen = $position;
        }
        if ($before === $this->markersSeen) {
            $this->markersSeen = $position;
        }
    }

    /**
     * Notes that a request tier forgets at which positions this request changed some keys.
     *
     * @param array<array-key, int> $positions PHP_INT_MAX: the position is unknown
     */
    public function forgetOwn(array $positions): void
    {
        $this->ownFloor = \in_array(\PHP_INT_MAX, $positions, true) ? \PHP_INT_MAX : \max($this->ownFloor, $this->lastOwn);
    }

    public function hit(string $key, int $position, bool $unsure): void
    {
        if ($unsure) {
            $this->note($key, self::UNSURE, $this->first[$key][1] ?? $position);
        } elseif ($position > $this->start && !isset($this->first[$key])) {
            $this->note($key, self::SEEN, $this->forgetful ? $this->start : $position);
        }
    }

    public function miss(string $key, int $position): void
    {
        unset($this->found[$key]);
        if (!isset($this->first[$key])) {
            $this->forgetful
                ? $this->note($key, self::SEEN, $this->start)
                : $this->note($key, self::MISSED, $position);
        } elseif ($this->readings > ($this->again[$key][1] ?? 0) && $this->first[$key][0] === self::MISSED) {
            $this->again[$key] = [$position, $this->readings];
        }
        $this->missedNow($key, $position);
    }

    /** The store gave no answer: nothing is known of the key, but the application may compute what it lacks from here on. */
    public function unanswered(string $key): void
    {
        $this->missedNow($key, \PHP_INT_MAX);
    }

    /**
     * This request alone was chosen to compute the key anew, so its first read of the key is now.
     *
     * @return int the position from which it is judged
     */
    public function anew(string $key, int $position): int
    {
        $this->note($key, self::MISSED, $position);
        $this->missedNow($key, $position, true);

        return $this->first[$key][1];
    }

    /**
     * Where this request's view of a key began, from which it fills it: at its own first miss since it last changed anything
     * or filled the key. A call in the middle may have begun a newer one since.
     *
     * @param int $now the moment at which the caller's fill was called
     *
     * @return array{int, int, int} how, position and moment; without a miss, now
     */
    public function beginning(string $key, int $now): array
    {
        $this->isWatched = true;
        $missed = $this->missed[$key] ?? null;
        if ($missed !== null && $missed[2] > $now) {
            // Of a call in the middle of the fill.
            $missed = $missed[3] ?? null;
        }
        if ($missed === null) {
            return [self::SEEN, \PHP_INT_MAX, $this->lacksMisses ? 0 : $now];
        }
        if ($this->isShared) {
            // What was in the middle of an older computation fills first.
            $this->missed[$key] = $missed[3] ?? [self::FILLED, $missed[1], $missed[2]];
        }

        return [$missed[0], $missed[1], $missed[2]];
    }

    /** The view of a key begins now, as far as this request's own changes count. */
    public function beginHere(string $key): void
    {
        unset($this->missed[$key]);
    }

    /** A computation begins. From the moment that this returns, the request notes what it changes: see hasChanged(). */
    public function watch(): int
    {
        $this->isWatched = $this->isShared = true;

        return $this->moment;
    }

    /**
     * This request is about to change the key, or to move the marker; or has just done so, for a destructor may have begun a
     * view in the middle. A view that began before the last of these calls must not store what it computed.
     */
    public function change(string $key): void
    {
        if ($this->isWatched) {
            ($this->bytes += \strlen($key)) > self::BYTES && $this->forgetNames();
            $this->mine[$key] = $this->changedAt = ++$this->moment;
            if (\count($this->mine) > self::MANY) {
                $this->changeAll();
            }
        }
    }

    /** Whatever is being computed now counts as changed meanwhile by this request itself. */
    public function changeAll(): void
    {
        $this->mineAll = ++$this->moment;
        $this->mine = [];
    }

    /** Whether this request itself has changed the entry's key since that moment, or moved a marker that covers it. */
    public function hasChanged(string $key, Space $space, Entry $entry, int $since): bool
    {
        if ($this->mineAll > $since || ($this->mine[$key] ?? 0) > $since) {
            return true;
        }
        foreach ([...$space->flushes, ...$entry->tags] as $marker) {
            if (($this->mine[$marker] ?? 0) > $since) {
                return true;
            }
        }

        return false;
    }

    /** The application holds nothing any longer that it has read. What calls further out compute is refused. */
    public function refresh(): void
    {
        $this->changeAll();
        $this->isWatched = $this->isShared = $this->lacksMisses = false;
        $this->missed = [];
    }

    /** Notes that the key was read, because the request drops the copy that showed it. */
    public function gone(string $key): void
    {
        if (!isset($this->first[$key])) {
            $this->room();
            $this->first[$key] = $this->early ??= [self::SEEN, $this->start, $this->moment];
        } else {
            $this->found($key);
        }
    }

    /** Notes that a key that was missed first has been read since, because the request drops the copy that showed it. */
    public function found(string $key): void
    {
        if (($this->first[$key][0] ?? null) === self::MISSED) {
            $this->found[$key] = true;
        }
    }

    /** Whether the key, which was missed first, has been read since, and the copy that showed it was dropped. */
    public function wasFound(string $key): bool
    {
        return isset($this->found[$key]);
    }

    /** The application reads anew from here on what it is going to change: it holds a lock under which all do. */
    public function readAnew(): void
    {
        ++$this->readings;
    }

    /** Where the key, which was missed first, was missed for the first time after the last readAnew() that a miss followed; null: none did. */
    public function missedAgain(string $key): ?int
    {
        return $this->again[$key][0] ?? null;
    }

    /**
     * A value for the key is about to be encoded and written. A destructor, which the garbage collector may run anywhere, or the
     * value's own __serialize() may read a newer one meanwhile, which is not what the value was computed from.
     *
     * @return bool whether unpin() is to be called after the write
     */
    public function pin(string $key): bool
    {
        if (isset($this->first[$key])) {
            return false;
        }
        $this->first[$key] = $this->early ??= [self::SEEN, $this->start, $this->moment];

        return true;
    }

    public function unpin(string $key): void
    {
        if (($this->first[$key] ?? null) === $this->early) {
            unset($this->first[$key]);
        }
    }

    /**
     * This request read and replaced the value in one step: its next write is judged from this position.
     *
     * @param bool $unsure the value was of bounded life, so the one made from it is too
     */
    public function swapped(string $key, int $position, bool $unsure): void
    {
        $this->note($key, $unsure ? self::UNSURE : self::SEEN, $position);
    }

    /** The request drops all its copies without listing their keys. */
    public function goneAll(): void
    {
        $this->forgetful = true;
    }

    /** Notes another request's change that was found outside learn(). */
    public function foreign(string $key, int $position, string $kind): void
    {
        if ($position > ($this->foreign[$key][0] ?? 0)) {
            $this->foreign[$key] = [$position, $kind];
        }
    }

    /** @return array{int, int} how the key was first read, and the position by which its writes are judged */
    public function reference(string $key): array
    {
        return $this->first[$key] ?? [self::SEEN, $this->start, $this->moment];
    }

    /**
     * The limit that a write of this key carries: no other writer may have changed the key after that position.
     * -1: changes up to `lost` are unknown, so the write conflicts.
     */
    public function limit(string $key, int $reference): int
    {
        if ($this->lost > $reference) {
            return -1;
        }

        return $reference < $this->untold || ($this->foreign[$key][0] ?? 0) > $reference ? $reference : \max($reference, $this->seen);
    }

    /** Whether another request changed the key after that position, or may have because the changes since are unknown. */
    public function changed(string $key, int $reference): bool
    {
        return $this->lost > $reference || ($this->foreign[$key][0] ?? 0) > $reference;
    }

    /**
     * The limit of a key that, as far as is known, no other writer has changed after that position, nor moved a marker of its own;
     * null: one has, or may have.
     *
     * @param list<string> $markers
     */
    public function limitOfAll(string $key, array $markers, int $reference): ?int
    {
        if ($this->lost > $reference) {
            return null;
        }
        foreach ($this->foreign === [] ? [] : [$key, ...$markers] as $each) {
            if (($this->foreign[$each][0] ?? 0) > $reference) {
                return null;
            }
        }

        if ($reference < $this->untold) {
            return $reference < 0 ? null : $reference;
        }

        return $reference > $this->seen ? $reference : $this->seen;
    }

    /** Whether others' changes after that position are known here. */
    public function knows(int $reference): bool
    {
        return $reference >= $this->untold;
    }

    /** Kind of others' last change of a key; '' if unknown. */
    public function kind(string $key): string
    {
        return $this->foreign[$key][1] ?? '';
    }

    /** A database transaction begins: until its end it may show the rows of now, so reads count as made now. */
    public function freeze(): void
    {
        $this->latest = $this->seen;
    }

    public function thaw(): void
    {
        $this->latest = \PHP_INT_MAX;
    }

    /** Whether a database transaction is open. */
    public function isFrozen(): bool
    {
        return $this->latest !== \PHP_INT_MAX;
    }

    /** Notes no more changes than there is room for: of all others nothing is known then. */
    private function bound(int $end): void
    {
        if (\count($this->foreign) > self::MANY) {
            $this->foreign = [];
            $this->lost = $end;
        }
    }

    /** @param bool $anew a view that has begun already begins anew */
    private function missedNow(string $key, int $position, bool $anew = false): void
    {
        $this->isWatched = true;
        ($this->bytes += \strlen($key)) > self::BYTES && $this->forgetNames();
        $before = $this->missed[$key] ?? null;
        if ($before !== null && !$anew && $before[2] >= $this->changedAt && $before[0] !== self::FILLED) {
            return;
        }
        $missed = $this->first[$key] ?? [self::SEEN, \PHP_INT_MAX, $this->moment];
        if ($missed[2] !== $this->moment) {
            $missed = [self::MISSED, $position < $this->latest ? $position : $this->latest, $this->moment];
        }
        if ($before !== null && $before[0] !== self::FILLED && $before[2] < $this->changedAt) {
            // What has changed the key meanwhile may have done so in the middle of a computation, which still goes on.
            $missed[3] = $before[3] ?? [$before[0], $before[1], $before[2]];
            $this->isShared = true;
        }
        $this->missed[$key] = $missed;
        if (\count($this->missed) > self::MANY) {
            $this->missed = [];
            $this->lacksMisses = true;
        }
    }

    private function note(string $key, int $how, int $position): void
    {
        $this->room();
        ($this->bytes += \strlen($key)) > self::BYTES && $this->forgetNames();
        $this->first[$key] = [$how, $position < $this->latest ? $position : $this->latest, $this->moment];
    }

    private function forgetNames(): void
    {
        $this->bytes = 0;
        $this->first = $this->missed = $this->found = $this->again = [];
        $this->forgetful = $this->lacksMisses = true;
        $this->changeAll();
    }

    private function room(): void
    {
        if (\count($this->first) > self::MANY) {
            $this->first = $this->found = $this->again = [];
            $this->forgetful = true;
        }
    }
}
