<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Task;

/** What will be measured, and what cannot be, on this machine. */
final readonly class Plan
{
    /**
     * @param array<string, Scenario>                                                       $scenarios by name
     * @param list<Task>                                                                    $tasks
     * @param list<array{subject: string, scenario: string, what: string, advice: string}>  $missing
     */
    private function __construct(
        public array $scenarios,
        public array $tasks,
        public array $missing,
    ) {}

    /** @param array<string, Scenario> $scenarios by name */
    public static function make(array $scenarios, Scope $scope): self
    {
        $tasks = $missing = [];
        foreach ($scenarios as $scenario) {
            $there = [];
            foreach ($scenario->subjects() as $subject) {
                if (!$scope->wants($subject)) {
                    continue;
                }
                $lacks = $subject->missing();
                if ($lacks === []) {
                    $there[] = $subject;
                    continue;
                }
                foreach ($lacks as $need) {
                    $missing[] = ['subject' => $subject->name, 'scenario' => $scenario->presentation()->name, 'what' => $need->what, 'advice' => $need->advice];
                }
            }
            \array_push($tasks, ...$scenario->tasks($scope, $there));
        }

        return new self($scenarios, $tasks, $missing);
    }

    /**
     * Words of --subjects that mean nothing in these scenarios.
     *
     * @param array<string, Scenario> $scenarios
     * @param list<string>            $words
     *
     * @return list<string>
     */
    public static function unknown(array $scenarios, array $words): array
    {
        $subjects = \array_merge(...\array_values(\array_map(static fn(Scenario $scenario): array => $scenario->subjects(), $scenarios)));

        return \array_values(\array_filter($words, static function (string $word) use ($subjects): bool {
            foreach ($subjects as $subject) {
                if ($subject->answersTo($word)) {
                    return false;
                }
            }

            return true;
        }));
    }
}
