<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\System\Failure;

/**
 * The journal: its epoch, the positions allocated, and its end, up to which all positions are settled.
 *
 *     head       "epoch end start": every change at or before `end` is made or never will be; replaced by CAS only
 *     allocated  the last position allocated, by "incr"
 *     slots      what a writer announced to change at each position (Slot)
 *
 * `end` may lag behind: a process that finds the slots after it settled moves it on. A process that misses `head` or
 * `allocated` (a restart, an eviction) begins a new epoch, in which the cache is empty. An epoch's positions begin with the
 * microseconds since 1970, so an older epoch's positions are below them. The object remembers which positions it knew before.
 */
final class MemcachedJournal
{
    public string $epoch = '';

    /** Every change at or before this position is settled. */
    public int $end = 0;

    /** The position before the epoch's first one. */
    public int $start = 0;

    /** The end when this object first saw the epoch. */
    public int $first = 0;

    public readonly ServerClock $clock;

    /** CAS token of the head when this object last read it. */
    private string $token = '';

    /** The highest position seen. */
    private int $top = 0;

    /** Positions up to this one may be of another epoch. */
    private int $foreign = 0;

    public function __construct(private readonly Servers $servers, private readonly Keys $keys)
    {
        $this->clock = new ServerClock();
    }

    /**
     * Reads the head, and makes one if there is none.
     *
     * @throws Failure
     */
    public function open(): void
    {
        for ($try = 0; $try < 10; $try++) {
            $batch = new Batch($this->servers);
            $this->ask($batch);
            $batch->run();
            $this->see($batch);
            if ($this->epoch !== '') {
                return;
            }
            // A head of another layout, of a newer or an older release, gives way.
            $this->begin($this->token === '' ? 'add' : 'cas', $this->token);
        }
        throw Failure::because('memcached', 'the server evicts at once what it stores; give it more memory (-m)');
    }

    /** Adds to a batch the reads that see() needs: the head and, for the known epoch, the last position allocated. */
    public function ask(Batch $batch): void
    {
        if ($this->clock->isDue()) {
            $batch->time($this->servers->log, $this->keys->head);
        }
        $batch->gets($this->servers->log, $this->epoch === '' ? [$this->keys->head] : [$this->keys->head, $this->keys->allocated()]);
    }

    /**
     * Reads head and counter, and after them records.
     *
     * @param list<string> $names of records
     *
     * @return ?Batch null: the epoch has changed
     *
     * @throws Failure
     */
    public function look(array $names): ?Batch
    {
        $batch = new Batch($this->servers);
        $this->ask($batch);
        $batch->then();
        $batch->records($names);
        $batch->run();

        return $this->see($batch) ? $batch : null;
    }

    /**
     * Milliseconds by the server's clock.
     *
     * @throws Failure
     */
    public function now(): int
    {
        if ($this->clock->now() === null) {
            $this->open();
        }

        return $this->clock->now() ?? $this->told();
    }

    /**
     * Takes the head from a batch's answers.
     *
     * @return bool false: the head names another epoch, or is missing; everything else that the batch read or wrote is void
     *
     * @throws Failure
     */
    public function see(Batch $batch): bool
    {
        [$head, $token] = $batch->items[$this->keys->head] ?? ['', ''];
        $words = \explode(' ', $head);
        if (\count($words) !== 3 || (int) $words[2] === 0) {
            $words = ['', '0', '0'];
        }
        [$epoch, $end, $start] = $words;
        $same = $epoch === $this->epoch && $epoch !== '';
        if (!$same) {
            $this->foreign = \max($this->foreign, $this->top);
            $this->epoch = $epoch;
            $this->keys->enter($epoch);
            $this->clock->enter($epoch);
            $this->start = (int) $start;
            $this->first = (int) $end;
            $this->end = 0;
        }
        // A head read earlier, and seen later, must not move the end back.
        $this->end = \max($this->end, (int) $end);
        $this->token = $token;
        $this->top = \max($this->top, $this->end);
        if ($batch->time !== null && $epoch !== '' && !$this->clock->learn($batch->time)) {
            $this->told();
        }

        return $same;
    }

    /** The last position allocated, as the batch read it; 0: missing. */
    public function allocated(Batch $batch): int
    {
        $last = (int) ($batch->items[$this->keys->allocated()][0] ?? 0);
        $this->top = \max($this->top, $last);

        return $last;
    }

