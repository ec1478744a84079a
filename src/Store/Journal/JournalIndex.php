<?php

declare(strict_types=1);

namespace Larder\Store\Journal;

/** The last change of each key after some position, a bounded number of them: what an engine in PHP knows of its journal. */
final class JournalIndex
{
    /** @var array<array-key, array{int, string, string}> position, writer, kind by key; oldest first */
    private array $changes = [];

    private readonly JournalHorizon $forgotten;

    /**
     * @param int $floor the engine adds every change after this position
     * @param int $most  about how many keys are remembered; the oldest are forgotten first
     */
    public function __construct(int $floor, private readonly int $most = 10_000)
    {
        $this->forgotten = new JournalHorizon($floor);
    }

    /**
     * Every change after the returned position is known; of older changes perhaps some.
     *
     * @param ?string $writer whose own changes do not matter
     */
    public function floor(?string $writer = null): int
    {
        return $this->forgotten->last($writer);
    }

    /** Notes a change that is newer than all before. */
    public function add(string $key, int $position, string $writer, string $kind): void
    {
        // Remove it first, so that it moves to the end.
        unset($this->changes[$key]);
        $this->changes[$key] = [$position, $writer, $kind];
        if (\count($this->changes) > $this->most + ($this->most >> 2)) {
            // Forget many at a time: removing the first element each time makes PHP walk over the holes at the array's start.
            foreach (\array_slice($this->changes, 0, -$this->most) as [$oldest, $by]) {
                $this->forgotten->add($oldest, $by);
            }
            $this->changes = \array_slice($this->changes, -$this->most, null, true);
        }
    }

    /** @return ?array{int, string, string} position, writer and kind of the key's last change, if it is known */
    public function find(string $key): ?array
    {
        return $this->changes[$key] ?? null;
    }

    /** @return ?list<array{string, int, string, string}> as JournalSlice::$list; null: changes that far back are no longer known */
    public function after(int $position): ?array
    {
        if ($position < $this->floor()) {
            return null;
        }
        $list = [];
        for ($change = \end($this->changes); $change !== false && $change[0] > $position; $change = \prev($this->changes)) {
            $list[] = [(string) \key($this->changes), $change[0], $change[1], $change[2]];
        }

        return \array_reverse($list);
    }
}
