<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

/** A scenario that has promises between cells of its tables: where nothing can be measured in turn in one process. */
interface Promising
{
    /**
     * @param list<Cell> $cells all that are measured, of this scenario and others
     *
     * @return list<Promise>
     */
    public function promises(array $cells): array;
}
