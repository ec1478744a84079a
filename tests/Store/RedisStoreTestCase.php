<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Config\Dsn;
use Larder\Console\Doctor\RedisUser;
use Larder\Driver\Redis\Endpoint;
use Larder\Driver\Redis\RedisConnection;
use Larder\Store\Redis\RedisStore;
use Larder\Store\Store;
use Larder\Tests\Contract\StoreContract;
use Larder\Tests\Contract\StoreEpochs;
use Larder\Tests\Contract\StoreOwnChanges;
use Larder\Tests\Support\RedisServer;

/** The contract over a real server, whatever the connection; as the user that `larder doctor` advises, who is refused nothing. */
abstract class RedisStoreTestCase extends StoreContract
{
    use StoreEpochs;
    use StoreOwnChanges;

    private static ?RedisServer $server = null;

    abstract protected static function connection(Endpoint $endpoint): RedisConnection;

    public static function setUpBeforeClass(): void
    {
        RedisServer::demand();
        self::$server = new RedisServer();
    }

    public static function tearDownAfterClass(): void
    {
        self::$server = null;
    }

    protected function setUp(): void
    {
        parent::setUp();
        self::$server?->command('FLUSHALL');
    }

    protected function tearDown(): void
    {
        parent::tearDown();
        self::assertSame([], self::$server?->refusals() ?? []);
    }

    protected function store(): Store
    {
        $server = self::$server ?? throw new \LogicException('No server');

        // Glob characters, NUL and newline: a prefix may be anything. An ACL has no such keys.
        $server->permit(['~*', ...\preg_grep('/^\+/', RedisUser::rules(Dsn::parse('redis://h'), '', 'cache')) ?: []]);

        return new RedisStore(static::connection($server->socketEndpoint()->with(RedisServer::USER, new \SensitiveParameterValue(RedisServer::PASSWORD))), "la*r[d]e?r\\\0\n");
    }
}
