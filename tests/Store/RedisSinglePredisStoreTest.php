<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Driver\Redis\Endpoint;
use Larder\Driver\Redis\PredisConnection;
use Larder\Driver\Redis\RedisConnection;
use PHPUnit\Framework\Attributes\Group;

#[Group('slow')]
final class RedisSinglePredisStoreTest extends RedisSingleStoreTestCase
{
    protected static function connection(Endpoint $endpoint): RedisConnection
    {
        return new PredisConnection($endpoint);
    }
}
