<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\Record;
use Larder\Store\Snapshot;
use Larder\Store\Store;
use Larder\System\Clock;
use Larder\System\Failure;

/**
 * Keeps records on Memcached, which has no scripts, transactions or lists. All guarantees of Store come from "incr", "add"
 * and "cas", and from the order of the reads.
 *
 * This folder holds that engine:
 *
 *     MemcachedStore    the interface
 *     MemcachedJournal  epoch, positions, end; Slot and SlotWindow: the announced changes
 *     JournaledWrite    the steps of a write; WriteSnapshot: what it reads, OthersChanges: what it knew before, ItemConditions:
 *                       whether it may be made, ItemWrite: writes the item
 *     UnjournaledWrite  leases
 *     Healer            finishes what dead writers left
 *     Item, Chunks      a record's item; bodies beyond a megabyte
 *     Keys              the names of items
 *     ServerClock       the server's time
 *
 * Sockets and the text protocol are in Driver\Memcached; no extension is needed.
 *
 * read() asks for the journal's end before the records, in one packet if one server has both; the records contain every
 * change settled by then. The server may evict anything at any time: without a record the key is a miss, without a slot
 * the journal is incomplete, and without head or counter a new epoch begins.
 */
final class MemcachedStore implements Store
{
    /** Changes announced together, and bytes of their keys, since a slot is one item. */
    private const TOGETHER = 64;
    private const BYTES = 300_000;

    /** Milliseconds for which a reader of the journal waits for writers at work. */
    private const YOUNG = 100;

    private readonly Servers $servers;
    private readonly Keys $keys;
    private readonly MemcachedJournal $log;
    private readonly Chunks $parts;
    private readonly JournaledWrite $logged;
    private readonly UnjournaledWrite $unlogged;

    /** hrtime() until which this object heals nothing, because a server did not answer. */
    private int $rest = 0;

    /**
     * @param list<array{string, int}> $servers host and port; the path of a unix socket has port 0. All processes must
     *                                          name the same servers (in any order)
     * @param string                   $prefix  of all keys
     * @param float                    $timeout seconds for a call
     */
    public function __construct(array $servers, string $prefix, float $timeout)
    {
        $this->servers = new Servers($servers, $prefix, $timeout);
        $this->keys = new Keys($prefix);
        $this->log = new MemcachedJournal($this->servers, $this->keys);
        $this->parts = new Chunks($this->servers, $this->keys, $this->log->clock);
        $this->logged = new JournaledWrite($this->servers, $this->keys, $this->log, $this->parts, $timeout);
        $this->unlogged = new UnjournaledWrite($this->servers, $this->keys, $this->log, $this->parts, $this->logged, $timeout);
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        $log = $this->log;
        $this->servers->begin();
        $begun = \hrtime(true);
        for ($wait = 0; ; $wait++) {
            [$top] = $this->look([]);
            $known = $epoch === $log->epoch && $position <= $top && $position >= $log->start && $top - $position <= Slot::KEPT;
            if ($top <= $log->end && (!$known || $position === $top)) {
                return new JournalSlice($log->epoch, $log->end, '', $known);
            }
            $window = $log->window(\max($known ? \min($position, $log->end) : $log->end, $top - Slot::KEPT), $top);
            $end = $window->settled($log->end);
            $waited = \intdiv(\hrtime(true) - $begun, 1_000_000);
            if ($known && $waited < self::YOUNG && ($window->doubt() || ($end < $top && $window->young($end, self::YOUNG, $waited)))) {
                // Writers are at work and will settle their positions in a moment, or say that they changed nothing at those that
                // were given up; then each change is listed once.
                Clock::pause(200 << \min($wait, 5));
                continue;
            }
            $list = $known ? $window->changes($position, $end) : null;
            $changes = new JournalSlice($log->epoch, $end, '', $list !== null, $list ?? []);
            $this->mend($window, $top);

            return $changes;
        }
    }

    public function read(array $keys): Snapshot
    {
        $snapshot = $this->some(\array_slice($keys, 0, Batch::KEYS));
        for ($n = Batch::KEYS; $n < \count($keys); $n += Batch::KEYS) {
            $more = $this->some(\array_slice($keys, $n, Batch::KEYS));
            if ($more->epoch !== $snapshot->epoch) {
                return $this->read($keys);
            }
            $snapshot = new Snapshot($snapshot->epoch, \min($snapshot->at, $more->at), $snapshot->records + $more->records);
        }

        return $snapshot;
    }

