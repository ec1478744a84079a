<?php

declare(strict_types=1);

namespace Larder\Request;

/** An invalid key, tag or group name. */
final class InvalidKey extends \InvalidArgumentException
{
    public static function empty(string $what): self
    {
        return new self("A $what must not be empty: give it at least one character.");
    }

    public static function noString(string $what, mixed $given): self
    {
        return new self("A $what must be a string, and this one is of type " . \get_debug_type($given) . (\is_int($given) ? ": write '$given'." : '.'));
    }

    public static function tooMany(string $what, int $count, int $most): self
    {
        return new self("$count $what are too many; at most $most are allowed: use one that stands for several of them.");
    }

    public static function tooLong(string $what, int $bytes, int $most): self
    {
        return new self("This $what has $bytes bytes; at most $most are allowed: hash it, for example with hash('xxh128', …).");
    }
}
