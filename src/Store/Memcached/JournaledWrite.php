<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\System\Clock;
use Larder\System\Failure;

/**
 * Makes changes that enter the journal. The steps of a round, in this order:
 *
 *     1  incr allocated            take positions
 *     2  add slot PENDING          announce the changes: from here on the journal names them before any process can read them
 *     3  gets slots below, head
 *     4  add empty items where a record is missing; gets records and guards, allocated, own slot
 *     5  judge (WriteConditions)
 *     6  cas records               only by the tokens of 4, so never over anything newer than what was judged
 *     7  cas slot SETTLED, cas head, gets head and allocated
 *
 * Steps 6 and 7 go in one packet if no other writer can be in the way. A round that fails in step 6 is settled as not made,
 * and the writer begins again at 1. A change that was made in step 6 is made once, whatever became of its slot: a process that
 * settled it names the change too, and a lost slot leaves a gap, after which no reader of the journal trusts its copies.
 *
 * So do steps 1 to 4 for one change, if no other was at work when the writer last looked: it guesses the position that step 1
 * will give, and the slot says that it is GUESSED. If others have written meanwhile, step 1 gives a later position. Then the
 * writer begins again at 2 with that one. It may have added its slot at the guessed one, where another writer's slot was
 * evicted, or comes a moment later. So no reader concludes from a guessed slot that nothing else happened at its position, and
 * if the guess was wrong, its slot becomes UNKNOWN.
 *
 * A writer that dies leaves its slot PENDING; the Healer then makes the writer's CAS impossible before it settles the slot.
 * This is safe because step 4 reads the own slot last: it must still be PENDING after the tokens were read.
 *
 * A record's position only grows: if an item has a higher one, the writer begins a new round.
 */
final class JournaledWrite
{
    /** Rounds after which an unconditional write gives up: it has lost to others as many times in a row. */
    private const ROUNDS = 200;

    /** Rounds that a write may make even after the time-out: on an overloaded machine other processes are slow too. */
    private const LEAST = 20;

    /** Microseconds of the first wait for a missing slot; each next one is twice as long. */
    private const WAIT = 200;

    /**
     * Waits for a missing slot: 100 ms in all, many times as long as a running writer needs between steps 1 and 2. After
     * that its writer, which may be dead, is shut out.
     */
    private const WAITS = 9;

    /** Unsettled positions after which a writer settles the older half itself: with more than KEPT it could judge nothing. */
    private const LAG = Slot::KEPT >> 1;

    private readonly OthersChanges $past;

    /** True while this object settles others' positions, which writes removals: these must not settle in turn. */
    private bool $catchesUp = false;

    /** @param float $patience seconds in which one change at least must be decided */
    public function __construct(
        private readonly Servers $servers,
        private readonly Keys $keys,
        private readonly MemcachedJournal $log,
        private readonly Chunks $parts,
        private readonly float $patience,
    ) {
        $this->past = new OthersChanges($log);
    }

    /**
     * @param array<int, Change> $changes of one writer and different keys, none of which guards another
     *
     * @return array<int, ChangeResult> by the same numbers
     *
     * @throws Failure
     */
    public function apply(array $changes): array
    {
        $outcomes = [];
        $begun = \hrtime(true);
        for ($round = 0; $changes !== []; $round++) {
            if ($round === self::ROUNDS || ($round > self::LEAST && \hrtime(true) - $begun > $this->patience * 1e9)) {
                throw Failure::because('memcached', 'other writers were faster each time');
            }
            $round > 2 && Clock::pause(\random_int(0, 100 * \min($round, 30)));
            if ($this->log->lag() > self::LAG && !$this->catchesUp) {
                $this->catchesUp = true;
                try {
                    $this->catchUp();
                } finally {
                    $this->catchesUp = false;
                }
            }
            $decided = $this->round($changes);
            if ($decided !== []) {
                $outcomes += $decided;
                $changes = \array_diff_key($changes, $outcomes);
                $begun = \hrtime(true);
                $this->servers->begin();
            }
        }

        return $outcomes;
    }

    /** The healer that settles what others have left open. Made anew each time: two objects that refer to each other would keep their sockets open. */
    public function healer(): Healer
    {
        return new Healer($this->servers, $this->keys, $this->log, $this);
    }

    /**
     * The conflict of a change's guards, for a change that does not enter the journal; null: there is none.
     *
     * @param array<array-key, ?Item> $items by key: the change's own and its guards'
     * @param int                     $top   the last position allocated before they were read
     *
     * @throws Failure
     */
    public function moved(Change $change, array $items, int $top): ?ChangeResult
    {
        $end = $this->log->end;
        $window = $this->log->window(\max($end, $top - Slot::KEPT), \max($end, $top));

        return (new ItemConditions($this->log, $this->past, $this->parts, $top + 1, $window))->conflict($change, $items);
    }

