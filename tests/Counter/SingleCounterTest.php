<?php

declare(strict_types=1);

namespace Larder\Tests\Counter;

use Larder\Counter\RedisEngine;
use Larder\Tests\Support\BehindStrictEndpoint;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;

#[CoversClass(RedisEngine::class)]
#[Group('slow')]
final class SingleCounterTest extends CounterContract
{
    use BehindStrictEndpoint;
}
