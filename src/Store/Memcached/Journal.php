<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\System\Failure;

/**
 * The log: which epoch it is, which positions were given out, and up to which of them all is settled.
 *
 *     head       "epoch end start": every change at or before `end` is made or never will be; replaced by CAS only
 *     allocated  the last position given out, by "incr"
 *     slots      what was to be done at each position (Slot)
 *
 * `end` may lag behind: who finds the slots after it settled moves it on. Whoever misses `head` or `allocated` (a
 * restart, an eviction) begins a new epoch, in which all is cold. Positions of an epoch begin with the microseconds
 * since 1970, so that those of an older one are below them; the instance remembers which ones it knew before.
 */
final class Journal
{
    public string $epoch = '';

    /** Every change at or before this position is settled. */
    public int $end = 0;

    /** The epoch's first position is the one after this. */
    public int $start = 0;

    /** The end when this object first saw the epoch. */
    public int $first = 0;

    public readonly ServerClock $clock;

    /** CAS token of the head when it was last seen. */
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
     * Asks for the head, and makes one where there is none.
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
            $this->begin('add', '');
        }
        throw Failure::because('memcached', 'the server forgets at once what it is given; give it more memory (-m)');
    }

    /** Adds to a batch what see() needs: the head and, of the epoch that is known, the last position given out. */
    public function ask(Batch $batch): void
    {
        if ($this->clock->isDue()) {
            $batch->time($this->servers->log, $this->keys->head);
        }
        $batch->gets($this->servers->log, $this->epoch === '' ? [$this->keys->head] : [$this->keys->head, $this->keys->allocated()]);
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
     * Takes the head out of what was read.
     *
     * @return bool false: it is another epoch than before, or none; whatever else was read or written there is void
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
        // A head read before another was seen must not take the end back.
        $this->end = \max($this->end, (int) $end);
        $this->token = $token;
        $this->top = \max($this->top, $this->end);
        if ($batch->time !== null && $epoch !== '' && !$this->clock->learn($batch->time)) {
            $this->told();
        }

        return $same;
    }

    /** The last position given out, as read; 0 where it is not there. */
    public function allocated(Batch $batch): int
    {
        $last = (int) ($batch->items[$this->keys->allocated()][0] ?? 0);
        $this->top = \max($this->top, $last);

        return $last;
    }

    /**
     * The last of $count new positions; 0: the epoch had ended, and another has begun.
     *
     * @throws Failure
     */
    public function allocate(int $count): int
    {
        if ($this->epoch === '') {
            $this->open();
        }
        $batch = new Batch($this->servers);
        $n = $batch->increase($this->servers->log, $this->keys->allocated(), $count);
        $batch->run();
        $reply = $batch->replies[$n];
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

    /** How many positions are known to have been given out that are not known to be settled. */
    public function lag(): int
    {
        return $this->top - $this->end;
    }

    /** Whether a position may be of another epoch than this one, of which nothing is known. */
    public function foreign(int $position): bool
    {
        return $position < $this->start || $position <= $this->foreign;
    }

    /**
     * The slots of a stretch, asked for a few at a time.
     *
     * @throws Failure
     */
    public function window(int $from, int $to): Window
    {
        $items = [];
        for ($first = $from + 1; $first <= $to; $first += Batch::KEYS) {
            $batch = new Batch($this->servers);
            $batch->gets($this->servers->log, $this->slots($first - 1, \min($to, $first + Batch::KEYS - 1)));
            $batch->run();
            $items += $batch->items;
        }

        return new Window($from, $to, $items, $this->keys);
    }

    /** @return list<string> what the slots after $from up to $to are called */
    public function slots(int $from, int $to): array
    {
        $names = [];
        for ($n = $from + 1; $n <= $to; $n++) {
            $names[] = $this->keys->slot($n);
        }

        return $names;
    }

    /**
     * Adds to a batch that the log is settled up to $end, if the head has not moved meanwhile. To be known here only
     * by who asks before reading any record that is to be as new.
     */
    public function move(Batch $batch, int $end): void
    {
        $this->advance($batch, $end);
        $this->end = \max($this->end, $end);
    }

    /** Adds to a batch: everything up to $end is settled (nothing happens where the head has moved meanwhile). */
    public function advance(Batch $batch, int $end): void
    {
        $batch->store($this->servers->log, 'cas', $this->keys->head, "$this->epoch $end $this->start", ServerClock::HEAD, $this->token);
    }

    /** What time it is by a server that cannot say so in a word: releases before 1.6, and some that only speak as it does. */
    private function told(): int
    {
        $batch = new Batch($this->servers);
        $batch->stats($this->servers->log);
        $sent = \hrtime(true);
        $batch->run();
        $this->clock->read((int) ($batch->stats['time'] ?? \microtime(true)), $sent, \hrtime(true));

        return $this->clock->now() ?? 0;
    }

    /** A new epoch, if nobody else has begun one. */
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
            throw Failure::because('memcached', 'refused the log: ' . $reply . '; give it more memory (-m)');
        }
    }
}
