<?php

declare(strict_types=1);

namespace Larder\Tests\Session;

use Larder\Session\RedisEngine;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;

#[CoversClass(RedisEngine::class)]
#[RequiresPhpExtension('redis')]
final class PhpRedisSessionTest extends RedisSessionRules
{
    protected const SCHEME = 'redis';
}
