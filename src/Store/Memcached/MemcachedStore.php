<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\Store\Change;
use Larder\Store\JournalSlice;
use Larder\Store\Outcome;
use Larder\Store\Record;
use Larder\Store\Snapshot;
use Larder\Store\Store;
use Larder\System\Failure;
use Larder\System\Process;

/**
 * Memcached, which has neither scripts nor transactions, nor a list: all the guarantees of Store come from "incr",
 * "add" and "cas", and from the order in which things are read.
 *
 * This folder holds that engine:
 *
 *     MemcachedStore  the interface
 *     Journal             epoch, positions, end; Slot and Window: what it says about each position
 *     JournaledWrite          the steps of a write; WriteSnapshot: what it reads, Past: what it knew, WriteConditions: may it be made, ItemWrite: the item
 *     UnjournaledWrite        leases
 *     Healer          what writers leave behind that die in between
 *     Item, Parts     what lies under a record's key; bodies beyond a megabyte
 *     Keys            what things are called on the servers
 *     ServerClock     what time it is there
 *     Servers, Connection, Batch   sockets and the text protocol; no extension is needed
 *
 * read() asks for the log's end before the records, in one packet where one server has both; what was settled then
 * is in the records. Anything may be evicted at any time: a record is then a miss, a slot makes the log incomplete,
 * and without head or counter a new epoch begins.
 */
final class MemcachedStore implements Store
{
    /** JournalSlice that are announced together, and bytes of their keys: a slot is one item. */
    private const TOGETHER = 64;
    private const BYTES = 300_000;

    /** Milliseconds for which a reader of the log waits for writers that are at work. */
    private const YOUNG = 100;

    private readonly Servers $servers;
    private readonly Keys $keys;
    private readonly Journal $log;
    private readonly Parts $parts;
    private readonly JournaledWrite $logged;
    private readonly UnjournaledWrite $unlogged;

    /** hrtime() until which nothing is healed, because a server did not answer. */
    private int $rest = 0;

    /**
     * @param list<array{string, int}> $servers host and port; the path of a unix socket has port 0. All processes
     *                                          have to name the same ones (in any order)
     * @param string                   $prefix  of all keys
     * @param float                    $timeout seconds, for connecting and for each wait
     */
    public function __construct(array $servers, string $prefix, float $timeout)
    {
        $this->servers = new Servers($servers, $prefix, $timeout);
        $this->keys = new Keys($prefix);
        $this->log = new Journal($this->servers, $this->keys);
        $this->parts = new Parts($this->servers, $this->keys, $this->log->clock);
        $this->logged = new JournaledWrite($this->servers, $this->keys, $this->log, $this->parts, $timeout);
        $this->unlogged = new UnjournaledWrite($this->servers, $this->keys, $this->log, $this->parts, $this->logged, $timeout);
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        $log = $this->log;
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
            if ($end < $top && $known && $waited < self::YOUNG && $window->young($end, self::YOUNG, $waited)) {
                // Writers at work: they will have settled it in a moment, and each change is listed once.
                Process::pause(200 << \min($wait, 5));
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
                $outcomes[$i] = $this->unlogged->apply($change);
                continue;
            }
            $group[$i] = $change;
            $keys[$change->key] = true;
            if ($change->kind === 'm') {
                // What follows a marker must have a later position, also if the marker needs several rounds.
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
        return $this->log->now();
    }

    public function forgets(): bool
    {
        return true;
    }

    /** Nothing to do: memcached bounds itself, and each write takes the slot with it that has grown too old. */
    public function tidy(): void {}

    /**
     * By "lru_crawler metadump", which memcached has since 1.4.31; records that come or go meanwhile may be missed.
     */
    public function each(): iterable
    {
        if ($this->log->epoch === '') {
            $this->log->open();
        }
        foreach ((new Dump($this->servers, $this->keys))->names() as $names) {
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
     * @return array<int, Outcome>
     */
    private function logged(array $changes): array
    {
        return $changes === [] ? [] : $this->logged->apply($changes);
    }

    /**
     * Some of the keys of a read().
     *
     * @param list<string> $keys
     */
    private function some(array $keys): Snapshot
    {
        [$top, $items] = $this->look($keys);
        if ($top > $this->log->end) {
            // The end lags behind: what is settled beyond it may count, if the records are read after it was seen.
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
            // Either a part was evicted, or the record was replaced since, and its parts deleted.
            $name = $this->keys->record($item->key);
            $batch = new Batch($this->servers);
            $batch->records([$name]);
            $batch->run();
            $item = Item::decode($batch->items[$name] ?? null, $item->key);
        }

        return null;
    }

    /** Moves the log's end on as far as the window is settled, and settles what dead writers left in it. */
    private function mend(Window $window, int $top): void
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
                // The records of a dead writer may lie on a server that is down: no reason to fail others, nor
                // to let them wait for it again and again.
                $this->rest = \hrtime(true) + Healer::PATIENCE * 1_000_000;
            }
        }
    }

    /**
     * Head and counter, and after them the records of keys.
     *
     * @param list<string> $keys
     *
     * @return array{int, array<string, array{string, string}>} the last position given out; items by what they are called
     */
    private function look(array $keys): array
    {
        if ($this->log->epoch === '') {
            $this->log->open();
        }
        for ($try = 0; $try < 10; $try++) {
            $batch = new Batch($this->servers);
            $this->log->ask($batch);
            $batch->then();
            $batch->records(\array_map($this->keys->record(...), $keys));
            $batch->run();
            if ($this->log->see($batch)) {
                return [$this->log->allocated($batch), $batch->items];
            }
            $this->log->open();
        }
        throw Failure::because('memcached', 'forgets its log at once; give the server more memory (-m)');
    }
}
