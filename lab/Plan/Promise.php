<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

/** What one cell of the tables may take at most of another's time, each round having measured both. */
final readonly class Promise
{
    /**
     * @param string $of    a cell's id
     * @param string $to    a cell's id
     * @param string $title what is compared with what, for people
     */
    public function __construct(
        public string $of,
        public string $to,
        public float $limit,
        public string $title,
    ) {}
}
