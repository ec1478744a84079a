<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\System\Failure;

/** What a writer reads after it has taken positions and announced its changes in the journal. */
final class WriteSnapshot
{
    /** The journal below the writer's positions, from where it was known to be settled. */
    public Window $window;

    /** @var array<array-key, ?Item> by key */
    public array $items = [];

    /** CAS token of the writer's slot, which was still PENDING after the items were read. */
    public string $token = '';

    /** More slots than this are read in requests of their own. */
    private const FEW = 64;

    /** Nanoseconds after which a missing slot no longer proves anything. */
    private const SLOW = 2_000_000_000;

    /** hrtime() when the writer began. */
    private readonly int $begun;

    /** The journal above the writer's positions, if another writer was faster. */
    private ?Window $above = null;

    /**
     * @param array<array-key, string> $names  by key: names of the records to read
     * @param string                   $writer whose Past is used
     */
    public function __construct(
        private readonly Servers $servers,
        private readonly Keys $keys,
        private readonly Journal $log,
        private readonly Past $past,
        public readonly int $first,
        public readonly int $last,
        private readonly array $names,
        public readonly string $writer,
    ) {
        $this->begun = \hrtime(true);
        $this->window = new Window($first - 1, $first - 1, [], $keys);
    }

    /**
     * Adds the slot, and then reads the journal below, the records, and the own slot, in this order.
     *
     * @param string $slot the slot to add; '': it was added before
     *
     * @return bool false: the positions are lost, and the writer must take others
     *
     * @throws Failure
     */
    public function take(string $slot): bool
    {
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
        if ($slot !== '') {
            $add = $batch->store($this->servers->log, 'add', $own, $slot, Slot::LIFE);
        }
        $batch->gets($this->servers->log, [...($far === null ? $this->log->slots($from, $below) : []), $this->keys->head]);
        $batch->then();
        $batch->records(\array_values($this->names));
        $batch->then();
        $batch->gets($this->servers->log, [$this->keys->allocated(), $own]);
        $batch->run();
        if (isset($add) && $batch->replies[$add] !== 'STORED') {
            self::refuse($batch->replies[$add]);
            $this->disown($own);

            return false;
        }
        if (!$this->log->see($batch)) {
            return false;
        }
        $this->window = $far ?? new Window($from, $below, $batch->items, $this->keys);
        $this->past->follow($this->window);

        return $this->found($batch, $this->names);
    }

    /**
     * Says that nothing was changed at the positions, because another process was tired of waiting for their slot and has
     * added one that says UNKNOWN. Only their writer can tell. Else each write that is judged across them would fail.
     */
    private function disown(string $slot): void
    {
        $batch = new Batch($this->servers);
        // Not if it is gone by now.
        $batch->store($this->servers->log, 'replace', $slot, Slot::encode(Slot::SETTLED, $this->first, $this->last, Slot::now(), []), Slot::LIFE);
        $batch->run();
    }

    /**
     * Adds empty items where records are missing, and reads them.
     *
     * @param array<array-key, string> $names by key
     *
     * @return bool as with take()
     *
     * @throws Failure
     */
    public function place(array $names): bool
    {
        $batch = new Batch($this->servers);
        $numbers = [];
        foreach ($names as $key => $name) {
            $empty = Item::encode(Item::NONE, ' ', '', 0, (string) $key, '');
            $numbers[] = $batch->store($this->servers->of($name), 'add', $name, $empty, Item::REMEMBERED);
        }
        $batch->then();
        $batch->records(\array_values($names));
        $batch->then();
        $batch->gets($this->servers->log, [$this->keys->allocated(), $this->keys->slot($this->last)]);
        $batch->run();
        foreach ($numbers as $number) {
            self::refuse($batch->replies[$number]);
        }
        if (!$this->found($batch, $names)) {
            return false;
        }
        $top = $this->log->allocated($batch);
        if ($top > $this->last) {
            $this->above = $this->log->window(\max($this->last, $top - Slot::KEPT), $top);
        }

        return true;
    }

    /**
     * Whether another writer with a later position may have changed a key without an item before this writer read it. Only a
     * long stop of this writer between its steps makes that possible.
     */
    public function overtaken(string $key): bool
    {
        return \hrtime(true) - $this->begun > self::SLOW || ($this->above?->names([$key => true], false) ?? false);
    }

    /** @param array<array-key, string> $names */
    private function found(Batch $batch, array $names): bool
    {
        foreach ($names as $key => $name) {
            $this->items[$key] = Item::decode($batch->items[$name] ?? null, (string) $key);
        }
        $found = $batch->items[$this->keys->slot($this->last)] ?? null;
        $slot = $found === null ? null : Slot::decode($found);
        $this->token = $slot->token ?? '';

        return $slot !== null && $slot->state === Slot::PENDING && $slot->first === $this->first;
    }

    private static function refuse(string $reply): void
    {
        if (\str_starts_with($reply, 'SERVER_ERROR')) {
            throw Failure::because('memcached', $reply . '; give the server more memory (-m)');
        }
    }
}
