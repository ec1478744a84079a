<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Task;

/**
 * The same task once more in each round, at another moment and in another process, for what the tables' ratios are
 * worth: what it finds for one side is compared with what the tables have of the same cell.
 */
final readonly class Again implements Task
{
    private function __construct(private Task $task, private int $side) {}

    /** @return list<self> one, if the task measures that */
    public static function of(Task $task, string $payload, string $operation): array
    {
        foreach ($task->sides() as $i => $side) {
            if ($side->cell->payload === $payload && $side->cell->operation === $operation) {
                return [new self($task, $i)];
            }
        }

        return [];
    }

    public function id(): string
    {
        return $this->task->id() . '/again';
    }

    public function sides(): array
    {
        return [$this->side()];
    }

    public function pair(): Pair
    {
        $cell = $this->side()->cell;

        return new Pair("$cell->subject against itself, in processes of their own: $cell->operation, $cell->payload" . ($cell->concurrency > 1 ? ", $cell->concurrency at once" : ''), null, Ratio::NOISE);
    }

    public function perform(Context $context): array
    {
        return [$this->task->perform($context)[$this->side]];
    }

    private function side(): Side
    {
        return $this->task->sides()[$this->side] ?? throw new \LogicException('The task has lost a side.');
    }
}
