<?php

declare(strict_types=1);

namespace Larder\Codec;

/** Bytes that cannot be decoded: damaged, or made with an extension or class that this process lacks. Counts as a miss. */
final class Undecodable extends \RuntimeException
{
    public static function because(string $why, ?\Throwable $cause = null): self
    {
        return new self('A cached value could not be decoded: ' . $why, 0, $cause);
    }
}
