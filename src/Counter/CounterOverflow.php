<?php

declare(strict_types=1);

namespace Larder\Counter;

/** The sum does not fit into 64 bits; nothing has changed. */
final class CounterOverflow extends CounterFailure
{
    public static function of(string $name, int $by): self
    {
        return new self(\sprintf('The counter "%s" cannot take another %d: the sum would not fit into 64 bits. Nothing was added.', \addcslashes($name, "\0..\37\177..\377"), $by));
    }
}
