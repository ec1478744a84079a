<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use PHPUnit\Framework\Assert;
use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\Attributes\AfterClass;
use PHPUnit\Framework\Attributes\Before;

/** For rules that hold over a single endpoint too: one for all tests of a class, emptied for each, that refuses nothing of what is asked. */
trait BehindStrictEndpoint
{
    private static ?RedisServer $behind = null;
    private static ?StrictEndpoint $single = null;

    #[Before(10)]
    protected function empty(): void
    {
        RedisServer::demand();
        self::$behind ??= StrictEndpoint::server(appendOnly: true);
        self::$single ??= new StrictEndpoint(self::$behind);
        self::$single->forget(7);
        self::$behind->command('FLUSHALL');
    }

    #[After]
    protected function assertNothingWasRefused(): void
    {
        Assert::assertSame([], self::$single?->refused());
    }

    #[AfterClass]
    public static function stopThem(): void
    {
        self::$single = self::$behind = null;
    }

    protected static function behind(): RedisServer
    {
        return self::$behind ?? throw new \LogicException('Not started');
    }

    protected function dsn(string $options = ''): string
    {
        return (self::$single ?? throw new \LogicException('Not started'))->dsn($options);
    }
}
