<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Driver\Redis\Endpoint;
use Larder\Driver\Redis\RedisConnection;
use Larder\Store\Redis\RedisStore;
use Larder\Store\Redis\Watermark;
use Larder\Store\Store;
use Larder\Tests\Contract\StoreContract;
use Larder\Tests\Contract\StoreEpochs;
use Larder\Tests\Contract\StoreOwnChanges;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\StrictEndpoint;
use Larder\Tests\Support\TemporaryDirectory;

/** The contract over a single endpoint that refuses what it can, and forgets scripts now and then, whatever the connection. */
abstract class RedisSingleStoreTestCase extends StoreContract
{
    use StoreEpochs;
    use StoreOwnChanges;

    private static ?RedisServer $server = null;
    private static ?StrictEndpoint $single = null;

    private TemporaryDirectory $directory;

    abstract protected static function connection(Endpoint $endpoint): RedisConnection;

    public static function setUpBeforeClass(): void
    {
        RedisServer::demand();
        self::$server = StrictEndpoint::server();
        self::$single = new StrictEndpoint(self::$server);
        self::$single->forget(5);
    }

    public static function tearDownAfterClass(): void
    {
        self::$single = self::$server = null;
    }

    protected function setUp(): void
    {
        parent::setUp();
        $this->directory = new TemporaryDirectory('larder-single');
        self::$server?->command('FLUSHALL');
    }

    protected function tearDown(): void
    {
        parent::tearDown();
        self::assertSame([], self::$single?->refused());
    }

    protected function store(): Store
    {
        $single = self::$single ?? throw new \LogicException('No server');

        // Glob characters, NUL and newline: a prefix may be anything.
        return new RedisStore(static::connection($single->endpoint()), "{la*r[d]e?r\\\0\n}", mark: new Watermark($this->directory->file('mark'), 5.0));
    }
}
