<?php

declare(strict_types=1);

namespace Larder\Tests\Tier;

use Larder\Cache;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** A request whose store is away uses what it has computed itself, but not what its own change has made old. */
#[RequiresPhpExtension('redis')]
final class FillWithoutItsStoreTest extends TestCase
{
    /** Seen to fail where the first get has no answer: what was computed before the delete was found after it. */
    #[TestWith([true, false])]
    #[TestWith([false, false])]
    #[TestWith([true, true])]
    #[TestWith([false, true])]
    public function testWhatItChangedSinceItAskedIsNotUsed(bool $answers, bool $several): void
    {
        [$redis, $cache] = $this->open();
        $answers || $redis->pause();
        self::assertNull($several ? $cache->getMultiple(['k'])['k'] : $cache->get('k'));
        $answers && $redis->pause();
        self::assertFalse($cache->delete('k'));
        self::assertFalse($cache->fill('k', 'old'));
        self::assertNull($cache->get('k'));
        $cache->commit();
        self::assertNull($cache->get('k'));
        $redis->resume();
    }

    public function testWhatItComputedAfterItsChangeIsUsed(): void
    {
        [$redis, $cache] = $this->open();
        $redis->pause();
        self::assertNull($cache->get('k'));
        self::assertFalse($cache->delete('k'));
        self::assertNull($cache->get('k'));
        self::assertFalse($cache->fill('k', 'new'));
        self::assertSame('new', $cache->get('k'));
        $redis->resume();
    }

    /** @return array{RedisServer, Cache} */
    private function open(): array
    {
        if (RedisServer::program() === null) {
            self::markTestSkipped('Needs redis-server.');
        }
        $redis = new RedisServer();
        $cache = Cache::open(['dsn' => 'redis://' . $redis->socket . '?timeout=0.1']);
        $cache->set('other', 1);
        $cache->refresh();

        return [$redis, $cache];
    }
}
