<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Memcached\MemcachedStore;
use Larder\Store\StoreFailure;
use Larder\Tests\Contract\StoreContract;
use Larder\Tests\Support\MemcachedServer;

/** The contract over three servers, one on a unix socket and two on TCP. */
final class MemcachedServersTest extends StoreContract
{
    /** @var list<MemcachedServer> */
    private static array $servers = [];

    private static int $number = 0;

    public static function tearDownAfterClass(): void
    {
        foreach (self::$servers as $server) {
            $server->end();
        }
        self::$servers = [];
    }

    protected function setUp(): void
    {
        if (!MemcachedServer::installed()) {
            self::markTestSkipped('memcached is not installed.');
        }
        if (self::$servers === []) {
            self::$servers = [new MemcachedServer(), new MemcachedServer(tcp: true), new MemcachedServer(tcp: true)];
        }
        self::$number++;
        parent::setUp();
    }

    protected function store(float $timeout = 5.0): MemcachedStore
    {
        $addresses = \array_map(static fn(MemcachedServer $server): array => $server->address, self::$servers);
        // Which one keeps the log does not depend on their order.
        \shuffle($addresses);

        return new MemcachedStore($addresses, 'test' . self::$number, $timeout);
    }

    public function testALostServerLosesItsRecordsOnly(): void
    {
        $store = $this->store();
        $keys = \array_map(static fn(int $i): string => "k$i", \range(0, 99));
        foreach ($keys as $key) {
            self::put($store, $key, 'before');
        }
        $epochs = [$store->read(['k0'])->epoch];
        foreach (self::$servers as $server) {
            $seen = $store->since('', 0, '');
            $server->restart();
            $view = $this->store()->read($keys);
            $epochs[] = $view->epoch;
            self::assertLessThan(100, \count($view->records), 'Each server had some of them.');
            if ($view->epoch === $seen->epoch) {
                self::assertTrue($this->store()->since($seen->epoch, $seen->end, '')->complete);
            } else {
                self::assertSame([], $view->records, 'With the log everything is gone.');
            }
            foreach ($keys as $key) {
                self::put($store = $this->store(), $key, 'after');
            }
        }
        self::assertCount(2, \array_unique($epochs), 'The log was lost once.');
    }

    public function testAStoppedServerFailsItsKeysUntilItGoesOn(): void
    {
        $store = $this->store();
        $keys = \array_map(static fn(int $i): string => "k$i", \range(0, 29));
        foreach ($keys as $key) {
            self::put($store, $key, 'v');
        }
        self::$servers[1]->pause();
        $failed = 0;
        try {
            $store = $this->store(0.05);
            foreach ($keys as $key) {
                try {
                    self::assertSame('v', self::record($store, $key)?->body);
                } catch (StoreFailure) {
                    $failed++;
                }
            }
        } finally {
            self::$servers[1]->resume();
        }
        self::assertGreaterThan(0, $failed);
        foreach ($keys as $key) {
            self::assertSame('v', self::record($store, $key)?->body);
        }
    }
}
