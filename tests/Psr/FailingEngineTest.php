<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

use Larder\Cache;
use Larder\Psr\CacheItemPool;
use Larder\Psr\SimpleCache;
use Larder\Tests\Support\OneRedisServer;
use PHPUnit\Framework\Attributes\Test;
use PHPUnit\Framework\TestCase;

/** PSR-6, Error handling: "an error in a cache system SHOULD NOT result in application failure" */
final class FailingEngineTest extends TestCase
{
    use OneRedisServer;

    /** "SHOULD trap any errors or exceptions triggered by an underlying data store and not allow them to bubble" */
    #[Test]
    public function withTheServerGoneSimpleCacheMissesAndSaysFalse(): void
    {
        $cache = new SimpleCache($this->open());
        self::assertTrue($cache->set('key', 'value'));
        $this->server->kill();
        self::assertFalse($cache->set('other', 'value'));
        self::assertFalse($cache->setMultiple(['one' => 1]));
        self::assertFalse($cache->delete('key'));
        self::assertFalse($cache->clear());

        $cache = new SimpleCache($this->open());
        self::assertSame('default', $cache->get('key', 'default'));
        self::assertFalse($cache->has('key'));
        self::assertEquals(['key' => null], $cache->getMultiple(['key']));
        self::assertFalse($cache->set('key', 'value'));
        self::assertFalse($cache->deleteMultiple(['key']));
    }

    #[Test]
    public function withTheServerGoneThePoolMissesAndSaysFalse(): void
    {
        $pool = new CacheItemPool($this->open());
        self::assertTrue($pool->save($pool->getItem('key')->set('value')));
        $this->server->kill();
        self::assertTrue($pool->saveDeferred($pool->getItem('deferred')->set('value')));
        self::assertFalse($pool->commit());
        self::assertFalse($pool->save($pool->getItem('other')->set('value')));
        self::assertFalse($pool->deleteItem('key'));
        self::assertFalse($pool->clear());

        $pool = new CacheItemPool($this->open());
        self::assertFalse($pool->getItem('key')->isHit());
        self::assertFalse($pool->hasItem('key'));
        self::assertTrue($pool->saveDeferred($pool->getItem('key')->set('value')));
        unset($pool); // its destructor must not throw either
    }

    /** What a failed commit() did not save is neither served on nor written over newer values later. */
    #[Test]
    public function aFailedCommitKeepsNothing(): void
    {
        $pool = new CacheItemPool($this->open());
        $pool->saveDeferred($pool->getItem('key')->set('old'));
        $this->server->kill();
        self::assertFalse($pool->commit());
        $this->server->start();
        $other = new CacheItemPool($this->open());
        self::assertTrue($other->save($other->getItem('key')->set('new')));
        self::assertTrue($pool->commit());
        unset($pool);
        self::assertSame('new', (new CacheItemPool($this->open()))->getItem('key')->get());
    }

    private function open(): Cache
    {
        return Cache::open(['far' => 'redis://' . $this->server->socket, 'logger' => new \Psr\Log\NullLogger()]);
    }
}
