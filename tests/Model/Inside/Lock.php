<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Tests\Model\Machine;

/** In the place of Tier\Lock: waits as long as it takes. */
final class Lock
{
    public static function open(string $file): string
    {
        return $file;
    }

    public static function take(string $file, float $seconds): bool
    {
        return Machine::step('lock', $file) === true;
    }
}
