<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Redis\Script;
use PHPUnit\Framework\TestCase;

final class RedisScriptHashTest extends TestCase
{
    public function testTheHashesAreOfTheScripts(): void
    {
        self::assertSame([\sha1(Script::OPEN), \sha1(Script::WRITE)], [Script::OPEN_HASH, Script::WRITE_HASH]);
    }
}
