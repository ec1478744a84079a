<?php

declare(strict_types=1);

namespace Larder\Store;

/**
 * Records in a PHP array: seen by this process alone and gone with it. For tests, for the command line, and for a
 * long-running process that wants a cache of its own.
 */
final class Memory implements Store
{
    /** About what a record costs beside its key and body, bytes: array slot, object, log. */
    private const OVERHEAD = 400;

    /** Looked at in one tidy(), records. */
    private const STEP = 100;

    private readonly string $epoch;
    private readonly LastChanges $log;
    private readonly Judge $judge;

    /** @var array<array-key, array{Record, int}> record and expiry by key, the least recently used first */
    private array $records = [];

    private int $bytes = 0;
    private int $position = 0;
    private int $version = 0;
    private int $swept = 0;

    /** @param int $budget bytes, about */
    public function __construct(private readonly int $budget = 67_108_864)
    {
        $this->epoch = \bin2hex(\random_bytes(8));
        $this->log = $log = new LastChanges(0);
        $this->judge = new Judge(
            fn(string $key): ?Record => $this->records[$key][0] ?? null,
            static fn(int $limit): LastChanges => $log,
        );
    }

    public function since(string $epoch, int $position, string $token): Changes
    {
        if ($epoch !== $this->epoch || $position > $this->position) {
            return new Changes($this->epoch, $this->position, '', false);
        }
        $list = $position === $this->position ? [] : $this->log->after($position);

        return new Changes($this->epoch, $this->position, '', $list !== null, $list ?? []);
    }

    public function read(array $keys): View
    {
        $records = [];
        foreach ($keys as $key) {
            $found = $this->records[$key] ?? null;
            if ($found !== null) {
                // Taken out and put in again at the end: the array is in the order of use.
                unset($this->records[$key]);
                $this->records[$key] = $found;
                $records[$key] = $found[0];
            }
        }

        return new View($this->epoch, $this->position, $records);
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

    public function forgets(): bool
    {
        return false;
    }

    public function tidy(): void
    {
        $now = (int) (\microtime(true) * 1000);
        // A copy without the keys' order being touched: what is looked at is not used.
        $some = \array_slice($this->records, $this->swept, self::STEP, true);
        $this->swept = \count($some) < self::STEP ? 0 : $this->swept + self::STEP;
        foreach ($some as $key => [, $expiry]) {
            if ($expiry !== 0 && $expiry < $now) {
                $this->remove((string) $key);
            }
        }
    }

    public function each(): iterable
    {
        foreach ($this->records as $key => [$record]) {
            yield (string) $key => $record;
        }
    }

    public function stats(): array
    {
        return ['engine' => 'memory', 'entries' => \count($this->records), 'bytes' => $this->bytes, 'budget' => $this->budget];
    }

    private function apply(Change $change): Outcome
    {
        $key = $change->key;
        $record = $this->records[$key][0] ?? null;
        $conflict = $this->judge->conflict($change, $record);
        if ($conflict !== null) {
            return new Outcome(false, $conflict[0], $conflict[1], 0, $conflict[2], $record, $conflict[3]);
        }
        if ($change->body !== null && \strlen($change->body) > $this->budget) {
            // Never to be kept: refused visibly, before all the others are evicted for it.
            return Outcome::refused($record);
        }
        [$previous, $writer] = Judge::before($key, $record, $this->log);
        if ($change->logged) {
            $position = ++$this->position;
            $this->log->add($key, $position, $change->writer, $change->kind);
        } else {
            $position = ++$this->version;
        }
        $this->remove($key);
        if ($change->body !== null) {
            $this->records[$key] = [new Record($change->body, $position, $change->writer), $change->expiry];
            $this->bytes += \strlen($key) + \strlen($change->body) + self::OVERHEAD;
        }

        return new Outcome(true, $position, $writer, $previous, Judge::kind($record));
    }

    private function remove(string $key): void
    {
        if (isset($this->records[$key])) {
            $this->bytes -= \strlen($key) + \strlen($this->records[$key][0]->body) + self::OVERHEAD;
            unset($this->records[$key]);
        }
    }

    /** Removes the least recently used down to nine tenths of the budget, so that this is not done at each write. */
    private function evict(): void
    {
        $enough = $this->budget - \intdiv($this->budget, 10);
        foreach ($this->records as $key => [$record]) {
            if ($this->bytes <= $enough) {
                break;
            }
            // A marker or an intent says what must not be shown: it goes with the epoch only.
            if (!\in_array($record->body[0] ?? '', Change::KEPT, true)) {
                $this->remove((string) $key);
            }
        }
    }
}
