<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Redis\Script;
use PHPUnit\Framework\TestCase;

final class RedisScriptHashTest extends TestCase
{
    public function testEachScriptHasItsOwn(): void
    {
        foreach ([Script::open(), Script::write(), Script::sweep(), Script::stats()] as $script) {
            self::assertSame(\sha1($script->lua), $script->sha);
        }
    }
}
