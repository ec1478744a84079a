<?php

declare(strict_types=1);

namespace Larder\Tests\RateLimiter;

use Larder\RateLimiter\RedisEngine;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;

#[CoversClass(RedisEngine::class)]
#[Group('slow')]
final class PredisRateLimiterTest extends RedisRateLimiterRules
{
    protected const SCHEME = 'predis';
}
