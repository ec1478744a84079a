<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use PHPUnit\Framework\Attributes\Group;

#[Group('slow')]
final class PredisQueueTest extends RedisQueue
{
    protected static function scheme(): string
    {
        return 'predis';
    }
}
