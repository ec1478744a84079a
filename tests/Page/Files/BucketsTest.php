<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Files;

use Larder\Page\Files\Buckets;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class BucketsTest extends TestCase
{
    /** Longer than any clock is set back by, and than a wall's clock needs to show the same time of the day again. */
    private const AFTER = 90_000;

    /** @return iterable<string, array{?string, list<int>}> the web server's zone, and moments about which to try: those at which clocks are set */
    public static function clocks(): iterable
    {
        yield 'Unix time' => [null, [1_700_000_000, 1_999_999_990, 999_999_900]];
        yield 'UTC' => ['UTC', [1_700_000_000]];
        yield 'a clock that is set' => ['Europe/Berlin', [1_700_000_000, 1_761_440_400, 1_743_296_400]];
        yield 'a clock that is set by half an hour' => ['Australia/Lord_Howe', [1_700_000_000, 1_743_865_200, 1_759_590_000]];
        yield 'a clock of a half hour' => ['Asia/Kolkata', [1_700_000_000]];
        yield 'a clock west of Greenwich' => ['America/St_Johns', [1_700_000_000, 1_762_057_800]];
    }

    /** @param list<int> $moments */
    #[DataProvider('clocks')]
    public function testNoBucketIsLookedIntoAfterTheLife(?string $zone, array $moments): void
    {
        $covered = 0;
        for ($round = 0; $round < 40; $round++) {
            $now = $moments[\array_rand($moments)] + \random_int(-20_000, 20_000);
            $life = (int) (10 ** (\random_int(0, 5_500) / 1_000));
            $end = $now + $life;
            $labels = self::buckets($zone, $now)->cover($now, $end);
            $covered += \count($labels);
            $isLookedInto = \array_flip($labels);
            for ($time = $end; $time < $end + self::AFTER; $time += 7) {
                foreach (self::shown($zone, $time) as $label) {
                    if (isset($isLookedInto[$label])) {
                        self::fail("$label is looked into at $time, and the life of $life seconds from $now ended at $end.");
                    }
                }
            }
        }
        self::assertGreaterThan(40, $covered);
    }

    /** @param list<int> $moments */
    #[DataProvider('clocks')]
    public function testTheFirstBucketIsThePresentOne(?string $zone, array $moments): void
    {
        for ($round = 0; $round < 500; $round++) {
            $now = $moments[0] + \random_int(-20_000, 20_000);
            $labels = self::buckets($zone, $now)->cover($now, $now + \random_int(12, 100_000));

            self::assertNotSame([], $labels);
            self::assertContains($labels[0], self::shown($zone, $now));
        }
    }

    /** @param list<int> $moments */
    #[DataProvider('clocks')]
    public function testABucketIsOverOnlyWhenNobodyLooksIntoIt(?string $zone, array $moments): void
    {
        $over = 0;
        foreach ($moments as $moment) {
            for ($round = 0; $round < 200; $round++) {
                $now = $moment + \random_int(-20_000, 20_000);
                $labels = self::shown($zone, $now - \random_int(0, 5_000));
                $later = $now + \random_int(0, 5_000);
                foreach ($labels as $label) {
                    if (self::buckets($zone, $now)->isOver($label, $now)) {
                        $over++;
                        self::assertNotContains($label, self::shown($zone, $now));
                        self::assertNotContains($label, self::shown($zone, $later));
                    }
                }
            }
        }
        self::assertGreaterThan(50, $over);
    }

    public function testAClockInAnotherZoneIsNotTrusted(): void
    {
        self::assertNotNull(Buckets::wall('Europe/Berlin', '20231114231320', 1_700_000_000));
        self::assertNull(Buckets::wall('Europe/Berlin', '20231114221320', 1_700_000_000));
        self::assertNull(Buckets::wall('Nowhere/None', '20231114221320', 1_700_000_000));
        self::assertNull(Buckets::wall('UTC', 'nonsense', 1_700_000_000));
    }

    private static function buckets(?string $zone, int $now): Buckets
    {
        if ($zone === null) {
            return Buckets::unix();
        }
        // A clock that shows this time for the second time today is not trusted: take tomorrow's.
        $buckets = Buckets::wall($zone, self::wall($zone, $now), $now) ?? Buckets::wall($zone, self::wall($zone, $now + 86_400), $now + 86_400);
        \assert($buckets !== null);

        return $buckets;
    }

    /**
     * The buckets into which a web server looks, by the text that it takes for its clock.
     *
     * @return list<string>
     */
    private static function shown(?string $zone, int $time): array
    {
        $text = $zone === null ? (string) $time : self::wall($zone, $time);

        return $zone === null ? [\substr($text, 0, -3), \substr($text, 0, -1)] : [\substr($text, 0, 11), \substr($text, 0, 13)];
    }

    private static function wall(string $zone, int $time): string
    {
        return (new \DateTimeImmutable("@$time"))->setTimezone(new \DateTimeZone($zone))->format('YmdHis');
    }
}
