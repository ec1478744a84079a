<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** A server that lost everything counts anew, below what near copies of before were read at: what marks them? */
#[CoversNothing]
#[RequiresPhpExtension('redis')]
#[RequiresPhpExtension('apcu')]
final class EpochOfMarkTest extends TestCase
{
    #[DataProvider('marks')]
    public function testARequestSeesItsOwnMarkAlsoInANewEpoch(\Closure $mark): void
    {
        if (RedisServer::program() === null) {
            self::markTestSkipped('Needs redis-server.');
        }
        $redis = new RedisServer();
        $cache = Cache::open(['dsn' => 'redis://' . $redis->socket, 'near' => 'apcu', 'prefix' => 'epoch']);
        for ($i = 0; $i < 20; $i++) {
            $cache->set('other', $i);
        }
        $cache->set('k', 'old', 0, ['tag']);
        $cache->refresh();
        $redis->command('FLUSHALL');
        self::assertTrue($mark($cache));
        self::assertNull($cache->get('k'));
        $redis->stop();
    }

    public function testWithoutADatabaseTheLastSetIsRead(): void
    {
        if (RedisServer::program() === null) {
            self::markTestSkipped('Needs redis-server.');
        }
        $redis = new RedisServer();
        $cache = Cache::open(['dsn' => 'redis://' . $redis->socket, 'near' => 'apcu', 'prefix' => 'epoch', 'cacheOnly' => true]);
        for ($i = 0; $i < 20; $i++) {
            $cache->set('k', 'old');
        }
        $cache->refresh();
        $redis->command('FLUSHALL');
        self::assertTrue($cache->set('k', 'new'));
        $cache->forget('k');
        self::assertSame('new', $cache->get('k'));
        $redis->stop();
    }

    /** @return iterable<string, array{\Closure(Cache): bool}> */
    public static function marks(): iterable
    {
        yield 'a tag' => [static fn(Cache $cache): bool => $cache->invalidateTags('tag')];
        yield 'a flush' => [static fn(Cache $cache): bool => $cache->flush()];
    }
}
