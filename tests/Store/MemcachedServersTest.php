<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Memcached\MemcachedStore;
use Larder\Store\Store;
use Larder\System\Failure;
use Larder\Tests\Contract\StoreContract;
use Larder\Tests\Contract\StoreEpochs;
use Larder\Tests\Contract\StoreOwnChanges;
use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\Group;

/** The contract over three servers, one on a unix socket and two on TCP. */
final class MemcachedServersTest extends StoreContract
{
    use StoreEpochs;
    use StoreOwnChanges;

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

    protected static function all(Store $store, int $count): array
    {
        return MemcachedServer::all($store, $count);
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
            $store = $this->store(0.2);
            foreach ($keys as $key) {
                try {
                    self::assertSame('v', self::record($store, $key)?->body);
                } catch (Failure) {
                    $failed++;
                }
            }
        } finally {
            self::$servers[1]->resume();
        }
        self::assertGreaterThan(0, $failed, 'Each server had some of them.');
        foreach ($keys as $key) {
            self::assertSame('v', Wait::answer(static fn(): ?string => self::record($store, $key)?->body));
        }
    }

    #[Group('long')]
    public function testAWriteLeftUndoneOnAServerThatIsDownFailsNobodyElse(): void
    {
        $store = $this->store();
        $keys = \array_map(static fn(int $i): string => "k$i", \range(0, 29));
        foreach ($keys as $key) {
            self::put($store, $key, 'old');
        }
        $start = $store->since('', 0, '');
        $down = null;
        foreach (self::$servers as $server) {
            // Not the one with the log.
            $server->pause();
            try {
                $this->store(0.05)->since('', 0, '');
                $down = $server;
                break;
            } catch (Failure) {
                $server->resume();
            }
        }
        self::assertNotNull($down);
        try {
            $store = $this->store(0.05);
            $failed = $up = [];
            foreach ($keys as $key) {
                try {
                    self::put($store, $key, 'new');
                    $up[] = $key;
                } catch (Failure) {
                    $failed[] = $key;
                }
            }
            self::assertNotSame([], $failed);
            self::assertNotSame([], $up);
            \sleep(6);
            foreach ($up as $key) {
                self::assertSame('new', self::record($this->store(0.05), $key)?->body);
            }
            $changes = $store->since($start->epoch, $start->end, '');
            self::assertSame([], \array_diff($keys, \array_column($changes->list, 0)), 'Announced, made or not.');
            self::assertLessThan(self::put($store, $up[0], 'more')->position, $changes->end);
        } finally {
            $down->resume();
        }
        \sleep(6);
        for ($i = 0; $i < 10; $i++) {
            $this->store()->read(['any']);
        }
        $view = $this->store()->read($keys);
        self::assertSame([], \array_intersect($failed, \array_keys($view->records)), 'Nothing old is left of what was to be replaced.');
        self::assertSame($view->at, $this->store()->since('', 0, '')->end);
        self::assertGreaterThanOrEqual(self::put($store, 'end', 'v')->position, $this->store()->read(['end'])->at);
    }
}
