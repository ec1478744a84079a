<?php

declare(strict_types=1);

namespace Larder\Tests\Load;

use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** Values that differ each time they are computed are cached as well as by plain Redis, within a point. */
#[Group('long')]
final class BoundedLifeTest extends TestCase
{
    #[TestWith([null, null])]
    #[TestWith(['apcu', null])]
    #[TestWith([null, 15.0])]
    public function testTheHitRatioIsWithinAPointOfLastWriterWins(?string $near, ?float $flush): void
    {
        if (RedisServer::program() === null || !\extension_loaded('redis') || !\extension_loaded('pcntl')) {
            self::markTestSkipped('Needs redis-server (or valkey-server), and the extensions redis and pcntl.');
        }
        $did = (new BoundedLife(40.0, near: $near, flush: $flush))->run();
        self::assertGreaterThan(50_000, $did['plain']['gets'], 'The machine was too busy for this load.');
        self::assertGreaterThan(0, $did['larder']['bounded']);
        self::assertSame(0, $did['larder']['failed']);
        self::assertGreaterThan(BoundedLife::hitRatio($did['plain']) - 1.0, BoundedLife::hitRatio($did['larder']));
    }
}
