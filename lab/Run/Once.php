<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Task;

/** A task for the first round alone: what it finds is the same each time, and each further round would only count it again. */
final readonly class Once implements Task
{
    public function __construct(private Task $task) {}

    public function id(): string
    {
        return $this->task->id();
    }

    public function sides(): array
    {
        return $this->task->sides();
    }

    public function pair(): ?Pair
    {
        return $this->task->pair();
    }

    public function perform(Context $context): array
    {
        return $this->task->perform($context);
    }
}
