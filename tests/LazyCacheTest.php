<?php

declare(strict_types=1);

namespace Larder\Tests;

use Larder\Cache;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\RequiresPhp;
use PHPUnit\Framework\TestCase;

/** A service that a framework makes as late as it is used. */
#[RequiresPhp('>= 8.4')]
final class LazyCacheTest extends TestCase
{
    private TemporaryDirectory $directory;
    private int $opened = 0;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('larder-test', '/dev/shm');
    }

    /** As Symfony's container does with a service that a factory makes. Seen to fail: a parent in C, of which PHP makes no lazy objects. */
    public function testAProxyOpensTheCacheWhenItIsUsed(): void
    {
        $proxy = (new \ReflectionClass(Cache::class))->newLazyProxy($this->open(...));
        self::assertSame(0, $this->opened);
        self::assertUsable($proxy);
        self::assertSame(1, $this->opened);
        self::assertSame('new', $this->open()->get('k'));
    }

    public function testAGhostIsFilledWhenItIsUsed(): void
    {
        $ghost = (new \ReflectionClass(Cache::class))->newLazyGhost(function (Cache $ghost): void {
            $cache = $this->open();
            // Cache's constructor is its own; what open() would give it is in another object.
            (function () use ($cache): void {
                $this->__construct($cache->request, $cache->space);
            })->bindTo($ghost, Cache::class)();
        });
        self::assertSame(0, $this->opened);
        self::assertUsable($ghost);
        self::assertSame(1, $this->opened);
    }

    private function open(): Cache
    {
        $this->opened++;

        return Cache::open('sqlite://' . $this->directory->path . '/c');
    }

    private static function assertUsable(Cache $cache): void
    {
        self::assertNull($cache->get('k'));
        self::assertTrue($cache->set('k', ['old']));
        self::assertSame([['old'], ['old']], [$cache->get('k'), $cache->get('k')]);
        $cache->refresh();
        self::assertSame(['old'], $cache->get('k'));
        self::assertSame(7, $cache->remember('computed', static fn(): int => 7));
        self::assertTrue($cache->set('k', 'new'));
        self::assertSame(['new', 'new'], [$cache->get('k'), $cache->group('g')->get('k', 'new')]);
        self::assertSame(1, $cache->increment('n'));
        self::assertGreaterThan(0, $cache->stats()['request']['hits'] ?? 0);
    }
}
