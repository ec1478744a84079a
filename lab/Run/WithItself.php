<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Task;

/** Performs a task twice and compares what it finds for its first side: the noise of what cannot be measured in turn. */
final readonly class WithItself implements Task
{
    public function __construct(private Task $task) {}

    public function id(): string
    {
        return $this->task->id() . '/' . Ratio::NOISE;
    }

    public function sides(): array
    {
        $side = $this->task->sides()[0];

        return [$side, $side];
    }

    public function pair(): Pair
    {
        $cell = $this->task->sides()[0]->cell;

        return new Pair("$cell->subject against itself: $cell->operation, $cell->payload", null, Ratio::NOISE);
    }

    public function perform(Context $context): array
    {
        return [$this->task->perform($context)[0], $this->task->perform($context)[0]];
    }
}
