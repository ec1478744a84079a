<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\Store\Journal\JournalIndex;
use Larder\Store\Journal\JournalSlice;
use Larder\System\Clock;

/**
 * Keeps records in a PHP array, which only this process sees and which ends with it. For tests, for the command line, and
 * for a long-running process that wants a cache of its own.
 */
final class MemoryStore implements Store
{
    /** Bytes, about, that a record takes beside its key and body: array slot, object, journal. */
    private const OVERHEAD = 400;

    /** Records checked by one tidy(). */
    private const STEP = 100;

    private readonly string $epoch;
    private readonly JournalIndex $log;

    /** @var array<array-key, array{Record, int}> record and expiry by key, the least recently used first */
    private array $records = [];

    private int $bytes = 0;
    private int $position = 0;
    private int $version = 0;
    private int $swept = 0;

    /** Bytes of the markers among the records. */
    private int $marked = 0;

    /** @var array<string, int> see Markers */
    private array $floors = [Markers::TAGS => 0, Markers::FLUSHES => 0];

    /**
     * @param int              $budget bytes, about
     * @param ?\Closure(): int $clock  milliseconds; null: the machine's
     */
    public function __construct(private readonly int $budget = 67_108_864, private readonly ?\Closure $clock = null)
    {
        $this->epoch = \bin2hex(\random_bytes(8));
        $this->log = new JournalIndex(0);
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        if ($epoch !== $this->epoch || $position > $this->position) {
            return new JournalSlice($this->epoch, $this->position, '', false);
        }
        $list = $position === $this->position ? [] : $this->log->after($position);

        return new JournalSlice($this->epoch, $this->position, '', $list !== null, $list ?? []);
    }

    public function read(array $keys): Snapshot
    {
        $records = [];
        foreach ($keys as $key) {
            $found = $this->records[$key] ?? null;
            if ($found !== null && $found[1] !== 0 && $found[1] < $this->now()) {
                continue;
            }
            if ($found !== null) {
                // Move it to the end: the array is in the order of use.
                unset($this->records[$key]);
                $this->records[$key] = $found;
                $records[$key] = $found[0];
            } elseif (Markers::is($key) && $this->floors[$key[0]] > 0) {
                $records[$key] = Markers::at($this->floors[$key[0]]);
            }
        }

        return new Snapshot($this->epoch, $this->position, $records);
    }

    public function write(array $changes): array
    {
        $outcomes = [];
        foreach ($changes as $change) {
            $outcomes[] = $this->apply($change);
        }
        if ($this->bytes > $this->budget) {
            $this->evict();
        }

        return $outcomes;
    }

    public function now(): int
    {
        return $this->clock === null ? Clock::now() : ($this->clock)();
    }

    public function forgets(): bool
    {
        return false;
    }

    public function tidy(): void
    {
        $now = $this->now();
        // A copy: checking a record is no use of it and must not change the order.
        $some = \array_slice($this->records, $this->swept, self::STEP, true);
        $this->swept = \count($some) < self::STEP ? 0 : $this->swept + self::STEP;
        foreach ($some as $key => [$record, $expiry]) {
            if (($expiry !== 0 && $expiry < $now) || $this->isCovered((string) $key, $record)) {
                $this->remove((string) $key);
            }
        }
    }

    public function each(): iterable
    {
        $now = $this->now();
        foreach ($this->records as $key => [$record, $expiry]) {
            if ($expiry === 0 || $expiry >= $now) {
                yield (string) $key => $record;
            }
        }
    }

    public function stats(): array
    {
        return ['engine' => 'memory', 'entries' => \count($this->records), 'bytes' => $this->bytes, 'budget' => $this->budget];
    }

