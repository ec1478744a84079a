<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

use Larder\Lab\Run\Result;

/** One of the published comparisons. Each is a file of Scenario/. */
abstract readonly class Scenario
{
    /** Its name, what `bench --list` says of it, and how a report shows it. */
    abstract public function presentation(): Presentation;

    /** @return list<Subject> all it knows, also what cannot be measured here */
    abstract public function subjects(): array;

    /**
     * @param list<Subject> $subjects those of subjects() that can be measured here and are asked for
     *
     * @return list<Task>
     */
    abstract public function tasks(Scope $scope, array $subjects): array;

    /**
     * The cell that another is compared with in the tables.
     *
     * @return ?string its id; null for a cell that is compared with nothing (the base itself among them)
     */
    abstract public function base(Cell $cell): ?string;

    /**
     * Promises between cells of its tables: where nothing can be measured in turn in one process.
     *
     * @param list<Cell> $cells all that are measured, of this scenario and others
     *
     * @return list<Promise>
     */
    public function promises(array $cells): array
    {
        return [];
    }

    /**
     * What it has to say of its figures.
     *
     * @param list<Result> $results of all scenarios
     *
     * @return list<string> sentences: what a reader of the report must know
     */
    public function remarks(array $results): array
    {
        return [];
    }
}
