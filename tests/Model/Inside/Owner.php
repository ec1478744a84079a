<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Tests\Model\Machine;

/** In the place of System\ProcessId: the model knows which processes are dead. */
final class Owner
{
    public static function current(): string
    {
        // The number that the name begins with.
        return (string) (int) (Machine::$running->name ?? '');
    }

    public static function isKnownDead(string $name): bool
    {
        return !self::isAlive($name);
    }

    public static function isAlive(string $name): bool
    {
        return !isset(Machine::$dead[(int) $name]);
    }
}
