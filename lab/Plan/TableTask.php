<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

/** A task that fills the tables: nothing of it can be measured in turn with another side. */
abstract readonly class TableTask implements Task
{
    /** @param non-empty-list<Side> $sides of one subject */
    public function __construct(private string $id, protected array $sides) {}

    final public function id(): string
    {
        return $this->id;
    }

    final public function sides(): array
    {
        return $this->sides;
    }

    final public function pair(): ?Pair
    {
        return null;
    }
}
