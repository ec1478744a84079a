<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * An engine could not be reached, or is damaged. Never leaves Larder: Cache answers a miss or false instead.
 *
 * @phpstan-consistent-constructor
 */
class Failure extends \RuntimeException
{
    public static function because(string $engine, string $what, ?\Throwable $cause = null): self
    {
        return new static($engine . ': ' . $what . ($cause === null ? '' : ' (' . $cause->getMessage() . ')'), 0, $cause);
    }
}
