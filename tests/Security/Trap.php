<?php

declare(strict_types=1);

namespace Larder\Tests\Security;

/** A class whose objects do something when they are made, or end: what an attacker looks for in an application. */
final class Trap
{
    public static int $sprung = 0;

    public string $note = 'trap';

    public function __wakeup(): void
    {
        self::$sprung++;
    }

    public function __destruct()
    {
        self::$sprung++;
    }
}