    public function write(array $changes): array
    {
        $outcomes = $group = $keys = [];
        $bytes = 0;
        $writer = '';
        foreach ($changes as $i => $change) {
            $bytes += \strlen($change->key) + 32;
            if (!$change->logged || $change->kind === 'm' || $change->writer !== $writer || \count($group) === self::TOGETHER || $bytes > self::BYTES
                || isset($keys[$change->key]) || \array_intersect_key($change->guards, $keys) !== []) {
                $outcomes += $this->logged($group);
                $group = $keys = [];
                $bytes = \strlen($change->key) + 32;
                $writer = $change->writer;
            }
            if (!$change->logged) {
                $this->servers->begin();
                $outcomes[$i] = $this->unlogged->apply($change);
                continue;
            }
            $group[$i] = $change;
            $keys[$change->key] = true;
            if ($change->kind === 'm') {
                // Changes after a marker must get later positions, even if the marker needs several rounds.
                $outcomes += $this->logged($group);
                $group = $keys = [];
            }
        }
        $outcomes += $this->logged($group);
        \ksort($outcomes);

        return \array_values($outcomes) ?: throw new \LogicException('No changes.');
    }

    public function now(): int
    {
        $this->servers->begin();

        return $this->log->now();
    }

    public function forgets(): bool
    {
        return true;
    }

    /** Does nothing: memcached keeps its own bounds, and each write deletes the slot that has become too old. */
    public function tidy(): void {}

    /**
     * Uses "lru_crawler metadump", which memcached has since 1.4.31. May miss records stored or removed meanwhile, and those
     * that another client has just read: the crawler passes over an item of which another thread holds a reference (memcached:
     * crawler.c). "metadump hash" would not, but a reader of it that is stopped can make the server hang.
     */
    public function each(): iterable
    {
        if ($this->log->epoch === '') {
            $this->servers->begin();
            $this->log->open();
        }
        foreach ((new Dump($this->servers, $this->keys))->names() as $names) {
            $this->servers->begin();
            $batch = new Batch($this->servers);
            $batch->records($names);
            $batch->run();
            foreach ($batch->items as $found) {
                $item = Item::decode($found, Item::keyOf($found[0]));
                $record = $this->record($item);
                if ($item !== null && $record !== null) {
                    yield $item->key => $record;
                }
            }
        }
    }

    public function stats(): array
    {
        return ['engine' => 'memcached'] + (new Dump($this->servers, $this->keys))->totals();
    }

    /**
     * @param array<int, Change> $changes
     *
     * @return array<int, ChangeResult>
     */
    private function logged(array $changes): array
    {
        if ($changes === []) {
            return [];
        }
        $this->servers->begin();

        return $this->logged->apply($changes);
    }

    /**
     * Some of the keys of a read().
     *
     * @param list<string> $keys
     */
    private function some(array $keys): Snapshot
    {
        $this->servers->begin();
        [$top, $items] = $this->look($keys);
        if ($top > $this->log->end) {
            // The end lags behind. Settled positions beyond it may count if the records are read after the slots.
            $end = $this->log->end;
            $this->mend($this->log->window($end, \min($top, $end + Slot::KEPT)), $top);
            if ($this->log->end !== $end) {
                [, $items] = $this->look($keys);
            }
        }
        $at = $this->log->end;
        $epoch = $this->log->epoch;
        $records = [];
        foreach ($keys as $key) {
            $record = $this->record(Item::decode($items[$this->keys->record($key)] ?? null, $key));
            if ($record !== null) {
                $records[$key] = $record;
            }
        }

        return new Snapshot($epoch, $at, $records);
    }

    /** The record of an item, with all its parts. */
    private function record(?Item $item): ?Record
    {
        for ($try = 0; $item !== null && $item->live(); $try++) {
            $record = $this->parts->record($item);
            if ($record !== null) {
                return $record;
            }
            if ($try === 2) {
                break;
            }
            // A part was evicted; or the record was replaced since, and its parts were deleted.
            $name = $this->keys->record($item->key);
            $batch = new Batch($this->servers);
            $batch->records([$name]);
            $batch->run();
            $item = Item::decode($batch->items[$name] ?? null, $item->key);
        }

        return null;
    }

    /** Moves the journal's end as far as the window is settled, and settles what dead writers left in it. */
    private function mend(SlotWindow $window, int $top): void
    {
        $end = $window->settled($this->log->end);
        if ($end > $this->log->end) {
            $batch = new Batch($this->servers);
            $this->log->move($batch, $end);
            $batch->run();
        }
        if ($end < $top && \hrtime(true) >= $this->rest) {
            try {
                $this->logged->healer()->heal($window);
            } catch (Failure) {
                // A dead writer's records may lie on a server that is down. Others must not fail for that, nor wait for
                // that server again and again.
                $this->rest = \hrtime(true) + Healer::PATIENCE * 1_000_000;
            }
        }
    }

    /**
     * Reads head and counter, and after them the records of keys.
     *
     * @param list<string> $keys
     *
     * @return array{int, array<string, array{string, string}>} the last position allocated; items by name
     */
    private function look(array $keys): array
    {
        if ($this->log->epoch === '') {
            $this->log->open();
        }
        for ($try = 0; $try < 10; $try++) {
            $batch = $this->log->look(\array_map($this->keys->record(...), $keys));
            if ($batch !== null) {
                return [$this->log->allocated($batch), $batch->items];
            }
            $this->log->open();
        }
        throw Failure::because('memcached', 'evicts its journal at once; give the server more memory (-m)');
    }
}
