<?php

declare(strict_types=1);

namespace Larder\Lab\Statistics;

/**
 * Whether a run can tell a difference of 10 %, judged by pairs of the same subject.
 *
 * Quiet is a run whose A/A intervals all reach less than 4 % to each side (3 % if there is only one of them, for one
 * may be narrow by luck) and whose medians are all within 3 % of 1. Simulated with normal noise of every size and 5 to
 * 30 rounds, a subject slowed by 10 % is then found in at least 95 of 100 of the runs that call themselves quiet (94
 * with a single pair of 5 rounds); were the limit 5 %, in 88 of 100 with two pairs of 6 rounds. An interval without 1
 * is not held against the run: of pairs of equals a few in a hundred have to be.
 *
 * It speaks of the noise that the pairs had. Subjects that are noisier than those show it by their own intervals.
 */
final readonly class Noise
{
    /** How far an interval may reach, in parts of one. */
    public const REACH = 0.04;
    /** The same, when there is only one. */
    public const REACH_ALONE = 0.03;
    /** How far from 1 a median may be. */
    public const SHIFT = 0.03;

    /** Whether this run can tell 10 %. */
    public bool $quiet;

    /** @param list<Interval> $pairs of the same subject twice */
    public function __construct(private array $pairs)
    {
        $this->quiet = $pairs !== [] && $this->reach() < (\count($pairs) > 1 ? self::REACH : self::REACH_ALONE)
            && $this->shift() <= self::SHIFT;
    }

    /** The longest reach of an interval to each side, in parts of one; 0 without pairs. */
    public function reach(): float
    {
        return \array_reduce($this->pairs, static fn(float $worst, Interval $pair): float => \max($worst, $pair->halfWidth()), 0.0);
    }

    /** The greatest distance of a median from 1; 0 without pairs. */
    public function shift(): float
    {
        return \array_reduce($this->pairs, static fn(float $worst, Interval $pair): float => \max($worst, \abs($pair->median - 1.0)), 0.0);
    }

    /** For the report. */
    public function sentence(): string
    {
        if ($this->pairs === []) {
            return 'This run measured nothing against itself, so it cannot say how noisy the machine is. Do not trust differences of less than 10 %.';
        }
        $reach = $this->reach();
        if (!\is_finite($reach)) {
            return 'There were too few rounds to say how noisy the machine is: use at least five (--rounds=5).';
        }
        $found = \sprintf(
            'In %s of a subject with itself the greatest difference was %.1f %% and the widest interval was %.1f %% wide',
            \count($this->pairs) === 1 ? 'one pair' : \count($this->pairs) . ' pairs',
            100 * $this->shift(),
            200 * $reach,
        );

        return $this->quiet
            ? "$found. This machine was quiet enough to tell a difference of 10 %."
            : "$found. This machine was too noisy to tell a difference of 10 %. Stop what else runs on it, or give it more rounds (--rounds).";
    }
}
