<?php

declare(strict_types=1);

namespace Larder\Lab\Statistics;

/** What reading the clock costs, and how much work a sample must hold for that not to matter. */
final readonly class TimerCost
{
    /** How much of a sample may be the clock's. */
    private const SHARE = 0.01;

    /** @param float $nanoseconds that a sample is longer than its work: one reading of the clock, or one step of a coarse one */
    public function __construct(public float $nanoseconds)
    {
        if (!($nanoseconds >= 0.0 && $nanoseconds <= 1e9)) {
            throw new \InvalidArgumentException("A clock costs from nothing to a second to read, not $nanoseconds nanoseconds.");
        }
    }

    /**
     * Reads the clock twice in a row, again and again, as a sample with nothing in it would. Takes about a millisecond.
     *
     * @param int<1, max> $pairs
     */
    public static function measure(int $pairs = 10_001): self
    {
        $costs = [];
        // The first readings are slow: the code and the kernel's page are not in the processor's cache yet.
        for ($pair = -100; $pair < $pairs; ++$pair) {
            $start = \hrtime(true);
            $end = \hrtime(true);
            if ($pair >= 0) {
                $costs[] = (float) ($end - $start);
            }
        }
        \sort($costs);
        $cost = Quantile::median($costs);

        return new self($cost > 0.0 ? $cost : self::step());
    }

    /**
     * How many operations a sample must hold so that the clock is less than 1 % of it.
     *
     * @param float $nanosecondsAnOperation a first guess is enough
     *
     * @return int<1, max>
     *
     * @throws UnusableSamples if that is not a time that an operation can take
     */
    public function operations(float $nanosecondsAnOperation): int
    {
        // No processor does anything in a thousandth of a nanosecond; it also keeps the result within an integer.
        if (!\is_finite($nanosecondsAnOperation) || $nanosecondsAnOperation < 0.001) {
            throw UnusableSamples::tooFast($nanosecondsAnOperation);
        }

        return \max(1, (int) ($this->nanoseconds / self::SHARE / $nanosecondsAnOperation) + 1);
    }

    /** Of a clock that seldom moves between two readings: by how much it does when it moves. */
    private static function step(): float
    {
        $start = \hrtime(true);
        do {
            $first = \hrtime(true);
        } while ($first === $start);
        do {
            $second = \hrtime(true);
        } while ($second === $first);

        return (float) ($second - $first);
    }
}
