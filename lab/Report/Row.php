<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

final readonly class Row
{
    /**
     * @param list<string> $cells one a column, on one line each; plain text, which the code that prints it escapes
     * @param list<int>    $best  the columns in which it is the best of its table, or cannot be told from the best
     * @param bool         $bad   it says that something did not hold
     * @param string       $id    of the cell it shows, if it is one
     */
    public function __construct(
        public array $cells,
        public array $best = [],
        public bool $bad = false,
        public string $id = '',
    ) {}
}
