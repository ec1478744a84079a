<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Store\Appending;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\Snapshot;
use Larder\System\Failure;
use Larder\Tests\Model\Machine;

/** A Shelf, reached by steps. It fails for a server that cannot reach it. */
final class ShelfStore implements Appending
{
    /** @var array<string, true> keys that this process has appended and not seen applied yet */
    private array $late = [];

    public function __construct(private readonly string $shelf, private readonly bool $forgets, private readonly bool $appends = false) {}

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        /** @var JournalSlice */
        return $this->ask('since', $epoch, $position);
    }

    public function read(array $keys): Snapshot
    {
        foreach ($keys as $key) {
            if (isset($this->late[$key])) {
                $this->ask('settle', '');
                $this->late = [];
                break;
            }
        }

        /** @var Snapshot */
        return $this->ask('read', $keys, !$this->forgets);
    }

    public function write(array $changes): array
    {
        /** @var non-empty-list<ChangeResult> $outcomes */
        $outcomes = $this->ask('write', $changes);
        $this->late = [];

        return $outcomes;
    }

    public function appends(): bool
    {
        return $this->appends;
    }

    public function append(Change $change): bool
    {
        if (!$this->appends || $this->ask('append', $change) !== true) {
            return false;
        }
        $this->late[$change->key] = true;

        return true;
    }

    public function position(string $key, string $epoch): ?int
    {
        return null;
    }

    public function settle(string $writer, array &$bounded = []): array
    {
        if (!$this->appends) {
            return [];
        }
        $this->late = [];

        /** @var array<string, int> */
        return $this->ask('settle', $writer);
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
