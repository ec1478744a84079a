<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\Store\Change;
use Larder\System\Failure;

/** What a writer reads after it has taken positions and announced its changes in the journal. */
final class WriteSnapshot
{
    /** The journal below the writer's positions, from where it was known to be settled. */
    public SlotWindow $window;

    /** @var array<array-key, ?Item> by key */
    public array $items = [];

    /** CAS token of the writer's slot, which was still PENDING after the items were read. */
    public string $token = '';

    /** The position that was allocated where one was guessed; 0: none. */
    public int $given = 0;

    /** The last position allocated before the items were read. */
    private int $top = 0;

    /** More slots than this are read in requests of their own. */
    private const FEW = 64;

    /** Nanoseconds after which a missing slot no longer proves anything. */
    private const SLOW = 2_000_000_000;

    /** hrtime() when the writer began. */
    private readonly int $begun;

    /** The journal above the writer's positions, read when it is needed. */
    private ?SlotWindow $above = null;

    /** The first and the last position of the writer's. */
    public readonly int $first;

    public readonly string $writer;

    /** @var array<array-key, string> by key: names of the records to change */
    private readonly array $names;

    /** @var array<array-key, string> the same, and those of the guards */
    private readonly array $watched;

    /** @param non-empty-array<int, Change> $changes of one writer, whose OthersChanges are used */
    public function __construct(
        private readonly Servers $servers,
        private readonly Keys $keys,
        private readonly MemcachedJournal $log,
        private readonly OthersChanges $past,
        array $changes,
        public readonly int $last,
    ) {
        $this->begun = \hrtime(true);
        $this->first = $last - \count($changes) + 1;
        $this->window = new SlotWindow($this->first - 1, $this->first - 1, [], $keys);
        $names = $guards = [];
        $writer = '';
        foreach ($changes as $change) {
            $writer = $change->writer;
            $names[$change->key] = $keys->record($change->key);
            foreach ($change->guards as $guard => $_) {
                $guards[$guard] ??= $keys->record((string) $guard);
            }
        }
        $this->writer = $writer;
        $this->names = $names;
        $this->watched = $names + $guards;
    }

    /**
     * Adds the slot, and then reads the journal below, the records, and the own slot, in this order. Puts empty items where
     * records are missing, before it reads them.
     *
     * @param string $slot  the slot to add; '': it was added before
     * @param bool   $guess the position is allocated in the same packet; $given says which it is
     *
     * @return bool false: the positions are lost, and the writer must take others
     *
     * @throws Failure
     */
    public function take(string $slot, bool $guess = false): bool
    {
        $server = $this->servers->log;
        $below = $this->first - 1;
        if ($below - $this->log->end > self::FEW) {
            $epoch = $this->log->epoch;
            $this->log->open();
            if ($this->log->epoch !== $epoch) {
                return false;
            }
        }
        $from = \max($this->past->from($this->writer), $below - Slot::KEPT);
        $far = $below - $from > self::FEW ? $this->log->window($from, $below) : null;
        $own = $this->keys->slot($this->last);
        $batch = new Batch($this->servers);
        if ($guess) {
            $increase = $this->log->increase($batch, 1);
        }
        if ($slot !== '') {
            $add = $batch->store($server, 'add', $own, $slot, Slot::LIFE, repeats: $guess);
        }
        $batch->gets($server, [...($far === null ? $this->log->slots($from, $below) : []), $this->keys->head]);
        $batch->then();
        $empty = [];
        foreach ($this->names as $key => $name) {
            $empty[] = $batch->store($this->servers->of($name), 'add', $name, Item::encode(Item::NONE, ' ', '', 0, (string) $key, ''), Item::REMEMBERED, repeats: true);
        }
        $batch->records(\array_values($this->watched));
        $batch->then();
        $batch->gets($server, [$this->keys->allocated(), $own]);
        $batch->run();
        $added = !isset($add) || $batch->replies[$add] === 'STORED';
        if (isset($increase)) {
            $this->given = $this->log->given($batch->replies[$increase]);
            if ($this->given !== $this->last) {
                $added && $this->withdraw($own, $batch->items[$own] ?? null);

                return false;
            }
        }
        if (!$added) {
            $batch->stored($add);
            $this->disown();

            return false;
        }
        if (!$this->log->see($batch)) {
            return false;
        }
        foreach ($empty as $number) {
            $batch->stored($number);
        }
        $this->top = $this->log->allocated($batch);
        $this->window = $far ?? new SlotWindow($from, $below, $batch->items, $this->keys);
        $this->past->follow($this->window);
        foreach ($this->watched as $key => $name) {
            $this->items[$key] = Item::decode($batch->items[$name] ?? null, (string) $key);
        }
        $found = $batch->items[$own] ?? null;
        $read = $found === null ? null : Slot::decode($found);
        $this->token = $read->token ?? '';

        if ($read !== null && $read->state === Slot::PENDING && $read->first === $this->first) {
            return true;
        }
        $this->disown();

        return false;
    }

    /**
     * Says that nothing is known of a position that was guessed wrongly: it is another writer's, whose slot may have been evicted.
     *
     * @param ?array{string, string} $found value and token of the slot
     */
    private function withdraw(string $slot, ?array $found): void
    {
        $read = $found === null ? null : Slot::decode($found);
        if ($read === null || !$read->guessed || $read->first !== $this->first) {
            // Evicted; or the position's writer has come, and has said that it changed nothing.
            return;
        }
        $batch = new Batch($this->servers);
        $batch->store($this->servers->log, 'cas', $slot, Slot::encode(Slot::UNKNOWN, $this->first, $this->last, Slot::now(), []), Slot::LIFE, $read->token);
        $batch->run();
    }

    /**
     * Says that nothing was changed at the positions, because another process was tired of waiting for their slot, or for the
     * end of their changes. Only their writer can tell. Else each write that is judged across them would fail.
     */
    public function disown(): void
    {
        $batch = new Batch($this->servers);
        // Not if it is gone by now.
        $batch->store($this->servers->log, 'replace', $this->keys->slot($this->last), Slot::encode(Slot::SETTLED, $this->first, $this->last, Slot::now(), []), Slot::LIFE);
        $batch->run();
    }

    /**
     * Whether another writer with a later position may have changed a key without an item before this writer read it. Only a
     * long stop of this writer between its steps makes that possible.
     *
     * @throws Failure
     */
    public function overtaken(string $key): bool
    {
        if ($this->top > $this->last) {
            $this->above ??= $this->log->window(\max($this->last, $this->top - Slot::KEPT), $this->top);
        }

        return \hrtime(true) - $this->begun > self::SLOW || ($this->above?->names([$key => true], false) ?? false);
    }
}
