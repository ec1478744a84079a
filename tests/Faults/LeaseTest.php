<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Cache;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** The right to compute, when the store cannot be written just as it is to be given back. */
#[RequiresPhpExtension('pdo_sqlite')]
final class LeaseTest extends TestCase
{
    use ForeignLock;

    protected const FORKS = true;

    // Seen to fail: everybody else waited for the lease's 30 seconds.
    public function testAFillThatCannotBeWrittenKeepsNobodyWaiting(): void
    {
        $directory = new TemporaryDirectory();
        $open = static fn(float $timeout): Cache => Cache::open(['dsn' => "sqlite://$directory->path/cache", 'lease' => 60.0, 'timeout' => $timeout]);
        $open(0.1)->set('the database', 'is there');
        $this->worksWhileLocked($directory, static function (\Closure $lock) use ($open): Cache {
            $cache = $open(0.1);
            $cache->remember('k', static function () use ($lock): string {
                $lock();

                return 'computed, and not stored';
            });

            return $cache;
        });
        $start = \hrtime(true);
        self::assertSame('computed', $open(5.0)->remember('k', static fn(): string => 'computed'));
        self::assertLessThan(20.0, (\hrtime(true) - $start) / 1e9);
        self::assertSame('computed', $open(5.0)->get('k'));
    }
}
