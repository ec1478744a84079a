<?php

declare(strict_types=1);

namespace Larder\Codec;

/** Bytes that give no value: damaged, or of an extension or class this process does not have. Means a miss. */
final class Undecodable extends \RuntimeException
{
    public static function because(string $why, ?\Throwable $cause = null): self
    {
        return new self('A cached value could not be decoded: ' . $why, 0, $cause);
    }
}
