<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Request\Truth;
use Larder\Store\MemoryStore;
use Larder\Store\OutageGuard;
use Larder\System\Clock;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(Truth::class)]
final class TruthTest extends TestCase
{
    public function testAStoreThatIsOpenedSlowlyPutsNoClockAhead(): void
    {
        $store = static function (): MemoryStore {
            Clock::pause(60_000);

            return new MemoryStore();
        };
        $this->keepsTime(new Truth(new OutageGuard('slow', null, $store), 'writer000000'));
    }

    public function testAProcessThatWasStoppedAfterItHadReadTheClockIsNotBehind(): void
    {
        $stops = 1;
        $clock = static function () use (&$stops): int {
            $now = Clock::now();
            $stops-- > 0 && Clock::pause(60_000);

            return $now;
        };
        $this->keepsTime(new Truth(new OutageGuard('stopped', new MemoryStore(clock: $clock)), 'writer000000'));
    }

    private function keepsTime(Truth $truth): void
    {
        $truth->now();
        $before = Clock::now();
        $now = $truth->now();
        $after = Clock::now();
        self::assertGreaterThanOrEqual($before - 3, $now);
        self::assertLessThanOrEqual($after + 3, $now);
    }
}