    /**
     * The position that will be allocated next if no process has written since this object last looked, as far as it knows; 0: one
     * was at work then.
     *
     * @throws Failure
     */
    public function next(): int
    {
        if ($this->epoch === '') {
            $this->open();
        }

        return $this->top === $this->end ? $this->top + 1 : 0;
    }

    /**
     * Allocates $count positions and returns the last; 0: the epoch had ended, and another has begun.
     *
     * @throws Failure
     */
    public function allocate(int $count): int
    {
        $batch = new Batch($this->servers);
        $n = $this->increase($batch, $count);
        $batch->run();

        return $this->given($batch->replies[$n]);
    }

    /** Adds to a batch the command that allocates positions; given() takes its answer. */
    public function increase(Batch $batch, int $count): int
    {
        return $batch->increase($this->servers->log, $this->keys->allocated(), $count);
    }

    /**
     * The last position that was allocated; 0 as with allocate().
     *
     * @throws Failure
     */
    public function given(string $reply): int
    {
        if ($reply === 'NOT_FOUND') {
            $before = $this->epoch;
            $this->open();
            if ($this->epoch === $before) {
                $this->begin('cas', $this->token);
                $this->open();
            }

            return 0;
        }
        $last = (int) $reply;
        if ($last <= 0) {
            throw Failure::because('memcached', 'answered "' . $reply . '"');
        }
        $this->top = \max($this->top, $last);

        return $last;
    }

    /** Number of positions known to be allocated and not known to be settled. */
    public function lag(): int
    {
        return $this->top - $this->end;
    }

    /** Whether a position may belong to another epoch, of which nothing is known. */
    public function foreign(int $position): bool
    {
        return $position < $this->start || $position <= $this->foreign;
    }

    /**
     * Reads the slots of a stretch, a few at a time.
     *
     * @throws Failure
     */
    public function window(int $from, int $to): SlotWindow
    {
        $items = [];
        for ($first = $from + 1; $first <= $to; $first += Batch::KEYS) {
            $batch = new Batch($this->servers);
            $batch->gets($this->servers->log, $this->slots($first - 1, \min($to, $first + Batch::KEYS - 1)));
            $batch->run();
            $items += $batch->items;
        }

        return new SlotWindow($from, $to, $items, $this->keys);
    }

    /** @return list<string> names of the slots after $from up to $to */
    public function slots(int $from, int $to): array
    {
        $names = [];
        for ($n = $from + 1; $n <= $to; $n++) {
            $names[] = $this->keys->slot($n);
        }

        return $names;
    }

    /**
     * Adds to a batch a CAS of the head that moves the end to $end, and takes that as this object's end. Only for callers that
     * do so before they read any record that must be as new.
     */
    public function move(Batch $batch, int $end): void
    {
        $this->advance($batch, $end);
        $this->end = \max($this->end, $end);
    }

    /** Adds to a batch a CAS of the head: everything up to $end is settled (nothing happens if the head has changed meanwhile). */
    public function advance(Batch $batch, int $end): void
    {
        $batch->store($this->servers->log, 'cas', $this->keys->head, "$this->epoch $end $this->start", ServerClock::HEAD, $this->token);
    }

    /** The time of a server that does not support "mg": memcached before 1.6, and other servers of its protocol. */
    private function told(): int
    {
        $batch = new Batch($this->servers);
        $batch->stats($this->servers->log);
        $sent = \hrtime(true);
        $batch->run();
        $this->clock->read((int) ($batch->stats['time'] ?? \microtime(true)), $sent, \hrtime(true));

        return $this->clock->now() ?? 0;
    }

    /** Begins a new epoch, unless another process has begun one. */
    private function begin(string $verb, string $token): void
    {
        $this->clock->now() ?? $this->told();
        $epoch = \bin2hex(\random_bytes(6)) . $this->clock->mark();
        $start = \max((int) (\microtime(true) * 1e6), $this->top);
        $keys = clone $this->keys;
        $keys->enter($epoch);
        $batch = new Batch($this->servers);
        $counter = $batch->store($this->servers->log, 'set', $keys->allocated(), (string) $start, 0);
        $batch->run();
        if ($batch->replies[$counter] === 'STORED') {
            $head = $batch->store($this->servers->log, $verb, $this->keys->head, "$epoch $start $start", ServerClock::HEAD, $token);
            $batch->run();
        }
        $reply = $batch->replies[$head ?? $counter];
        if (\str_starts_with($reply, 'SERVER_ERROR')) {
            throw Failure::because('memcached', 'refused the journal: ' . $reply . '; give it more memory (-m)');
        }
    }
}
