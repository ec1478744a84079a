<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Larder\Store\Journal\JournalSlice;
use Larder\Store\Snapshot;
use Larder\Store\Store;

/** A store whose journal is switched off: whoever asks what changed hears "nothing". The experiment must notice. */
final class DeafStore implements Store
{
    public function __construct(private readonly Store $store) {}

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        return $epoch === '' ? $this->store->since('', 0, '') : new JournalSlice($epoch, $position, $token, true);
    }

    public function read(array $keys): Snapshot
    {
        return $this->store->read($keys);
    }

    public function write(array $changes): array
    {
        return $this->store->write($changes);
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
