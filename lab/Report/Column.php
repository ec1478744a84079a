<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

final readonly class Column
{
    /**
     * @param int<0, max> $rank   0 is never left out; where there is no room for all, the highest goes first
     * @param bool        $number stands at the right
     */
    public function __construct(
        public string $label,
        public int $rank = 0,
        public bool $number = false,
    ) {}
}
