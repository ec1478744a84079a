<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Store\JournalSlice;
use Larder\Store\Snapshot;
use Larder\Store\Store;
use Larder\Tests\Model\Machine;

/** A Shelf, reached by steps. */
final class ShelfStore implements Store
{
    public function __construct(private readonly string $shelf, private readonly bool $forgets) {}

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        /** @var JournalSlice */
        return Machine::step("$this->shelf.since", $epoch, $position);
    }

    public function read(array $keys): Snapshot
    {
        /** @var Snapshot */
        return Machine::step("$this->shelf.read", $keys, !$this->forgets);
    }

    public function write(array $changes): array
    {
        /** @var non-empty-list<\Larder\Store\Outcome> */
        return Machine::step("$this->shelf.write", $changes);
    }

    public function now(): int
    {
        return (int) (Machine::microtime(true) * 1000);
    }

    public function forgets(): bool
    {
        return $this->forgets;
    }

    public function tidy(): void {}

    public function each(): iterable
    {
        return [];
    }

    public function stats(): array
    {
        return ['engine' => 'shelf', 'entries' => 0, 'bytes' => 0, 'budget' => 0];
    }
}
