<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

use Larder\Lab\Run\Result;

/** A scenario that has something to say of its figures. */
interface Remarking
{
    /**
     * @param list<Result> $results of all scenarios
     *
     * @return list<string> sentences: what a reader of the report must know
     */
    public function remarks(array $results): array;
}
