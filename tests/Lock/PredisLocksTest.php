<?php

declare(strict_types=1);

namespace Larder\Tests\Lock;

use Larder\Lock\RedisEngine;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;

#[CoversClass(RedisEngine::class)]

#[Group('slow')]
final class PredisLocksTest extends RedisLocksRules
{
    protected const SCHEME = 'predis';
}
