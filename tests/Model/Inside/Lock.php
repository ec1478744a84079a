<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Tests\Model\Handle;
use Larder\Tests\Model\Machine;

/** In the place of System\FileLock: waits as long as it takes. */
final class Lock
{
    public static function file(string $file): Handle
    {
        return new Handle(0);
    }

    public static function take(Handle $handle, float $seconds): bool
    {
        return Machine::step('lock', $handle->inode) === true;
    }
}