    /** Settles the positions of a slow or dead writer, because the journal's end has not moved for long. */
    private function catchUp(): void
    {
        $this->log->open();
        $end = $this->log->end;
        $top = $end + \min($this->log->lag(), Slot::KEPT);
        if ($top - $end <= self::LAG) {
            return;
        }
        $this->healer()->force($this->log->window($end, $top), $top - (self::LAG >> 1));
        $settled = $this->log->window($end, $top)->settled($end);
        if ($settled === $end) {
            throw Failure::because('memcached', 'the journal\'s end does not move on');
        }
        $batch = new Batch($this->servers);
        $this->log->move($batch, $settled);
        $batch->run();
    }

    /**
     * @param non-empty-array<int, Change> $changes
     *
     * @return array<int, ChangeResult> of the changes that are decided
     */
    private function round(array $changes): array
    {
        $now = Slot::now();
        $look = $this->announce($changes, $now);
        if ($look === null) {
            return [];
        }
        $begun = \hrtime(true);
        for ($wait = 0; $this->undecided($changes, $look); $wait++) {
            if ($wait === self::WAITS) {
                // The time so far went by for another writer, and the server has its own.
                $this->servers->begin();
                $this->healer()->shutGaps($look->window);
            } elseif ($wait > self::WAITS && \hrtime(true) - $begun > $this->patience * 1e9) {
                break;
            } else {
                // Before it is shut out the other writer may settle its position, and afterwards it may say that it changed nothing.
                Clock::pause(self::WAIT << \min($wait, self::WAITS - 1));
            }
            if (!$look->take('')) {
                return [];
            }
        }
        $judge = new ItemConditions($this->log, $this->past, $this->parts, $look->first, $look->window);
        $outcomes = $accepted = [];
        $entry = 0;
        foreach ($changes as $i => $change) {
            $item = $look->items[$change->key] ?? null;
            $conflict = $judge->conflict($change, $look->items);
            if ($conflict !== null) {
                $outcomes[$i] = $conflict;
            } elseif ($item !== null && $item->position < $look->first && ($item->known() || !$look->overtaken($change->key))) {
                $accepted[$i] = $entry;
            }
            $entry++;
        }

        return $outcomes + $this->store($changes, $accepted, $look, $now);
    }

    /**
     * Steps 1 to 4.
     *
     * @param non-empty-array<int, Change> $changes
     *
     * @return ?WriteSnapshot null: the positions are lost
     */
    private function announce(array $changes, int $now): ?WriteSnapshot
    {
        $entries = self::entries($changes, $changes);
        $guess = \count($changes) === 1 ? $this->log->next() : 0;
        if ($guess !== 0) {
            $look = new WriteSnapshot($this->servers, $this->keys, $this->log, $this->past, $changes, $guess);
            if ($look->take(Slot::encode(Slot::GUESSED, $guess, $guess, $now, $entries), true)) {
                return $look;
            }
            $last = $look->given;
            if ($last === $guess) {
                return null;
            }
        } else {
            $last = $this->log->allocate(\count($changes));
        }
        if ($last === 0) {
            return null;
        }
        $look = new WriteSnapshot($this->servers, $this->keys, $this->log, $this->past, $changes, $last);

        return $look->take(Slot::encode(Slot::PENDING, $look->first, $last, $now, $entries)) ? $look : null;
    }

