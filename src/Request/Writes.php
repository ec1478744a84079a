<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Intent;
use Larder\Store\Invalidation;
use Larder\Store\Record;

/**
 * What all kinds of writes of one request share: the fills that wait for its end, its intents, and what it does with its copies
 * and its history once a change is stored. Sets, Fills, Marks, Deletes and Swaps make the changes.
 *
 * Every write carries the position by which it is judged. If the store finds a newer change by another request, the table of
 * conflicts (ConflictTable) decides, and its verdict is carried out by compare-and-swap on exactly that change. If a still
 * newer change comes between, it is judged again.
 */
final class Writes
{
    /** Lost races after which a write gives up: a set drops its key then, and an atomic operation is not done. */
    public const TRIES = 200;

    /** Positions of this request's own changes noted in one space. */
    private const OWN = 20_000;

    /** Sets that were not stored because another request had changed the key, sets that were stored for two seconds, and refused fills. */
    public int $dropped = 0;
    public int $bounded = 0;
    public int $refused = 0;

    /** @var array<string, array{Space, Entry, int, int}> fills that wait for the end of the request, each with the position and the moment at which its view of the key began */
    public array $pending = [];

    /** @var array<string, true> keys on which this request has an intent */
    public array $intended = [];

    /** Copied for a change, which costs a third of making one. */
    public readonly Change $blank;

    public function __construct(
        public readonly View $view,
        public readonly Reader $reader,
        public readonly Truth $truth,
    ) {
        $this->blank = new Change('', null, '');
        $this->blank->asks = false;
    }

    /** In a forked child: the waiting writes are its parent's. */
    public function forget(): void
    {
        $this->pending = $this->intended = [];
    }

    /** @param string $epoch of the outcome's position; '': unknown, so the near tier takes no copy */
    public function stored(string $key, Space $space, Entry $entry, ChangeResult $outcome, string $epoch): void
    {
        $this->view->history->own($outcome->position, $outcome->step);
        if ($this->view->near === null) {
            $this->view->changes++;
        } else {
            $this->own($key, $space, $outcome->position);
            $this->view->copyNear([[$key, $entry, $outcome->position, $outcome->position]], $epoch);
        }
    }

    /** Drops a key's copies from the request tier and the near tier. */
    public function gone(string $key, Space $space): void
    {
        $this->hide($key, $space)?->drop(\substr($key, \strlen($space->entries)));
    }

    /** Drops a key's copies from the near tier. */
    private function hide(string $key, Space $space): ?RequestTier
    {
        $copies = $this->own($key, $space, \PHP_INT_MAX);
        $this->view->near?->drop($key);

        return $copies;
    }

    private function own(string $key, Space $space, int $position): ?RequestTier
    {
        $this->view->changes++;
        $copies = $this->view->copies($space);
        if ($copies !== null && $this->view->near !== null) {
            if (\count($copies->own) >= self::OWN) {
                $this->view->history->forgetOwn($copies->own);
                $copies->own = [];
                // Cache must derive anew which positions of near copies are valid.
                $this->view->version++;
            }
            $copies->own[\substr($key, \strlen($space->entries))] = $position;
        }

        return $copies;
    }

    /** Notes a change that another request made to this key after this one had read it, and before its own change. */
    public function noteForeign(string $key, string $writer, int $position): void
    {
        if ($position > 0 && $writer !== '' && $writer !== $this->view->writer) {
            if ($position > $this->view->history->reference($key)[1]) {
                $this->view->history->foreign($key, $position, '');
            }
        }
    }

    /** Notes that this request has put an intent on the key or marker. */
    public function changed(string $key, Space $space, ChangeResult $outcome): void
    {
        if ($key[0] === 'e') {
            $this->gone($key, $space);
        } else {
            $this->view->near?->drop($key);
            $this->moved($key, $outcome);
        }
    }

    public function moved(string $marker, ChangeResult $outcome): void
    {
        $this->view->changed($marker, $outcome->position, true);
        $this->view->history->own($outcome->position, $outcome->step);
        $this->noteForeign($marker, $outcome->writer, $outcome->previous);
    }

    /** Discards a key's waiting fill. */
    public function discard(string $key): void
    {
        unset($this->pending[$key]);
    }

    /** After a marker of their space was moved, which drops all copies there: the fills that still wait are not covered by it. */
    public function showPending(): void
    {
        foreach ($this->pending as $key => [$space, $entry]) {
            $copies = $this->view->copies($space);
            $name = \substr((string) $key, \strlen($space->entries));
            if ($copies !== null && !$copies->has($name)) {
                $copies->keep($name, $entry);
            }
        }
    }

    /** @param list<string> $markers */
    public function discardMarked(array $markers): void
    {
        foreach ($this->pending as $key => [, $entry]) {
            foreach ($markers as $marker) {
                if (Space::marks($marker, (string) $key, $entry)) {
                    unset($this->pending[$key]);
                }
            }
        }
    }

    /**
     * Removes a key, or moves a marker, over the record that was in the way, but leaves the intents of others standing.
     *
     * @param string $kind of the change, where it is another than the key's usual one
     */
    public function takeAway(string $key, ChangeResult $outcome, string $kind = ''): ?ChangeResult
    {
        $invalidation = new Invalidation(fn(array $changes): ?array => $this->truth->write($changes, [$key]), $this->view->writer);

        return $invalidation->over($key, $outcome, [$this->view->writer], $this->truth->now(), $kind);
    }

    public function hasOthersIntent(?Record $record): bool
    {
        return $record !== null && Intent::others($record->body, [$this->view->writer], $this->truth->now()) !== [];
    }
}
