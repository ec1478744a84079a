<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\System\Ownership;
use Larder\System\WrongUser;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(WrongUser::class)]
final class WrongUserTest extends TestCase
{
    /** As a pool of php-fpm sees it: nobody types a command there. */
    public function testTheWebIsToldHowToGetTheDirectory(): void
    {
        $me = Ownership::name(Ownership::user());
        $words = $_SERVER['argv'];
        unset($_SERVER['argv']);
        try {
            $rooted = WrongUser::of('/var/a b', 0)->getMessage();
            $other = WrongUser::of('/var/app', 65_534)->getMessage();
        } finally {
            $_SERVER['argv'] = $words;
        }
        self::assertStringEndsWith("If no other user needs it, type as root: chown -R $me: '/var/a b'. Or give $me a directory of its own.", $rooted);
        $name = Ownership::name(65_534);
        self::assertStringEndsWith("runs as $me. Let this pool run as $name. Or if no other user needs it, type as root: chown -R $me: /var/app. Or give $me a directory of its own.", $other);
    }
}
