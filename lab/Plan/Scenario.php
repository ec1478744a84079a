<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

/** One of the published comparisons. Each is a file of Scenario/. */
interface Scenario
{
    /** Its name, what `bench --list` says of it, and how a report shows it. */
    public function presentation(): Presentation;

    /** @return list<Subject> all it knows, also what cannot be measured here */
    public function subjects(): array;

    /**
     * @param list<Subject> $subjects those of subjects() that can be measured here and are asked for
     *
     * @return list<Task>
     */
    public function tasks(Scope $scope, array $subjects): array;

    /**
     * The cell that another is compared with in the tables.
     *
     * @return ?string its id; null for a cell that is compared with nothing (the base itself among them)
     */
    public function base(Cell $cell): ?string;
}
