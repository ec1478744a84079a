<?php

declare(strict_types=1);

namespace Larder\Tests\RateLimiter;

use Larder\RateLimiter\RedisEngine;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;

#[CoversClass(RedisEngine::class)]
#[RequiresPhpExtension('redis')]
final class PhpRedisRateLimiterTest extends RedisRateLimiterRules
{
    protected const SCHEME = 'redis';
}
