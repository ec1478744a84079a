<?php

declare(strict_types=1);

namespace Larder\Lab\Statistics;

/** Figures that no statistics can be made of. */
final class UnusableSamples extends \InvalidArgumentException
{
    public static function none(): self
    {
        return new self('There are no samples: measure at least one before asking for statistics.');
    }

    public static function notFinite(int $index, float $sample): self
    {
        return new self(\sprintf(
            'Sample %d is %s, which is no measurement: look at what was divided, or at a time that was never taken.',
            $index,
            \is_nan($sample) ? 'not a number' : 'infinite',
        ));
    }

    public static function notPositive(int $index, float $sample): self
    {
        return new self(\sprintf(
            'Round %d is %s, and a ratio needs figures above zero: hold more operations in a sample, so that the clock can see them.',
            $index,
            $sample,
        ));
    }

    public static function notPairs(int $of, int $to): self
    {
        return new self(\sprintf(
            '%d rounds do not pair with %d: give the rounds that measured both, in the same order, or compare the two as separate runs.',
            $of,
            $to,
        ));
    }
}
