<?php

declare(strict_types=1);

namespace Larder\Testing;

use Larder\Codec\Entry;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\MemoryStore;
use Larder\Store\Snapshot;
use Larder\Store\Store;

/**
 * A store in memory by a test's clock, which counts what is stored.
 *
 * @internal
 */
final class RecordedStore implements Store
{
    /** @var array<string, int> by key: how often a value was stored under it */
    public array $stored = [];

    private readonly MemoryStore $store;

    /** @param int $budget bytes */
    public function __construct(TestClock $clock, int $budget)
    {
        // Not of $this: such a circle keeps all values in memory after the test has dropped its cache.
        $this->store = new MemoryStore($budget, static fn(): int => $clock->now);
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        return $this->store->since($epoch, $position, $token);
    }

    public function read(array $keys): Snapshot
    {
        return $this->store->read($keys);
    }

    public function write(array $changes): array
    {
        $results = $this->store->write($changes);
        foreach ($changes as $i => $change) {
            if ($results[$i]->done && Entry::fromBody((string) $change->body) !== null) {
                $this->stored[$change->key] = ($this->stored[$change->key] ?? 0) + 1;
            }
        }

        return $results;
    }

    public function now(): int
    {
        return $this->store->now();
    }

    public function forgets(): bool
    {
        return $this->store->forgets();
    }

    public function tidy(): void
    {
        $this->store->tidy();
    }

    public function each(): iterable
    {
        return $this->store->each();
    }

    public function stats(): array
    {
        return $this->store->stats();
    }
}
