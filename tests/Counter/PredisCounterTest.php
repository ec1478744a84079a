<?php

declare(strict_types=1);

namespace Larder\Tests\Counter;

use PHPUnit\Framework\Attributes\Group;

#[Group('slow')]
final class PredisCounterTest extends RedisCounterTest
{
    protected const SCHEME = 'predis';
}
