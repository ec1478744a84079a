<?php

declare(strict_types=1);

namespace Larder\Driver;

/** A server cannot be reached, has closed the connection, or has not answered in time. Never leaves the drivers. */
final class Disconnected extends \RuntimeException
{
    /** @param bool $isLate it may still answer, or have done what it was asked */
    public function __construct(string $what, public readonly bool $isLate = false)
    {
        parent::__construct($what);
    }
}
