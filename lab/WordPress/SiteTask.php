<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Task;

/** What all tasks on a subject's own site have in common: nothing there can be measured in turn with another side. */
abstract readonly class SiteTask implements Task
{
    /** @param non-empty-list<Side> $sides of one subject */
    public function __construct(
        protected Stage $stage,
        private string $id,
        protected array $sides,
    ) {}

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
