<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\Store\Change;
use Larder\System\Failure;

/**
 * Settles what a writer left open when it died, or was stopped, between the steps of JournaledWrite, so that the journal's
 * end moves on. That is always safe: a writer that lives and is only slow begins its write again. So it is only a question
 * of how long to wait. Readers wait some seconds after one of them first saw that a position is not settled; that reader
 * notes the time on the server, by the server's clock. No writer's clock counts. A writer that must know what happened at
 * a position waits a moment, and then shuts out the position's writer.
 *
 * The process that heals first marks the slot FENCED, by CAS. If the slot's writer continues and has not read the items
 * yet, it sees the mark and gives up. If it has read them, its CAS must fail. So every item that the slot names, and that
 * is older than the slot's position, is removed by an ordinary change in the journal. An atomic item (a counter, a
 * lock, a marker to be made anew) stays valid: it is stored again as it is, which gives it another token. Only then is the slot settled. An item that
 * already has the slot's position was written in time.
 */
final class Healer
{
    /** The writer, in the journal, of the removals that healing makes. */
    public const WRITER = '000000000000';

    /** Milliseconds after which a writer counts as dead, by the server's clock. */
    public const PATIENCE = 5000;

    /** The same for a writer that has not added its slot: only one packet lies between the two steps. */
    private const GAP = 1000;

    /** Slots, and gaps, that one call settles; the next process settles the rest. */
    private const SLOTS = 8;
    private const GAPS = 64;

    /** Unsettled slots whose time is noted. */
    private const NOTED = 256;

    /** Seconds for which the server keeps the time when a process first saw a position unsettled. */
    private const MEMORY = 3600;

    public function __construct(
        private readonly Servers $servers,
        private readonly Keys $keys,
        private readonly MemcachedJournal $log,
        private readonly JournaledWrite $logged,
    ) {}

    /**
     * Settles the slots and gaps that have been unsettled for long enough.
     *
     * @throws Failure
     */
    public function heal(SlotWindow $window): void
    {
        $gaps = \array_slice($this->gaps($window, $window->to), 0, self::GAPS, true);
        $slots = $seen = [];
        foreach ($window->stretches as [, $last, $slot]) {
            if ($slot !== null && $slot->suspect() && \count($slots) < self::NOTED) {
                $slots[$last] = $slot;
                $seen[$this->keys->open($last)] = $last;
            }
        }
        if ($gaps === [] && $slots === []) {
            return;
        }
        foreach ($gaps as $first => $last) {
            $seen[$this->keys->gap($first)] = $last;
        }
        $found = $this->observe($seen);
        $now = $this->log->now();
        $fenced = 0;
        foreach ($slots as $last => $slot) {
            if ($now - $found[$this->keys->open($last)][1] > self::PATIENCE) {
                $this->fence($slot);
                if (++$fenced === self::SLOTS) {
                    break;
                }
            }
        }
        $later = [];
        foreach ($gaps as $first => $last) {
            [$until, $time] = $found[$this->keys->gap($first)];
            if ($now - $time > self::GAP) {
                $this->shut([$first => \min($until, $last)]);
            }
            if ($until < $last) {
                // A later gap beside it: its time counts from now.
                $later[$this->keys->gap($until + 1)] = $last;
            }
        }
        $later === [] || $this->observe($later);
    }

    /**
     * Settles everything up to a position at once, without waiting.
     *
     * @throws Failure
     */
    public function force(SlotWindow $window, int $upTo): void
    {
        foreach ($window->stretches as [, $last, $slot]) {
            if ($slot !== null && $last <= $upTo && !$slot->final()) {
                $this->fence($slot);
            }
        }
        $this->shut($this->gaps($window, $upTo));
    }

    /**
     * Shuts out the writers that have taken positions and not added their slots, and those that have guessed theirs.
     *
     * @throws Failure
     */
    public function shutGaps(SlotWindow $window): void
    {
        foreach ($window->stretches as [, , $slot]) {
            $slot?->guessed === true && $this->fence($slot);
        }
        $this->shut($this->gaps($window, $window->to));
    }

    /** @return array<int, int> first to last position */
    private function gaps(SlotWindow $window, int $upTo): array
    {
        $gaps = [];
        foreach ($window->stretches as [$first, $last, $slot]) {
            if ($slot === null && $last > $this->log->end && $last <= $upTo) {
                $gaps[\max($first, $this->log->end + 1)] = $last;
            }
        }

        return $gaps;
    }

