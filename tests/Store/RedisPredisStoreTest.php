<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Driver\Redis\Connection;
use Larder\Driver\Redis\Endpoint;
use Larder\Driver\Redis\PredisConnection;

final class RedisPredisStoreTest extends RedisStoreTestCase
{
    protected static function connection(Endpoint $endpoint): Connection
    {
        return new PredisConnection($endpoint);
    }
}
