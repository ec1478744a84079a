<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\Store\Change;
use Larder\System\Failure;

/**
 * Settles what writers left behind that died, or were stopped, between the steps of JournaledWrite, so that the log's end does
 * not stand still. That is safe at any time, also for a writer that lives and is only slow: it begins anew. So when it
 * is done is a question of patience: readers have it for some seconds from when one of them first saw that something is
 * not settled, which they leave on the server by the server's clock; no writer's clock is asked. A writer who has to
 * know what happened at a position waits a moment, and then shuts out whoever has it.
 *
 * A slot is first marked FENCED, by CAS: its writer, should it go on, then gives up if it has not read the items yet.
 * If it has, its CAS must fail. So every item it named that is older than its position is removed, in the log, like
 * by anybody else; an atomic one, which is as good as before, is stored again as it is, which gives it another token.
 * Only then the slot is settled. An item that has its position already was written in time.
 */
final class Healer
{
    /** Who removes what a dead writer was about to change. */
    public const WRITER = '000000000000';

    /** Milliseconds after which a writer counts as dead, by the server's clock. */
    public const PATIENCE = 5000;

    /** The same for one that has not said what it will do: between the two steps nothing lies but a packet. */
    private const GAP = 1000;

    /** Slots, and gaps, that are settled at a time: the rest is left to whoever looks next. */
    private const SLOTS = 8;
    private const GAPS = 64;

    /** Slots of which is noted that they are not settled. */
    private const NOTED = 256;

    /** Seconds for which it is remembered when something was first seen. */
    private const MEMORY = 3600;

    public function __construct(
        private readonly Servers $servers,
        private readonly Keys $keys,
        private readonly Journal $log,
        private readonly JournaledWrite $logged,
    ) {}

    /**
     * Settles what has been seen unsettled for long enough.
     *
     * @throws Failure
     */
    public function heal(Window $window): void
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
                // Another one beside it, later: its time counts from now.
                $later[$this->keys->gap($until + 1)] = $last;
            }
        }
        $later === [] || $this->observe($later);
    }

    /**
     * Settles all that is not settled up to a position, without any patience.
     *
     * @throws Failure
     */
    public function force(Window $window, int $upTo): void
    {
        foreach ($window->stretches as [, $last, $slot]) {
            if ($slot !== null && $last <= $upTo && !$slot->final()) {
                $this->fence($slot);
            }
        }
        $this->shut($this->gaps($window, $upTo));
    }

    /**
     * Shuts out those who have positions and have not said what for.
     *
     * @throws Failure
     */
    public function shutGaps(Window $window): void
    {
        $this->shut($this->gaps($window, $window->to));
    }

    /** @return array<int, int> first to last position */
    private function gaps(Window $window, int $upTo): array
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
     * Notes what is seen unsettled, and by the server's clock when, if nobody has done so before.
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
        $fenced = Slot::encode(Slot::FENCED, $slot->first, $slot->last, $slot->time, $slot->entries);
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
                // What somebody else has written since is safe from the dead writer, and not ours to remove.
                $removals[] = new Change($key, null, self::WRITER, $position, kind: 'x', strict: true);
            } else {
                // Nothing is there to be stale, or an intent, a counter or a lock must stand.
                $exptime = $item->live() ? Item::exptime($item->expiry, $item->expiry === 0 ? 0 : $this->log->now()) : Item::REMEMBERED;
                $again[] = $batch->store($this->servers->of($names[$key]), 'cas', $names[$key], $batch->items[$names[$key]][0], $exptime, $item->token);
            }
        }
        $batch->run();
        foreach ($again as $number) {
            if (\str_starts_with($batch->replies[$number], 'SERVER_ERROR')) {
                // It has the token still that its writer knows. Who looks next tries again.
                return;
            }
        }
        $this->logged->apply($removals);
        $settled = Slot::encode(Slot::SETTLED, $slot->first, $slot->last, $slot->time, $slot->entries);
        $batch->store($server, 'cas', $name, $settled, Slot::LIFE, $batch->items[$name][1] ?? '0');
        $batch->run();
    }

    /**
     * Positions whose slots are not there: given out a moment ago, or to a writer that died before it said what for,
     * or evicted. Then they are UNKNOWN: their writer, should it go on, cannot add its slot any more, and who needs to
     * know what happened there has to take it that anything did.
     *
     * From the last to the first: a writer of several positions adds its slot at its last one, so that it is shut
     * out before any of them counts as settled. If it was faster, what is added below is covered by its slot.
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