    /**
     * Steps 6 and 7.
     *
     * @param non-empty-array<int, Change> $changes
     * @param array<int, int>              $accepted number of a change to its entry in the slot
     *
     * @return array<int, ChangeResult> of the accepted changes that are decided
     */
    private function store(array $changes, array $accepted, WriteSnapshot $look, int $now): array
    {
        $batch = new Batch($this->servers);
        $numbers = $written = $keys = $outcomes = [];
        foreach ($accepted as $i => $entry) {
            $change = $changes[$i];
            $writing = new ItemWrite($change, $this->keys->record($change->key), $this->parts, $this->log);
            if ($writing->refused && $change->atomic) {
                $outcomes[$i] = ChangeResult::refused();
                unset($accepted[$i]);
                continue;
            }
            $keys[$change->key] = true;
            $written[$i] = $writing;
            $numbers[$i] = $written[$i]->add($batch, $this->servers, $look->first + $entry, $look->items[$change->key]->token ?? '0');
        }
        $made = $accepted;
        if ($this->servers->count > 1 || $look->window->gap($this->log->end) || $look->window->names($keys, true)) {
            // Another writer may be in the way, so settle only the changes that were made.
            $batch->run();
            $made = \array_filter($accepted, static fn(int $i): bool => $batch->replies[$numbers[$i]] === 'STORED', \ARRAY_FILTER_USE_KEY);
        }
        $entries = self::entries($changes, $made);
        $settled = $this->settle($batch, $entries, $look, $now);
        if ($settled === '') {
            return [];
        }
        if ($settled === 'STORED') {
            $this->past->own($look->writer, $look->first, $look->last);
        } elseif (!\in_array('STORED', \array_intersect_key($batch->replies, \array_flip($numbers)), true)) {
            $look->disown();
        }
        $before = -1;
        foreach ($accepted as $i => $entry) {
            $position = $look->first + $entry;
            $reply = $batch->replies[$numbers[$i]];
            $stored = $reply === 'STORED';
            $item = $look->items[$changes[$i]->key] ?? null;
            $written[$i]->clean($stored, $item);
            if ($stored && $written[$i]->refused) {
                $outcomes[$i] = ChangeResult::refused();
            } elseif ($stored) {
                $kind = $item?->live() === true ? $item->kind : '';
                // Only this writer's own unused positions lie between this change and the one before.
                $outcomes[$i] = new ChangeResult(true, $position, $item->writer ?? '', $item->position ?? 0, $kind, step: $entry - $before);
                $before = $entry;
            } elseif (\str_starts_with($reply, 'SERVER_ERROR')) {
                $changes[$i]->atomic || $this->remove($changes[$i], $reply);
                $outcomes[$i] = ChangeResult::refused();
            }
        }

        return $outcomes;
    }

    /**
     * The entries of the slot.
     *
     * @param non-empty-array<int, Change> $changes
     * @param array<int, mixed>            $made    by the changes' numbers: those that are made, or may be
     *
     * @return list<array{string, string, string, bool, bool}>
     */
    private static function entries(array $changes, array $made): array
    {
        $entries = [];
        foreach ($changes as $i => $change) {
            $entries[] = [$change->kind, $change->writer, $change->key, isset($made[$i]), $change->atomic];
        }

        return $entries;
    }

    /**
     * Step 7.
     *
     * @param list<array{string, string, string, bool, bool}> $entries
     *
     * @return string the server's answer for the slot; '': the epoch has ended, and with it everything written in it
     */
    private function settle(Batch $batch, array $entries, WriteSnapshot $look, int $now): string
    {
        $server = $this->servers->log;
        $slot = Slot::encode(Slot::SETTLED, $look->first, $look->last, $now, $entries);
        $number = $batch->store($server, 'cas', $this->keys->slot($look->last), $slot, Slot::LIFE, $look->token);
        if ($look->window->settled($this->log->end) >= $look->first - 1) {
            $this->log->advance($batch, $look->last);
        }
        for ($n = $look->first - Slot::KEPT; $n <= $look->last - Slot::KEPT && $n <= $this->log->end; $n++) {
            if ($n > $this->log->start) {
                $batch->forget($server, $this->keys->slot($n));
            }
        }
        $batch->gets($server, [$this->keys->head, $this->keys->allocated()]);
        $batch->run();
        if (!$this->log->see($batch)) {
            return '';
        }
        $this->log->allocated($batch);

        return $batch->stored($number);
    }

    /** Removes the old record, because the server had no room for the one that was to replace it. */
    private function remove(Change $change, string $reply): void
    {
        if ($change->body !== null) {
            $this->apply([new Change($change->key, null, $change->writer, kind: 'x', strict: true)]);

            return;
        }
        $name = $this->keys->record($change->key);
        $batch = new Batch($this->servers);
        $batch->delete($this->servers->of($name), $name);
        $batch->run();
        throw Batch::full($reply);
    }

    /**
     * Whether a slot is missing in the journal below, or was given up a moment ago, and a change depends on it.
     *
     * @param non-empty-array<int, Change> $changes
     */
    private function undecided(array $changes, WriteSnapshot $look): bool
    {
        if (!$look->window->gap($this->log->end) && !$look->window->doubt()) {
            return false;
        }
        foreach ($changes as $change) {
            $item = $look->items[$change->key] ?? null;
            if ($change->guards !== [] || ($change->limit !== Change::ALWAYS && ($item === null || !$item->known()))) {
                return true;
            }
        }

        return false;
    }
}
