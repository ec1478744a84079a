<?php

declare(strict_types=1);

namespace Larder\Codec;

/** Bytes that cannot be decoded: damaged, or made with an extension or class that this process lacks. Counts as a miss. */
final class Undecodable extends \RuntimeException
{
    /** A deployment has changed the value's classes, or the options that judge them, or its class is loaded in other requests only, as a plugin's: no fault. */
    public bool $isOutdated = false;

    public static function because(string $why, ?\Throwable $cause = null): self
    {
        return new self('A stored value could not be decoded: ' . $why, 0, $cause);
    }

    public static function outdated(string $why): self
    {
        $undecodable = self::because($why);
        $undecodable->isOutdated = true;

        return $undecodable;
    }
}
