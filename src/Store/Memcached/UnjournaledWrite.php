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
 * Makes changes that do not enter the journal (leases): compares and swaps by the record's own version. All versions come
 * from one counter, so that no version comes again, even after the record was removed. Versions are not positions: a key's
 * changes either all enter the journal or none do.
 */
final class UnjournaledWrite
{
    private const TRIES = 200;

    /** Tries that a write may make even after the time-out. */
    private const LEAST = 20;

    /** Bits below the milliseconds at which a counter of versions begins. */
    private const CHANCE = 21;

    public function __construct(
        private readonly Servers $servers,
        private readonly Keys $keys,
        private readonly MemcachedJournal $log,
        private readonly Chunks $parts,
        private readonly JournaledWrite $logged,
        private readonly float $patience,
    ) {}

    /** @throws Failure */
    public function apply(Change $change): ChangeResult
    {
        $begun = \hrtime(true);
        for ($try = 0; $try < self::LEAST || ($try < self::TRIES && \hrtime(true) - $begun < $this->patience * 1e9); $try++) {
            if ($this->log->epoch === '') {
                $this->log->open();
            }
            $outcome = $this->attempt($change);
            if ($outcome !== null) {
                return $outcome;
            }
            $try > 2 && Clock::pause(\random_int(0, 100 * \min($try, 30)));
        }
        throw Failure::because('memcached', 'other writers were faster each time');
    }

    /** @return ?ChangeResult null: another writer was faster; try again */
    private function attempt(Change $change): ?ChangeResult
    {
        $name = $this->keys->record($change->key);
        $batch = $this->log->look([$name]);
        if ($batch === null) {
            return null;
        }
        if (!$change->isOf($this->log->epoch)) {
            return new ChangeResult(false, -1);
        }
        // Take the version after reading the record, so that it is higher than the record's.
        $next = $batch->increase($this->servers->log, $this->keys->versions(), 1);
        $item = Item::decode($batch->items[$name] ?? null, $change->key);
        if ($item !== null && $item->live() && $item->position > $change->limit) {
            return new ChangeResult(false, $item->position, $item->writer, 0, $item->kind, $this->parts->record($item));
        }
        $moved = $this->moved($change);
        if ($moved !== null) {
            return $moved;
        }
        if ($item === null) {
            $empty = Item::encode(Item::NONE, ' ', '', 0, $change->key, '');
            $batch->store($this->servers->of($name), 'add', $name, $empty, Item::REMEMBERED);
            $batch->records([$name]);
        }
        $batch->run();
        if ($item === null) {
            $item = Item::decode($batch->items[$name] ?? null, $change->key);
            if ($item === null || $item->known()) {
                return null;
            }
        }
        $version = (int) $batch->replies[$next];
        if ($version <= 0) {
            $this->count();

            return null;
        }
        $writing = new ItemWrite($change, $name, $this->parts, $this->log);
        $number = $writing->add($batch, $this->servers, $version, $item->token);
        $batch->run();
        $reply = $batch->replies[$number];
        $writing->clean($reply === 'STORED', $item);
        if ($writing->refused || \str_starts_with($reply, 'SERVER_ERROR')) {
            $batch->delete($this->servers->of($name), $name);
            $batch->run();

            return new ChangeResult(false, -1);
        }

        if ($reply !== 'STORED') {
            return null;
        }
        $moved = $this->moved($change);
        if ($moved !== null) {
            // A guard changed before this record was stored: remove it, since no reader may rely on it.
            $this->apply(new Change($change->key, null, $change->writer, $version, logged: false));

            return $moved;
        }

        return new ChangeResult(true, $version, $item->live() ? $item->writer : '', $item->live() ? $item->position : 0, $item->live() ? $item->kind : '');
    }

    /** The conflict of a guard, judged at the journal's end like any other; null: there is none. */
    private function moved(Change $change): ?ChangeResult
    {
        if ($change->guards === []) {
            return null;
        }
        $names = [$change->key => $this->keys->record($change->key)];
        foreach ($change->guards as $guard => $limit) {
            $names[$guard] ??= $this->keys->record((string) $guard);
        }
        $batch = $this->log->look(\array_values($names));
        if ($batch === null) {
            return new ChangeResult(false, -1);
        }
        $items = [];
        foreach ($names as $key => $record) {
            $items[$key] = Item::decode($batch->items[$record] ?? null, (string) $key);
        }

        return $this->logged->moved(new Change($change->key, null, $change->writer, guards: $change->guards, strict: true), $items, $this->log->allocated($batch));
    }

    /**
     * Makes the counter of versions if it was evicted or never used. It begins with the server's time, which is beyond every
     * version allocated before. That time may be a second behind, so random bits keep a counter that was evicted at once from
     * beginning again with the same number.
     */
    private function count(): void
    {
        $first = $this->log->now() << self::CHANCE | \random_int(0, (1 << self::CHANCE) - 1);
        $batch = new Batch($this->servers);
        $number = $batch->store($this->servers->log, 'add', $this->keys->versions(), (string) $first, 0);
        $batch->run();
        $batch->stored($number);
    }
}
