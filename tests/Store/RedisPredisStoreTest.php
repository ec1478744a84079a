<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Redis\Connection;
use Larder\Store\Redis\Endpoint;
use Larder\Store\Redis\PredisConnection;

final class RedisPredisStoreTest extends RedisStoreTestCase
{
    protected static function connection(Endpoint $endpoint): Connection
    {
        return new PredisConnection($endpoint);
    }
}