    /**
     * Notes on the server, by its clock, when these were first seen unsettled, unless another process has noted it before.
     *
     * @param array<string, int> $names to the last position
     *
     * @return array<string, array{int, int}> last position and time
     */
    private function observe(array $names): array
    {
        $now = $this->log->now();
        $batch = new Batch($this->servers);
        foreach ($names as $name => $last) {
            $batch->store($this->servers->log, 'add', $name, "$last $now", self::MEMORY);
        }
        $batch->gets($this->servers->log, \array_keys($names));
        $batch->run();
        $found = [];
        foreach ($names as $name => $last) {
            $words = \explode(' ', $batch->items[$name][0] ?? '');
            $found[$name] = isset($words[1]) ? [(int) $words[0], (int) $words[1]] : [$last, $now];
        }

        return $found;
    }

    private function fence(Slot $slot): void
    {
        $server = $this->servers->log;
        $name = $this->keys->slot($slot->last);
        $batch = new Batch($this->servers);
        // At a guessed position there may have been another writer's slot, which was evicted.
        [$state, $end] = $slot->guessed ? [\strtoupper(Slot::FENCED), Slot::UNKNOWN] : [Slot::FENCED, Slot::SETTLED];
        $fenced = Slot::encode($state, $slot->first, $slot->last, $slot->time, $slot->entries);
        $number = $batch->store($server, 'cas', $name, $fenced, Slot::LIFE, $slot->token);
        $batch->run();
        if ($batch->replies[$number] !== 'STORED') {
            return;
        }
        $names = [];
        foreach ($slot->entries as [, , $key, $done]) {
            if ($done) {
                $names[$key] = $this->keys->record($key);
            }
        }
        $batch->gets($server, [$name]);
        $batch->records(\array_values($names));
        $batch->run();
        $removals = $again = [];
        foreach ($slot->entries as $n => [, , $key, $done, $atomic]) {
            $item = $done ? Item::decode($batch->items[$names[$key]] ?? null, $key) : null;
            $position = $slot->first + $n;
            if ($item === null || $item->position >= $position) {
                continue;
            }
            if ($item->known() && !$item->held() && !$atomic) {
                // Strict, and below the slot's position: an item that was written since must stay. If another process wrote it,
                // it is safe from the dead writer; if the slot's writer did, it was in time after all.
                $removals[] = new Change($key, null, self::WRITER, $position - 1, kind: 'x', strict: true);
            } else {
                // There is no value that could be stale, or there is an intent or an atomic item, which must stay.
                $exptime = $item->live() ? Item::exptime($item->expiry, $item->expiry === 0 ? 0 : $this->log->now()) : Item::REMEMBERED;
                $again[] = $batch->store($this->servers->of($names[$key]), 'cas', $names[$key], $batch->items[$names[$key]][0], $exptime, $item->token);
            }
        }
        $batch->run();
        foreach ($again as $number) {
            if (\str_starts_with($batch->replies[$number], 'SERVER_ERROR')) {
                // The item still has the token that the slot's writer knows. The next process tries again.
                return;
            }
        }
        $this->logged->apply($removals);
        $settled = Slot::encode($end, $slot->first, $slot->last, Slot::now(), $slot->entries);
        $batch->store($server, 'cas', $name, $settled, Slot::LIFE, $batch->items[$name][1] ?? '0');
        $batch->run();
    }

    /**
     * Adds UNKNOWN slots at positions without one. Their writer took them a moment ago, or died before it added its slot,
     * or the slot was evicted. If the writer continues, it can no longer add its slot. A process that must know what
     * happened at an UNKNOWN position assumes that anything did.
     *
     * Goes from the last position to the first: a writer of several positions adds its slot at its last one, so it is shut
     * out before any of them counts as settled. If the writer was faster, its slot covers the UNKNOWN ones added below it.
     *
     * @param array<int, int> $gaps first to last position
     */
    private function shut(array $gaps): void
    {
        $batch = new Batch($this->servers);
        foreach ($gaps as $first => $last) {
            for ($n = $last; $n >= $first; $n--) {
                $batch->store($this->servers->log, 'add', $this->keys->slot($n), Slot::encode(Slot::UNKNOWN, $n, $n, Slot::now(), []), Slot::LIFE);
            }
        }
        $batch->run();
    }
}
