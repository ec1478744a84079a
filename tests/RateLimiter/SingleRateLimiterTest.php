<?php

declare(strict_types=1);

namespace Larder\Tests\RateLimiter;

use Larder\RateLimiter;
use Larder\RateLimiter\RedisEngine;
use Larder\Tests\Support\BehindStrictEndpoint;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;

#[CoversClass(RedisEngine::class)]
#[Group('slow')]
final class SingleRateLimiterTest extends RateLimiterRules
{
    use BehindStrictEndpoint;

    protected function open(): RateLimiter
    {
        return RateLimiter::open($this->dsn());
    }
}
