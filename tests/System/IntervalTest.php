<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\Cache;
use Larder\Psr\CacheItemPool;
use Larder\Psr\SimpleCache;
use Larder\System\Interval;
use Larder\System\InvalidInterval;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class IntervalTest extends TestCase
{
    /** @return iterable<string, array{\DateInterval, int, int}> interval, seconds rounded up, and down */
    public static function intervals(): iterable
    {
        $of = static function (string $text, float $fraction = 0.0, int $invert = 0): \DateInterval {
            $interval = new \DateInterval($text);
            $interval->f = $fraction;
            $interval->invert = $invert;

            return $interval;
        };
        yield 'nothing' => [$of('PT0S'), 0, 0];
        yield 'an hour' => [$of('PT1H'), 3600, 3600];
        yield 'a day' => [$of('P1D'), 86400, 86400];
        yield 'a fraction' => [$of('PT0S', 0.5), 1, 0];
        yield 'more than a second' => [$of('PT1S', 0.000001), 2, 1];
        yield 'negative' => [$of('PT1H', 0.0, 1), -3600, -3600];
        yield 'a negative fraction' => [$of('PT0S', 0.5, 1), -1, -1];
        yield 'in words' => [\DateInterval::createFromDateString('90 minutes') ?: $of('PT0S'), 5400, 5400];
        yield 'ago, in words' => [\DateInterval::createFromDateString('-2 days') ?: $of('PT0S'), -172800, -172800];
        yield 'a difference' => [(new \DateTimeImmutable('2030-01-01 00:00 UTC'))->diff(new \DateTimeImmutable('2030-01-03 00:00 UTC')), 172800, 172800];
    }

    #[DataProvider('intervals')]
    public function testItIsInSeconds(\DateInterval $interval, int $up, int $down): void
    {
        self::assertSame([$up, $down], [Interval::seconds($interval, true), Interval::seconds($interval, false)]);
    }

    /** Seen to fail: the PSRs' doors said to give 0, which deletes there. */
    public function testEachDoorSaysWhatNeverExpiresThere(): void
    {
        $long = new \DateInterval('P10001Y');
        $cache = Cache::open('memory://');
        $simple = new SimpleCache($cache);
        $pool = new CacheItemPool($cache);
        foreach ([
            '0' => static fn() => $cache->set('k', 1, $long),
            'null' => static fn() => $simple->set('k', 1, $long),
            'null ' => static fn() => $simple->setMultiple(['k' => 1], $long),
            'null  ' => static fn() => $pool->getItem('k')->expiresAfter($long),
        ] as $never => $call) {
            try {
                $call();
                self::fail('It has taken it.');
            } catch (\InvalidArgumentException $invalid) {
                self::assertStringEndsWith('give ' . \trim((string) $never) . ' as its time to live.', $invalid->getMessage());
            }
        }
        self::assertTrue($cache->set('k', 1, 0));
        self::assertTrue($simple->set('l', 1, null));
        self::assertSame([1, 1], [$cache->get('k'), $simple->get('l')]);
    }

    public function testMonthsAndYearsAreTheCalendarsFromNow(): void
    {
        self::assertContains(Interval::seconds(new \DateInterval('P1M'), true), [28 * 86400, 29 * 86400, 30 * 86400, 31 * 86400]);
        self::assertContains(Interval::seconds(new \DateInterval('P4Y'), true), [1460 * 86400, 1461 * 86400]);
    }

    public function testNeitherTheTimeZoneNorItsChangesMatter(): void
    {
        $zone = \date_default_timezone_get();
        try {
            foreach (['America/New_York', 'Australia/Lord_Howe', 'UTC'] as $other) {
                \date_default_timezone_set($other);
                self::assertSame(400 * 86400, Interval::seconds(new \DateInterval('P400D'), true));
            }
        } finally {
            \date_default_timezone_set($zone);
        }
    }

    /** Seen to fail: PHP's calendar gave a time in the past for one, and none at all for another. */
    #[DataProvider('tooLong')]
    public function testOneThatOverflowsIsRefused(string $part, int $invert): void
    {
        $interval = new \DateInterval('PT1S');
        $interval->{$part} = \PHP_INT_MAX;
        $interval->invert = $invert;
        $this->expectException(InvalidInterval::class);
        $this->expectExceptionMessage('give 0');
        Interval::seconds($interval, true);
    }

    /** @return iterable<string, array{string, int}> */
    public static function tooLong(): iterable
    {
        foreach (['y', 'm', 'd', 'h', 'i', 's'] as $part) {
            yield $part => [$part, 0];
            yield "$part before" => [$part, 1];
        }
    }

    public function testTheSmallestIntegerIsRefusedToo(): void
    {
        $interval = new \DateInterval('PT1S');
        $interval->d = \PHP_INT_MIN;
        $this->expectException(InvalidInterval::class);
        Interval::seconds($interval, true);
    }

    public function testAnEraIsTaken(): void
    {
        self::assertGreaterThan(9_000 * 365 * 86400, Interval::seconds(new \DateInterval('P9000Y'), true));
    }
}
