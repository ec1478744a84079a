<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

/** Redis by phpredis. */
final class RedisServerTest extends ServerFaults
{
    protected const SCHEME = 'redis';
}
