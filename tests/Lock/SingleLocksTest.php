<?php

declare(strict_types=1);

namespace Larder\Tests\Lock;

use Larder\Lock\Locks;
use Larder\Lock\RedisEngine;
use Larder\Tests\Support\BehindStrictEndpoint;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;

#[CoversClass(RedisEngine::class)]
#[Group('slow')]
final class SingleLocksTest extends LocksRules
{
    use BehindStrictEndpoint;

    protected function open(array $options = []): Locks
    {
        return Locks::open(['dsn' => $this->dsn()] + $options);
    }
}
