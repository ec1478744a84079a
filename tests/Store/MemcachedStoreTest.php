<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Memcached\MemcachedStore;
use Larder\Store\Store;
use Larder\Tests\Contract\StoreContract;
use Larder\Tests\Contract\StoreEpochs;
use Larder\Tests\Contract\StoreOwnChanges;
use Larder\Tests\Support\MemcachedServer;

/** The contract over one server. */
final class MemcachedStoreTest extends StoreContract
{
    use StoreEpochs;
    use StoreOwnChanges;

    private static ?MemcachedServer $server = null;

    private static int $number = 0;

    public static function tearDownAfterClass(): void
    {
        self::$server?->end();
        self::$server = null;
    }

    protected function setUp(): void
    {
        if (!MemcachedServer::installed()) {
            self::markTestSkipped('memcached is not installed.');
        }
        self::$server ??= new MemcachedServer();
        self::$number++;
        parent::setUp();
    }

    protected static function all(Store $store, int $count): array
    {
        return MemcachedServer::all($store, $count);
    }

    protected function store(): MemcachedStore
    {
        self::assertNotNull(self::$server);

        return new MemcachedStore([self::$server->address], 'test' . self::$number, 5.0);
    }
}
