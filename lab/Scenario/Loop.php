<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Subject\LoopSubjects;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\ProcessTask;

/** One script that gets 10,000 values over one connection, and the same with connect, get and close for each. */
final readonly class Loop implements Scenario
{
    public const NAME = 'loop';

    public const GETS = 10_000;

    /** Where it shall not last long. */
    private const FEW = 1_000;

    public function name(): string
    {
        return self::NAME;
    }

    public function about(): string
    {
        return '10,000 gets in one script over one connection; the same with connect, get and close for each';
    }

    public function subjects(): array
    {
        return LoopSubjects::all();
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $gets = $scope->level === Scope::EVERY ? self::GETS : self::FEW;
        // The whole loop is one sample, as it was in what was published; a round is a script, which runs it once.
        $effort = new Effort(1, 1.0, 1.0, $gets, 1);
        $tasks = [];
        foreach ($subjects as $subject) {
            foreach (['read', 'cycle'] as $operation) {
                $cell = new Cell(self::NAME, $subject->name, $subject->engine, $subject->connection, $subject->serializer, $subject->compressor, 'short', $operation);
                $tasks[] = new ProcessTask(self::NAME . "/$subject->name/$operation", [new Side($cell, $subject)], $effort);
            }
        }

        return $tasks;
    }

    public function base(Cell $cell): ?string
    {
        return $cell->subject === 'redis:socket' ? null : \implode('/', [self::NAME, 'redis:socket', 'short', $cell->operation, 1]);
    }
}
