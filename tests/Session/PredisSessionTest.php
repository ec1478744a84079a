<?php

declare(strict_types=1);

namespace Larder\Tests\Session;

use Larder\Session\RedisEngine;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;

#[CoversClass(RedisEngine::class)]

#[Group('slow')]
final class PredisSessionTest extends RedisSessionRules
{
    protected const SCHEME = 'predis';
}
