<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\System\Ownership;
use Larder\System\WrongUser;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
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

    /** @return iterable<string, array{string, string}> */
    public static function secrets(): iterable
    {
        yield 'a password' => ['--dsn=redis://user:hunter2@h:1/2', "'--dsn=redis://***@h:1/2'"];
        yield 'one that is encoded' => ['--dsn=redis%3A%2F%2Fhunter2%40h', "'--dsn=redis%3A%2F%2F***%40h'"];
        yield 'a secret' => ['--dsn=redis://h?secret=hunter2&prefix=p', "'--dsn=redis://h?secret=***&prefix=p'"];
        yield 'the last one' => ['--dsn=redis://h?prefix=p&secret=hunter2', "'--dsn=redis://h?prefix=p&secret=***'"];
        yield 'a list of secrets' => ['redis://h?secret[0]=hunter2&secret[]=hunter2&secret%5B1%5D=hunter2', "'redis://h?secret[0]=***&secret[]=***&secret%5B1%5D=***'"];
        yield 'a password in the query' => ['redis-sentinel://h?sentinel_password=hunter2&db=1', "'redis-sentinel://h?sentinel_password=***&db=1'"];
        yield 'a variable' => ['LARDER_SECRET=hunter2', "'LARDER_SECRET=***'"];
        yield 'none' => ['secretary:1', 'secretary:1'];
    }

    #[DataProvider('secrets')]
    public function testTheCommandToTypeTellsNoSecret(string $word, string $shown): void
    {
        $words = $_SERVER['argv'];
        $_SERVER['argv'] = ['bin/larder', 'get', $word];
        try {
            $command = WrongUser::of('/var/app', 65_534)->command;
        } finally {
            $_SERVER['argv'] = $words;
        }
        self::assertStringEndsWith(" get $shown", $command);
        self::assertStringNotContainsString('hunter2', $command);
    }
}
