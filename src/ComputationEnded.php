<?php

declare(strict_types=1);

namespace Larder;

/** A call of a Computation after its callable has returned or thrown. */
final class ComputationEnded extends \LogicException
{
    public static function before(): self
    {
        return new self('This computation has ended, and nothing that it is told counts any more: call ttl(), soft(), tags() and doNotStore() before the function that you gave to remember() returns.');
    }
}