    private function apply(Change $change): ChangeResult
    {
        if (!$change->isOf($this->epoch)) {
            return new ChangeResult(false, -1);
        }
        $key = $change->key;
        [$record, $isOver] = $this->peek($key);
        // Not a property: it refers to this store, and such a circle keeps all values in memory after the application has dropped its cache.
        $judge = new WriteConditions(fn(string $key): ?Record => $this->peek($key)[0], fn(): JournalIndex => $this->log);
        $conflict = $judge->conflict($change, $record);
        if ($conflict !== null) {
            return new ChangeResult(false, $conflict[0], $conflict[1], 0, $conflict[2], $isOver ? null : $record, $conflict[3]);
        }
        if ($change->body !== null && \strlen($change->body) > $this->budget) {
            // Larger than the budget: refuse it before all others are evicted for it.
            return ChangeResult::refused($isOver ? null : $record);
        }
        [$previous, $writer] = WriteConditions::before($key, $record, $this->log);
        if ($change->logged) {
            $position = ++$this->position;
            $this->log->add($key, $position, $change->writer, $change->kind);
        } else {
            $position = ++$this->version;
        }
        $this->remove($key);
        if ($change->body !== null) {
            $this->records[$key] = [new Record($change->body, $position, $change->writer), $change->expiry];
            $this->bytes += self::bytes($key, $change->body);
            $this->marked += self::isMarker($change->body) ? self::bytes($key, $change->body) : 0;
        }

        return new ChangeResult(true, $position, $writer, $previous, WriteConditions::kind($record));
    }

    /** @return array{?Record, bool} a key's record, without its body if it has expired (it still counts as a change); and whether it has */
    private function peek(string $key): array
    {
        [$record, $expiry] = $this->records[$key] ?? [null, 0];
        $isOver = $expiry !== 0 && $expiry < $this->now();

        return [$record !== null && $isOver ? new Record('', $record->position, $record->writer) : $record, $isOver];
    }

    private function remove(string $key): void
    {
        if (isset($this->records[$key])) {
            $body = $this->records[$key][0]->body;
            $this->bytes -= self::bytes($key, $body);
            $this->marked -= self::isMarker($body) ? self::bytes($key, $body) : 0;
            unset($this->records[$key]);
        }
    }

    private static function bytes(string $key, string $body): int
    {
        return \strlen($key) + \strlen($body) + self::OVERHEAD;
    }

    private static function isMarker(string $body): bool
    {
        return \in_array($body[0] ?? '', ['m', 'c'], true);
    }

    /** Whether a flush covers the record. */
    private function isCovered(string $key, Record $record): bool
    {
        if (($record->body[0] ?? '') !== Change::HELD) {
            foreach (Markers::covering($key) as $marker) {
                if ($record->position <= ($this->records[$marker][0]->position ?? 0)) {
                    return true;
                }
            }
        }

        return false;
    }

    /** Evicts the least recently used records down to nine tenths of the budget, so that not every write must evict. */
    private function evict(): void
    {
        $part = \intdiv($this->budget, Markers::SHARE);
        $this->marked > $part && $this->forget(Markers::TAGS, $part);
        $this->marked > 2 * $part && $this->forget(Markers::FLUSHES, 2 * $part);
        $enough = $this->budget - \intdiv($this->budget, 10);
        foreach ($this->records as $key => [$record]) {
            if ($this->bytes <= $enough) {
                break;
            }
            // Markers and intents stay: they say which values must not be served.
            if (!\in_array($record->body[0] ?? '', Change::KEPT, true)) {
                $this->remove((string) $key);
            }
        }
    }

    /** Forgets the oldest markers of one sort, until all markers take a little less than this many bytes. */
    private function forget(string $sort, int $bytes): void
    {
        $positions = [];
        foreach ($this->records as $key => [$record]) {
            if (self::isMarker($record->body) && Markers::is((string) $key) && ((string) $key)[0] === $sort) {
                $positions[$key] = $record->position;
            }
        }
        \asort($positions);
        foreach ($positions as $key => $position) {
            if ($this->marked <= $bytes - \intdiv($bytes, 4)) {
                break;
            }
            $this->remove((string) $key);
            $this->floors[$sort] = $position;
        }
    }
}
