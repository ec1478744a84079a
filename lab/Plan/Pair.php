<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

use Larder\Lab\Run\Ratio;

/** What a ratio of two cells stands for. */
final readonly class Pair
{
    /**
     * @param string $title what is compared with what, for people
     * @param ?float $limit what the first may take of the second's time at most, where that was promised
     * @param string $kind  one of Ratio's constants
     */
    public function __construct(
        public string $title,
        public ?float $limit = null,
        public string $kind = Ratio::PAIR,
    ) {}
}
