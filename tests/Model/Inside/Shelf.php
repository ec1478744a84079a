<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Journal\JournalIndex;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\Markers;
use Larder\Store\Record;
use Larder\Store\Snapshot;
use Larder\Store\WriteConditions;

/**
 * An engine as the contract in Store\Store describes it and no better, as a value: each call in one piece, judged by
 * Store\WriteConditions. (That the engines keep the contract between their steps is what the other models are for.)
 */
final class Shelf
{
    /** @var array<string, Record> */
    private array $records = [];

    /** @var list<array{string, int, string, string}> */
    private array $log = [];
    private int $epoch = 1;
    private int $end = 0;
    private int $version = 0;

    /** @var array<string, int> position of the newest marker that was forgotten, by sort */
    private array $floors = [];

    /** Grows with whatever happens. */
    public int $news = 0;

    public function epoch(): string
    {
        return 'epoch' . $this->epoch;
    }

    public function since(string $epoch, int $position): JournalSlice
    {
        if ($epoch !== $this->epoch() || $position > $this->end) {
            return new JournalSlice($this->epoch(), $this->end, '', false);
        }

        return new JournalSlice($epoch, $this->end, '', true, $this->known()->after($position) ?? []);
    }

    /**
     * @param list<string> $keys
     * @param bool         $floors it says of a marker that was forgotten up to where it may have been
     */
    public function read(array $keys, bool $floors = false): Snapshot
    {
        $records = \array_intersect_key($this->records, \array_flip($keys));
        foreach ($floors ? $keys : [] as $key) {
            if (!isset($records[$key]) && Markers::is($key) && isset($this->floors[$key[0]])) {
                $records[$key] = Markers::at($this->floors[$key[0]]);
            }
        }

        return new Snapshot($this->epoch(), $this->end, $records);
    }

    /**
     * @param list<Change> $changes
     *
     * @return list<ChangeResult>
     */
    public function write(array $changes): array
    {
        return \array_map(fn(Change $change): ChangeResult => $change->isOf($this->epoch()) ? $this->apply($change) : new ChangeResult(false, -1), $changes);
    }

    /** @param list<array{Change, int}> $changes that have been judged, each with its position */
    public function land(array $changes): void
    {
        foreach ($changes as [$change, $position]) {
            if ($position > $this->end) {
                $this->end = $position - 1;
                $this->apply(new Change($change->key, $change->body, $change->writer, expiry: $change->expiry, kind: $change->kind));
            }
        }
    }

    public function end(): int
    {
        return $this->end;
    }

    /** Loses everything, and begins anew with the lowest positions, as the worst engine would. */
    public function restart(): void
    {
        $this->records = $this->log = $this->floors = [];
        $this->end = $this->version = 0;
        $this->epoch++;
        $this->news++;
    }

    /** Loses one record, as it may at any time, unless it is one that is kept. */
    public function evict(string $key): void
    {
        if (isset($this->records[$key]) && !\in_array($this->records[$key]->body[0], Change::KEPT, true)) {
            unset($this->records[$key]);
        }
    }

    /** Loses a marker, as an engine may that says so (Store::forgets()), or that notes how far back it has forgotten. */
    public function forget(string $marker): void
    {
        $this->floors[$marker[0]] = \max($this->floors[$marker[0]] ?? 0, $this->records[$marker]->position ?? 0);
        \ksort($this->floors);
        unset($this->records[$marker]);
        $this->news++;
    }

    public function record(string $key): ?Record
    {
        return $this->records[$key] ?? null;
    }

    public function key(): string
    {
        $text = "$this->epoch $this->end $this->version " . \implode(' ', $this->floors);
        foreach ($this->records as $key => $record) {
            $text .= "\n$key $record->position $record->writer $record->body";
        }
        foreach ($this->log as $change) {
            $text .= "\n" . \implode(' ', $change);
        }

        return $text;
    }

    private function apply(Change $change): ChangeResult
    {
        $key = $change->key;
        $record = $this->records[$key] ?? null;
        $known = $this->known();
        $judge = new WriteConditions(fn(string $key): ?Record => $this->records[$key] ?? null, static fn(): JournalIndex => $known);
        $conflict = $judge->conflict($change, $record);
        if ($conflict !== null) {
            return new ChangeResult(false, $conflict[0], $conflict[1], 0, $conflict[2], $record, $conflict[3]);
        }
        [$previous, $writer] = WriteConditions::before($key, $record, $known);
        if ($change->logged) {
            $position = ++$this->end;
            $this->log[] = [$key, $position, $change->writer, $change->kind];
        } else {
            $position = ++$this->version;
        }
        unset($this->records[$key]);
        if ($change->body !== null) {
            $this->records[$key] = new Record($change->body, $position, $change->writer);
            \ksort($this->records);
        }
        $this->news++;

        return new ChangeResult(true, $position, $writer, $previous);
    }

    private function known(): JournalIndex
    {
        $known = new JournalIndex(0);
        foreach ($this->log as $change) {
            $known->add(...$change);
        }

        return $known;
    }
}
