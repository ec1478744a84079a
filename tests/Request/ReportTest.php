<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Request\Report;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** What is listed is what a reader would get. */
#[CoversClass(Report::class)]
final class ReportTest extends TestCase
{
    #[TestWith(['sqlite'])]
    #[TestWith(['file'])]
    #[TestWith(['redis'])]
    public function testWhatWasFlushedOrInvalidatedIsNotListed(string $scheme): void
    {
        $directory = new TemporaryDirectory();
        $redis = null;
        if ($scheme === 'redis') {
            if (RedisServer::program() === null) {
                self::markTestSkipped('No redis-server: bin/setup installs it.');
            }
            $redis = new RedisServer();
        }
        $dsn = $redis === null ? "$scheme://$directory->path/cache" : "redis://$redis->socket";
        $cache = Cache::open(['dsn' => $dsn]);
        $inner = $cache->group('a/b: c')->group('inner');
        $cache->set('root', 1);
        $cache->set('tagged', 1, tags: ['tag']);
        $cache->group('other')->set('other', 1);
        $inner->set('inner', 1);
        self::assertSame(['inner' => 'a/b: c/inner', 'other' => 'other', 'root' => '', 'tagged' => ''], self::listed($dsn));

        $cache->group('a/b: c')->flush();
        self::assertSame(['other' => 'other', 'root' => '', 'tagged' => ''], self::listed($dsn));

        $inner->set('again', 1);
        $cache->invalidateTags('tag');
        self::assertSame(['again' => 'a/b: c/inner', 'other' => 'other', 'root' => ''], self::listed($dsn));

        $cache->flush();
        self::assertSame([], self::listed($dsn));
        $redis?->stop();
    }

    /** @return array<string, string> groups by key, as another process sees it */
    private static function listed(string $dsn): array
    {
        $groups = [];
        foreach (Cache::open($dsn)->entries() as $key => $entry) {
            $groups[$key] = $entry['group'];
        }
        \ksort($groups);

        return $groups;
    }
}
