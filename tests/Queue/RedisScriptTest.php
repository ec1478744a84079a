<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\RedisScript;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(RedisScript::class)]
final class RedisScriptTest extends TestCase
{
    // Seen to fail with another script.
    public function testTheHashIsThatOfTheScript(): void
    {
        self::assertSame(\sha1(RedisScript::PUSH), RedisScript::PUSH_HASH);
    }
}
