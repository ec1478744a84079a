<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\Store\Change;
use Larder\Store\Outcome;
use Larder\System\Failure;
use Larder\System\Process;

/**
 * Changes that are not in the log (leases): compared and swapped by the record's own version, from a counter that
 * all of them share, so that a version never comes again, also not after the record has gone. Versions are not
 * positions: a key is either always written in the log or never.
 */
final class UnjournaledWrite
{
    private const TRIES = 200;

    /** Tries that it has also after the time-out. */
    private const LEAST = 20;

    /** Bits below the milliseconds at which a counter of versions begins. */
    private const CHANCE = 21;

    public function __construct(
        private readonly Servers $servers,
        private readonly Keys $keys,
        private readonly Journal $log,
        private readonly Parts $parts,
        private readonly JournaledWrite $logged,
        private readonly float $patience,
    ) {}

    /** @throws Failure */
    public function apply(Change $change): Outcome
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
            $try > 2 && Process::pause(\random_int(0, 100 * \min($try, 30)));
        }
        throw Failure::because('memcached', 'others were always faster');
    }

    /** @return ?Outcome null: somebody was faster; try again */
    private function attempt(Change $change): ?Outcome
    {
        $name = $this->keys->record($change->key);
        $batch = new Batch($this->servers);
        [$items] = $this->read($batch, [$change->key => $name]);
        if ($items === null) {
            return null;
        }
        if (!$change->isOf($this->log->epoch)) {
            return new Outcome(false, -1);
        }
        // Taken after the record was read, so that it is higher than the record's.
        $next = $batch->increase($this->servers->log, $this->keys->versions(), 1);
        $item = $items[$change->key] ?? null;
        if ($item !== null && $item->live() && $item->position > $change->limit) {
            return new Outcome(false, $item->position, $item->writer, 0, $item->kind, $this->parts->record($item));
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

            return new Outcome(false, -1);
        }

        if ($reply !== 'STORED') {
            return null;
        }
        $moved = $this->moved($change);
        if ($moved !== null) {
            // A guard changed before our record was there: nobody may go on from it.
            $this->apply(new Change($change->key, null, $change->writer, $version, logged: false));

            return $moved;
        }

        return new Outcome(true, $version, $item->live() ? $item->writer : '', $item->live() ? $item->position : 0, $item->live() ? $item->kind : '');
    }

    /** Whether a guard has moved: those in the log are judged like anywhere, at the log's end. */
    private function moved(Change $change): ?Outcome
    {
        if ($change->guards === []) {
            return null;
        }
        $names = [$change->key => $this->keys->record($change->key)];
        foreach ($change->guards as $guard => $limit) {
            $names[$guard] ??= $this->keys->record((string) $guard);
        }
        [$items, $top] = $this->read(new Batch($this->servers), $names);
        if ($items === null) {
            return new Outcome(false, -1);
        }

        return $this->logged->moved(new Change($change->key, null, $change->writer, guards: $change->guards, strict: true), $items, $top);
    }

    /**
     * @param array<array-key, string> $names
     *
     * @return array{?array<array-key, ?Item>, int} by key, null where the epoch has changed; the last position given out
     */
    private function read(Batch $batch, array $names): array
    {
        $this->log->ask($batch);
        $batch->then();
        $batch->records(\array_values($names));
        $batch->run();
        if (!$this->log->see($batch)) {
            return [null, 0];
        }
        $items = [];
        foreach ($names as $key => $name) {
            $items[$key] = Item::decode($batch->items[$name] ?? null, (string) $key);
        }

        return [$items, $this->log->allocated($batch)];
    }

    /**
     * A counter where none is: evicted, or never used. The server's time is beyond every version given out before; and
     * since it may be a second behind, some chance lest one that was evicted at once begins again where it began.
     */
    private function count(): void
    {
        $first = $this->log->now() << self::CHANCE | \random_int(0, (1 << self::CHANCE) - 1);
        $batch = new Batch($this->servers);
        $number = $batch->store($this->servers->log, 'add', $this->keys->versions(), (string) $first, 0);
        $batch->run();
        if (\str_starts_with($batch->replies[$number], 'SERVER_ERROR')) {
            throw Failure::because('memcached', $batch->replies[$number] . '; give the server more memory (-m)');
        }
    }
}
