<?php

declare(strict_types=1);

namespace Larder\Lab\Statistics;

/** A ratio and the 95 % interval in which it lies; without an end (0 to infinity) where there are too few rounds to tell. */
readonly class Interval
{
    /**
     * @param float $median how many times as much: 1.1 is 10 % more
     * @param float $low    from 0
     * @param float $high   up to infinity, which JSON has no word for: see bounded()
     * @param int   $rounds it comes from; of two separate runs those of the shorter one
     */
    public function __construct(
        public float $median,
        public float $low,
        public float $high,
        public int $rounds,
    ) {}

    /** Whether there is a difference, at 95 %. */
    public function excludesOne(): bool
    {
        return $this->low > 1.0 || $this->high < 1.0;
    }

    /** Whether anything can be said at all. */
    public function bounded(): bool
    {
        return \is_finite($this->high);
    }

    /** How unsure the ratio is: 0.04 is 4 % to each side of a ratio near 1. */
    public function halfWidth(): float
    {
        return ($this->high - $this->low) / 2;
    }
}
