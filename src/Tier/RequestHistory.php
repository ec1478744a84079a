<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Store\Changes;
use Larder\Store\Outcome;

/**
 * What one request knows of the journal: since when it looks, what it read first and at which position, and what
 * others have changed since. From it follows the position by which each of its writes is judged.
 *
 *        start                      seen
 *     ─────┬──────────────────────────┬──────────────▶ positions
 *          │ all foreign changes here │ changes here are known to the store only: a write carries
 *          │ are in $foreign          │ `seen` as its limit, and the store finds what came after
 *
 * The start stays where the request began, also in a process that lives on and renews its copies, until the
 * application says by refresh() that it holds nothing from before.
 *
 * This folder holds what is known about the log of changes. It reads and writes no store.
 */
final class RequestHistory
{
    /** How a key was first read: not at all or as a hit (one row in the table of conflicts). */
    public const SEEN = 0;
    /** As a miss. */
    public const MISSED = 1;
    /** As a value of bounded life: nothing computed from it is stored. */
    public const UNSURE = 2;

    /** More keys than this are not remembered one by one. */
    private const MANY = 50000;

    public string $epoch = '';
    public int $seen = 0;
    public string $token = '';
    private int $start = 0;

    /** Nothing is known about foreign changes up to here: whatever was read before that counts as changed. */
    private int $lost = -1;

    /** Near copies before this may be older than a change of this request that is not noted any more. */
    public int $ownFloor = 0;
    private int $lastOwn = 0;

    /** No read counts as later than this. */
    private int $latest = \PHP_INT_MAX;

    /** @var array<string, array{int, int}> how and at which position a key was read first, where `start` does not say it */
    private array $first = [];

    /** @var array<string, array{int, string}> position and kind of the last foreign change since the start */
    private array $foreign = [];

    /** @var ?array{int, int} what $first has of keys read at the start: one for all of them */
    private ?array $early = null;

    /** First reads have been forgotten: a key that is not in $first may have been read at the start. */
    private bool $forgetful = false;

    /** The request begins (again): it holds nothing from before. */
    public function begin(Changes $now): void
    {
        $this->epoch = $now->epoch;
        $this->start = $this->seen = $now->end;
        $this->token = $now->token;
        $this->lost = -1;
        $this->early = null;
        $this->first = $this->foreign = [];
        $this->forgetful = false;
        $this->latest = \PHP_INT_MAX;
        $this->ownFloor = $this->lastOwn = 0;
    }

    /** The truth cannot be asked: every write counts as one that comes after unknown changes. */
    public function beginBlind(): void
    {
        $this->begin(new Changes('', -1, '', false));
        $this->lost = 0;
    }

    /** Others' changes since `seen`. */
    public function learn(Changes $changes, string $writer): void
    {
        if (!$changes->complete || $changes->epoch !== $this->epoch) {
            // Which keys changed is not known any more, or positions count from anew.
            if ($changes->epoch !== $this->epoch) {
                $this->start = -1;
                $this->early = null;
                $this->first = [];
            }
            $this->foreign = [];
            $this->lost = $changes->end;
        }
        foreach ($changes->list as [$key, $position, $by, $kind]) {
            // A marker made anew (c) is not a flush.
            if ($by !== $writer && $kind !== 'c') {
                $this->foreign[$key] = [$position, $kind];
            }
        }
        if (\count($this->foreign) > self::MANY) {
            $this->foreign = [];
            $this->lost = $changes->end;
        }
        $this->epoch = $changes->epoch;
        $this->seen = $changes->end;
        $this->token = $changes->token;
    }

    /** This request's own change: if it is the very next one, nobody else changed anything since `seen`. */
    public function own(Outcome $done): void
    {
        if ($done->position > $this->lastOwn) {
            $this->lastOwn = $done->position;
        }
        if ($done->position - $done->step === $this->seen) {
            $this->seen = $done->position;
        }
    }

    /**
     * The positions of own changes of some keys are not noted any more.
     *
     * @param array<array-key, int> $positions PHP_INT_MAX: of at least one it is not known
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
        if (!isset($this->first[$key])) {
            $this->forgetful
                ? $this->note($key, self::SEEN, $this->start)
                : $this->note($key, self::MISSED, $position);
        }
    }

    /** This reader, and no other, was sent to compute the key anew: what it finds there is from now. */
    public function anew(string $key, int $position): void
    {
        $this->note($key, self::MISSED, $position);
        if (($this->foreign[$key][0] ?? 0) <= $position) {
            unset($this->foreign[$key]);
        }
    }

    /** The request's copy of a key goes, but that it had been read stays true. */
    public function gone(string $key): void
    {
        if (!isset($this->first[$key])) {
            $this->room();
            $this->first[$key] = $this->early ??= [self::SEEN, $this->start];
        }
    }

    /** This request has read and replaced the value in one step: what it writes next is judged from there. */
    public function swapped(string $key, int $position): void
    {
        $this->note($key, self::SEEN, $position);
        if (($this->foreign[$key][0] ?? 0) <= $position) {
            unset($this->foreign[$key]);
        }
    }

    /** The request's copies go, and nobody lists which. */
    public function goneAll(): void
    {
        $this->forgetful = true;
    }

    /** A change by somebody else, found on the way. */
    public function foreign(string $key, int $position, string $kind): void
    {
        if ($position > ($this->foreign[$key][0] ?? 0)) {
            $this->foreign[$key] = [$position, $kind];
        }
    }

    public function start(): int
    {
        return $this->start;
    }

    /** @return array{int, int} how the key was first read, and the position by which its writes are judged */
    public function reference(string $key): array
    {
        return $this->first[$key] ?? [self::SEEN, $this->start];
    }

    /**
     * The limit that a write of this key carries: nobody else may have changed it after that position.
     * (-1: it is known already that somebody may have.)
     */
    public function limit(string $key, int $reference): int
    {
        if ($this->lost > $reference) {
            return -1;
        }

        return ($this->foreign[$key][0] ?? 0) > $reference ? $reference : \max($reference, $this->seen);
    }

    /** Whether it is known that somebody else changed the key after that position, or nothing is known since then. */
    public function changed(string $key, int $reference): bool
    {
        return $this->lost > $reference || ($this->foreign[$key][0] ?? 0) > $reference;
    }

    /** Kind of the last foreign change of a key; '' where it is not known. */
    public function kind(string $key): string
    {
        return $this->foreign[$key][1] ?? '';
    }

    /** A database transaction begins: it may show the rows of now until its end, however late they are read. */
    public function freeze(): void
    {
        $this->latest = $this->seen;
    }

    public function thaw(): void
    {
        $this->latest = \PHP_INT_MAX;
    }

    private function note(string $key, int $how, int $position): void
    {
        $this->room();
        $this->first[$key] = [$how, \min($position, $this->latest)];
    }

    private function room(): void
    {
        if (\count($this->first) > self::MANY) {
            $this->first = [];
            $this->forgetful = true;
        }
    }
}
