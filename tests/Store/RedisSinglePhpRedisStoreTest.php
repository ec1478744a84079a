<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Driver\Redis\Endpoint;
use Larder\Driver\Redis\PhpRedisConnection;
use Larder\Driver\Redis\RedisConnection;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;

#[RequiresPhpExtension('redis')]
#[Group('slow')]
final class RedisSinglePhpRedisStoreTest extends RedisSingleStoreTestCase
{
    protected static function connection(Endpoint $endpoint): RedisConnection
    {
        return new PhpRedisConnection($endpoint);
    }
}
