<?php

declare(strict_types=1);

namespace Larder\Tests\Lock;

use Larder\Lock\RedisEngine;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;

#[CoversClass(RedisEngine::class)]
#[RequiresPhpExtension('redis')]
final class PhpRedisLocksTest extends RedisLocksRules
{
    protected const SCHEME = 'redis';
}
