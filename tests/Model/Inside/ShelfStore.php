<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Store\ChangeResult;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\ReadsPosition;
use Larder\Store\Snapshot;
use Larder\System\Failure;
use Larder\Tests\Model\Machine;

/** A Shelf, reached by steps. It fails for a server that cannot reach it. */
final class ShelfStore implements ReadsPosition
{
    public function __construct(private readonly string $shelf, private readonly bool $forgets, private readonly bool $isLocal = false) {}

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        /** @var JournalSlice */
        return $this->ask('since', $epoch, $position);
    }

    public function read(array $keys): Snapshot
    {
        /** @var Snapshot */
        return $this->ask('read', $keys, !$this->forgets);
    }

    public function write(array $changes): array
    {
        /** @var non-empty-list<ChangeResult> */
        return $this->ask('write', $changes);
    }

    public function readsPosition(): bool
    {
        return $this->isLocal;
    }

    public function beginView(): void {}

    public function readOne(string $key): Snapshot
    {
        return $this->read([$key]);
    }

    public function positions(array $keys, string $epoch): ?array
    {
        return null;
    }

    private function ask(string $call, mixed ...$arguments): mixed
    {
        $answer = Machine::step("$this->shelf.$call", ...$arguments);

        // Null: this process was abandoned, and its fiber is being unwound.
        return $answer === false || $answer === null && $call === 'write' ? throw Failure::because($this->shelf, 'away') : $answer;
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
