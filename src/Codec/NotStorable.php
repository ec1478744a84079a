<?php

declare(strict_types=1);

namespace Larder\Codec;

/** A value that cannot be stored without changing it: closures, resources, objects that refuse to be serialized. */
final class NotStorable extends \InvalidArgumentException
{
    /** @param string $path where in the value, as it would be written in PHP: "['user']['file']"; '' for the value itself */
    public static function at(string $path, string $what, ?\Throwable $cause = null): self
    {
        return new self(
            'This value cannot be cached: ' . ($path === '' ? 'it' : $path) . ' ' . $what
            . '. Store what it was made from instead, or take it out before caching.',
            0,
            $cause,
        );
    }
}
