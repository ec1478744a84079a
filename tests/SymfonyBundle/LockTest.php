<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\Cache;
use Larder\Lock\Locks;
use Larder\SymfonyBundle\Lock\LarderStore;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Lock\LockFactory;

#[CoversClass(LarderStore::class)]
final class LockTest extends TestCase
{
    /** A cache answers for a second what it has read before, and whoever takes a lock reads to write. */
    public function testTheCacheAnswersWhatTheLocksLastHolderLeft(): void
    {
        $directory = new TemporaryDirectory();
        $open = static fn(): Cache => Cache::open(['dsn' => "sqlite://$directory/cache", 'cacheOnly' => true]);
        [$one, $other] = [$open(), $open()];
        $one->set('stock', 10);
        $factory = new LockFactory(new LarderStore(Locks::open("sqlite://$directory/locks"), false));
        $lock = $factory->createLock('stock');
        foreach ([false, true] as $waits) {
            $other->set('stock', 6);
            self::assertTrue($lock->acquire($waits));
            self::assertSame(6, $one->get('stock'));
            self::assertTrue($one->set('stock', 5));
            $lock->release();
            self::assertSame(5, $open()->get('stock'));
        }
    }
}
