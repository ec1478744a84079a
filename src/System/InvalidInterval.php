<?php

declare(strict_types=1);

namespace Larder\System;

/** A DateInterval that is no time to live. */
final class InvalidInterval extends \InvalidArgumentException
{
    public static function tooLong(): self
    {
        return new self('This interval is longer than 10,000 years: for a value that never expires give 0 as its time to live.');
    }
}
