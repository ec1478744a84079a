<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Store\Change;
use Larder\Store\StoreFailure;

/**
 * Settles what writers left behind that died, or were stopped, between the steps of Logged: done by whoever finds
 * the log unsettled for five seconds, so that its end does not stand still.
 *
 * A slot is first marked FENCED, by CAS: its writer, should it go on, then gives up if it has not read the items yet.
 * If it has, its CAS must fail: every item it named that is older than its position is removed, in the log, like
 * by anybody else. Only then the slot is settled. An item that has its position already was written in time.
 */
final class Healer
{
    /** Who removes what a dead writer was about to change. */
    public const WRITER = '000000000000';

    /** Slots, and gaps, at a time: the rest is left to whoever looks next. */
    private const SLOTS = 8;
    private const GAPS = 64;

    /** Seconds for which it is remembered when a gap was first seen. */
    private const MEMORY = 3600;

    public function __construct(
        private readonly Servers $servers,
        private readonly Keys $keys,
        private readonly Log $log,
        private readonly Logged $logged,
    ) {}

    /** @throws StoreFailure */
    public function heal(Window $window): void
    {
        $gaps = $slots = [];
        foreach ($window->stretches as [$first, $last, $slot]) {
            if ($slot === null && $last > $this->log->end && \count($gaps) < self::GAPS) {
                $gaps[$first] = $last;
            } elseif ($slot !== null && $slot->abandoned() && \count($slots) < self::SLOTS) {
                $slots[] = $slot;
            }
        }
        foreach ($slots as $slot) {
            $this->fence($slot);
        }
        if ($gaps !== []) {
            $this->close($gaps);
        }
    }

    private function fence(Slot $slot): void
    {
        $server = $this->servers->log;
        $name = $this->keys->slot($slot->last);
        $batch = new Batch($this->servers);
        $fenced = Slot::encode(Slot::FENCED, $slot->first, $slot->last, Slot::now(), $slot->entries);
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
        $removals = [];
        foreach ($slot->entries as $n => [, , $key, $done]) {
            $item = $done ? Item::decode($batch->items[$names[$key]] ?? null, $key) : null;
            $position = $slot->first + $n;
            if ($item === null || $item->position >= $position) {
                continue;
            }
            if ($item->known() && !$item->held()) {
                // What somebody else has written since is safe from the dead writer, and not ours to remove.
                $removals[] = new Change($key, null, self::WRITER, $position, kind: 'x', strict: true);
            } else {
                // Nothing is there to be stale, and an intent must stand: the same again, with another token.
                $batch->store($this->servers->of($names[$key]), 'cas', $names[$key], $batch->items[$names[$key]][0], Item::REMEMBERED, $item->token);
            }
        }
        $batch->run();
        $this->logged->apply($removals);
        $settled = Slot::encode(Slot::SETTLED, $slot->first, $slot->last, Slot::now(), $slot->entries);
        $batch->store($server, 'cas', $name, $settled, Slot::LIFE, $batch->items[$name][1] ?? '0');
        $batch->run();
    }

    /**
     * Positions whose slots are not there: given out a moment ago, or to a writer that died before it said what for,
     * or evicted. After five seconds they are UNKNOWN: their writer, should it go on, cannot add its slot any more,
     * and who needs to know what happened there has to take it that anything did.
     *
     * From the last to the first: a writer of several positions adds its slot at its last one, so that it is shut
     * out before any of them counts as settled.
     *
     * @param array<int, int> $gaps first to last position
     */
    private function close(array $gaps): void
    {
        $server = $this->servers->log;
        $batch = new Batch($this->servers);
        foreach ($gaps as $first => $last) {
            $batch->store($server, 'add', $this->keys->gap($first), $last . ' ' . Slot::now(), self::MEMORY);
            $batch->gets($server, [$this->keys->gap($first)]);
        }
        $batch->run();
        $grown = [];
        foreach ($gaps as $first => $last) {
            [$until, $seen] = \explode(' ', $batch->items[$this->keys->gap($first)][0] ?? '0 0') + ['0', '0'];
            if ((int) $seen !== 0 && \abs(Slot::now() - (int) $seen) > Slot::PATIENCE) {
                $this->shut($first, \min((int) $until, $last));
            }
            if ((int) $seen !== 0 && (int) $until < $last) {
                // Another one beside it, later: its time counts from now.
                $grown[(int) $until + 1] = $last;
            }
        }
        if ($grown !== []) {
            $this->close($grown);
        }
    }

    private function shut(int $first, int $last): void
    {
        $server = $this->servers->log;
        for ($n = $last; $n >= $first; $n--) {
            $batch = new Batch($this->servers);
            $number = $batch->store($server, 'add', $this->keys->slot($n), Slot::encode(Slot::UNKNOWN, $n, $n, Slot::now(), []), Slot::LIFE);
            $batch->run();
            if ($batch->replies[$number] !== 'STORED') {
                return;
            }
        }
    }
}
