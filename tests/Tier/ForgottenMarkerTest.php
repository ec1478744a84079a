<?php

declare(strict_types=1);

namespace Larder\Tests\Tier;

use Larder\Cache;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

/** A marker that the store evicts before whoever computed something under it has stored that. */
#[CoversNothing]
final class ForgottenMarkerTest extends TestCase
{
    /** The fill makes the marker anew, and that hides the invalidation from the store. */
    public function testAnInvalidationCountsThoughItsMarkerIsMadeAnew(): void
    {
        if (RedisServer::program() === null) {
            self::markTestSkipped('Needs redis-server.');
        }
        $redis = new RedisServer(config: ['maxmemory' => '64mb', 'maxmemory-policy' => 'allkeys-random']);
        $open = static fn(): Cache => Cache::open(['dsn' => "redis://$redis->socket", 'near' => 'none']);
        $reader = $open();
        self::assertNull($reader->get('k'));
        self::assertTrue($reader->fill('k', 'before the change', 0, ['t']));
        self::assertTrue($open()->invalidateTags('t'));
        $markers = $redis->command('KEYS', '*t::t');
        self::assertIsArray($markers);
        self::assertCount(1, $markers);
        $redis->command('DEL', $markers[0]);
        $reader->commit();
        self::assertNull($open()->get('k'));
    }
}
