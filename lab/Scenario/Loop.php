<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Run\Again;
use Larder\Lab\Service\Cores;
use Larder\Lab\Subject\LoopSubjects;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\ProcessTask;

/**
 * One script that gets one key 10,000 times over one connection, as it was published; the same with as many keys; and
 * with connect, get and close for each. The script is one request.
 */
final readonly class Loop extends Scenario
{
    public const NAME = 'loop';

    private const GETS = 10_000;

    /** Where it shall not last long. */
    private const FEW = 1_000;

    private const BASE = 'apcu:process';

    public function __construct(private Cores $cores = new Cores()) {}

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            '10,000 gets in one script over one connection, of one key and of as many; the same with connect, get and close for each',
            'The loop',
            first: 'short/read',
            sideBySide: true,
            operations: ['cycle' => 'connect, get and close, %s', 'repeat' => 'read %s, one key again and again'],
            columns: ['cycle' => 'connect, get, close', 'repeat' => 'read one key'],
        );
    }

    public function subjects(): array
    {
        return LoopSubjects::all();
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $gets = $scope->level === Scope::EVERY ? self::GETS : self::FEW;
        // The whole loop is one sample, as it was in what was published; a round is a script, which runs it once.
        $effort = Effort::script($gets);
        $tasks = [];
        foreach ($subjects as $subject) {
            foreach ($this->cores->placements($subject) as $placement) {
                foreach (['repeat', 'read', 'cycle'] as $operation) {
                    if ($scope->level === Scope::PART && $operation === 'read') {
                        continue;
                    }
                    $side = Side::of(self::NAME, $subject, 'short', $operation, placement: $placement, request: $gets);
                    $tasks[] = $task = new ProcessTask($side->cell->id(), [$side], $effort);
                    if ($subject->name === self::BASE && $operation === 'repeat') {
                        \array_push($tasks, ...Again::of($task, 'short', $operation));
                    }
                }
            }
        }

        return $tasks;
    }

    public function base(Cell $cell): ?string
    {
        return $cell->subject === self::BASE ? null : $cell->idOf(self::BASE) . "/$cell->request";
    }
}
