<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Compare;

use Larder\Lab\Compare\Change;
use Larder\Lab\Compare\Comparison;
use Larder\Lab\Compare\Differences;
use Larder\Lab\Compare\Limit;
use Larder\Lab\Compare\NotComparable;
use Larder\Lab\Compare\Verdict;
use Larder\Lab\Plan\Cell;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(Comparison::class)]
#[CoversClass(Differences::class)]
#[CoversClass(Result::class)]
final class ComparisonTest extends TestCase
{
    private const CALM = [10.0, 10.1, 9.9, 10.2, 9.8];

    private static function comparison(Report $old, Report $new, float $limit = 0.1, bool $relative = false): Comparison
    {
        return new Comparison($old, $new, new Limit($limit), $relative);
    }

    /** @return list<float> */
    private static function times(float $factor): array
    {
        return \array_map(static fn(float $time): float => $factor * $time, self::CALM);
    }

    public function testARoundIsTheMedianOfItsSamplesAndOfSeveralProcessesTheMean(): void
    {
        $rounds = [[1.0, 9.0, 2.0], [1.0, 2.0, 4.0, 9.0], [5.0]];

        self::assertSame([2.0, 3.0, 5.0], Reports::result(Reports::cell(1), $rounds)->centers());
        self::assertSame([4.0, 4.0, 5.0], Reports::result(Reports::cell(1, concurrency: 10), $rounds)->centers());
    }

    public function testEachCellByWhatItLostMostFirst(): void
    {
        $factors = [1.0, 3.0, 1.07, 0.5, 0.94, 1.5];
        $old = $new = [];
        foreach ($factors as $i => $factor) {
            $old[] = Reports::of($i, self::CALM);
            $new[] = Reports::of($i, self::times($factor));
        }
        $comparison = self::comparison(Reports::report($old), Reports::report(\array_reverse($new)));
        $changes = $comparison->changes();

        self::assertSame([1, 5, 2, 0, 4, 3], \array_map(static fn(Change $change): int => (int) \explode(':', $change->cell->subject)[2], $changes));
        self::assertSame(
            [Verdict::Lost, Verdict::Lost, Verdict::Worse, Verdict::Same, Verdict::Better, Verdict::Gained],
            \array_map(static fn(Change $change): Verdict => $change->verdict, $changes),
        );
        foreach ($changes as $i => $change) {
            $factor = [3.0, 1.5, 1.07, 1.0, 0.94, 0.5][$i];
            self::assertEqualsWithDelta($factor, $change->ratio, 1e-9);
            self::assertEqualsWithDelta(10.0, $change->old, 1e-9);
            self::assertEqualsWithDelta(10.0 * $factor, $change->new, 1e-9);
            self::assertTrue($change->low < $factor && $factor < $change->high, 'the interval holds the ratio');
        }
        self::assertTrue($comparison->fails());
        self::assertSame(\array_slice($changes, 0, 2), $comparison->lost());
        self::assertFalse(self::comparison(Reports::report($new), Reports::report($new))->fails());
        self::assertFalse(self::comparison(Reports::report($old), Reports::report($new), 2.5)->fails(), 'a limit is a limit');
    }

    public function testAnIntervalBeyondTheLimitIsNotEnoughAmongManyCells(): void
    {
        $old = $new = [];
        for ($i = 0; $i < 200; $i++) {
            $old[] = Reports::of($i, [10.0, 13.0, 8.0, 11.0, 9.0]);
            $new[] = Reports::of($i, [10.0, 12.0, 8.5, 11.5, 9.0]);
        }
        $new[7] = Reports::of(7, [20.0, 22.0, 19.0, 21.0, 18.0]);
        $among = self::comparison(Reports::report($old), Reports::report($new));
        $alone = self::comparison(Reports::report([$old[7]]), Reports::report([$new[7]]));

        self::assertSame(Verdict::Perhaps, $among->changes()[0]->verdict);
        self::assertGreaterThan(1.1, $among->changes()[0]->low);
        self::assertFalse($among->fails());
        self::assertSame(Verdict::Lost, $alone->changes()[0]->verdict, 'the only one that was looked at');
    }

    public function testBytesAreExact(): void
    {
        $old = Reports::report([Reports::of(1, [100.0], Cell::BYTES), Reports::of(2, [100.0], Cell::BYTES), Reports::of(3, [0.0], Cell::BYTES), Reports::of(4, [0.0], Cell::BYTES), Reports::of(5, [100.0], Cell::BYTES)]);
        $new = Reports::report([Reports::of(1, [110.0], Cell::BYTES), Reports::of(2, [111.0], Cell::BYTES), Reports::of(3, [0.0], Cell::BYTES), Reports::of(4, [1.0], Cell::BYTES), Reports::of(5, [50.0], Cell::BYTES)]);
        $verdicts = [];
        foreach (self::comparison($old, $new)->changes() as $change) {
            $verdicts[$change->cell->subject] = $change->verdict;
        }

        self::assertSame(['redis:socket:4', 'redis:socket:2', 'redis:socket:1', 'redis:socket:3', 'redis:socket:5'], \array_keys($verdicts));
        self::assertSame([Verdict::Lost, Verdict::Lost, Verdict::Worse, Verdict::Same, Verdict::Gained], \array_values($verdicts));
        $thousand = Reports::report([Reports::of(1, [1000.0], Cell::BYTES)]);
        self::assertFalse(self::comparison($thousand, Reports::report([Reports::of(1, [1122.0], Cell::BYTES)]), 0.122)->fails(), 'on the limit, which in binary is a little less than 1.122');
        self::assertTrue(self::comparison($thousand, Reports::report([Reports::of(1, [1123.0], Cell::BYTES)]), 0.122)->fails());
    }

    /** Seen to fail: asTimes() without its division. */
    public function testOfWhatIsCountedByTheSecondLessIsALoss(): void
    {
        $many = [100e3, 101e3, 99e3, 100.5e3, 99.5e3];
        $half = \array_map(static fn(float $rate): float => $rate / 2, $many);
        $twice = \array_map(static fn(float $rate): float => $rate * 2, $many);
        $old = Reports::report([Reports::of(1, $many, Cell::PER_SECOND), Reports::of(2, $many, Cell::PER_SECOND), Reports::of(3, $many, Cell::PER_SECOND)]);
        $new = Reports::report([Reports::of(1, $half, Cell::PER_SECOND), Reports::of(2, $twice, Cell::PER_SECOND), Reports::of(3, $many, Cell::PER_SECOND)]);
        $comparison = self::comparison($old, $new);
        $changes = [];
        foreach ($comparison->changes() as $change) {
            $changes[$change->cell->subject] = [$change->verdict, \round($change->ratio, 6), \round($change->old, 3), \round($change->new, 3)];
        }

        self::assertTrue($comparison->fails());
        self::assertEquals([
            'redis:socket:1' => [Verdict::Lost, 2.0, 100e3, 50e3],
            'redis:socket:3' => [Verdict::Same, 1.0, 100e3, 100e3],
            'redis:socket:2' => [Verdict::Gained, 0.5, 100e3, 200e3],
        ], $changes);
    }

    public function testWrongValuesAreALossWhateverTheTimesSay(): void
    {
        $results = [Reports::of(1, self::CALM), Reports::of(2, self::CALM), Reports::of(3, self::CALM)];
        $wrong = static fn(int $number): array => ['subject' => "redis:socket:$number", 'scenario' => 'engines', 'reason' => 'read gave null'];
        $whole = Reports::report($results);
        $gone = Reports::report([$results[0], $results[1]], disqualified: [$wrong(3)]);

        $comparison = self::comparison($whole, $gone);
        self::assertTrue($comparison->fails());
        self::assertSame([$wrong(3)], $comparison->disqualified);
        self::assertSame([], $comparison->lost());

        self::assertTrue(self::comparison($whole, Reports::report([], disqualified: [$wrong(3)]))->fails(), 'also where nothing else is left');
        self::assertFalse(self::comparison($gone, $gone)->fails(), 'it was as wrong before');
        self::assertTrue(self::comparison(Reports::report($results, disqualified: [$wrong(3)]), $gone)->fails(), 'some of it was measured before');
        self::assertFalse(self::comparison($whole, Reports::report([$results[0]], disqualified: [$wrong(9)]))->fails(), 'never measured before');
        $elsewhere = ['scenario' => 'loop'] + $wrong(3);
        self::assertFalse(self::comparison($whole, Reports::report($results, disqualified: [$elsewhere]))->fails());
    }

    public function testCellsOfOneReportOnlyAreNoLoss(): void
    {
        $old = Reports::report([Reports::of(1, self::CALM), Reports::of(2, self::CALM), Reports::of(3, self::CALM)]);
        $bytes = Reports::result(new Cell('engines', 'redis:socket:3', 'redis', Cell::SOCKET, 'php', 'none', 'short', 'read', 1, Cell::BYTES), [[3.0]]);
        $comparison = self::comparison($old, Reports::report([Reports::of(1, self::CALM), $bytes, Reports::of(4, self::CALM)]));

        self::assertEquals([Reports::cell(2)], $comparison->missing);
        self::assertEquals([Reports::cell(4)], $comparison->added);
        self::assertEquals([$bytes->cell], $comparison->otherUnit);
        self::assertSame(1, $comparison->cells);
        self::assertFalse($comparison->fails());
    }

    public function testASlowMachineIsToldAndMayBeTakenOut(): void
    {
        $old = Reports::noisy(1, 60);
        $new = Reports::noisy(2, 60, slow: [5 => 1.3], all: 1.2);
        $absolute = self::comparison($old, $new);
        $relative = self::comparison($old, $new, relative: true);

        self::assertEqualsWithDelta(1.2, $absolute->shift, 0.02);
        self::assertGreaterThan(30, \count($absolute->lost()));
        self::assertSame([Reports::cell(5)->id()], \array_map(static fn(Change $change): string => $change->cell->id(), $relative->lost()));
        self::assertEqualsWithDelta(1.3, $relative->lost()[0]->ratio, 0.08);
        self::assertFalse(self::comparison($old, Reports::noisy(3, 60, all: 1.2), relative: true)->fails());
    }

    public function testAFasterMachineHidesALossOnlyWhereItIsNotTakenOut(): void
    {
        $old = Reports::noisy(1, 60);
        $new = Reports::noisy(2, 60, slow: [5 => 1.4], all: 0.6);

        self::assertFalse(self::comparison($old, $new)->fails());
        self::assertTrue(self::comparison($old, $new, relative: true)->fails());
    }

    public function testTooFewRoundsSayNothing(): void
    {
        $old = Reports::report([Reports::of(1, self::CALM), Reports::of(2, [1.0, 1.0])]);
        $new = Reports::report([Reports::of(1, self::CALM), Reports::of(2, [90.0, 90.0, 90.0])]);
        $change = self::comparison($old, $new)->changes()[0];

        self::assertSame([Verdict::Unknown, 90.0], [$change->verdict, $change->ratio]);
        self::assertFalse(self::comparison($old, $new)->fails());
    }

    public function testMachinesAndVersions(): void
    {
        $results = [Reports::of(1, self::CALM)];
        $comparison = self::comparison(
            Reports::report($results),
            Reports::report($results, ['processor' => 'Other', 'cores' => 2, 'memory' => 4_010_000_000, 'load' => 3.5], ['PHP' => '8.3.0', 'Valkey' => '8']),
        );

        self::assertSame([['what' => 'processor', 'old' => 'Made Up 3000', 'new' => 'Other']], $comparison->machine);
        self::assertSame([
            ['what' => 'PHP', 'old' => '8.2.31', 'new' => '8.3.0'],
            ['what' => 'Redis', 'old' => '7.0.15', 'new' => 'none'],
            ['what' => 'Valkey', 'old' => 'none', 'new' => '8'],
        ], $comparison->versions);
        $same = self::comparison(Reports::report($results), Reports::report($results));
        self::assertSame([[], []], [$same->machine, $same->versions]);
        self::assertNotSame([], self::comparison(Reports::report($results), Reports::report($results, ['memory' => 8_000_000_000]))->machine);
    }

    public function testWhatCannotFailIsRefused(): void
    {
        $one = Reports::report([Reports::of(1, self::CALM)]);
        foreach ([
            'No cell is in both reports' => static fn(): Comparison => self::comparison($one, Reports::report([Reports::of(2, self::CALM)])),
            'No cell has 3 rounds or more' => static fn(): Comparison => self::comparison($one, Reports::report([Reports::of(1, [1.0, 2.0])])),
            'needs 10 timed cells in both reports; there are 1' => static fn(): Comparison => self::comparison($one, $one, relative: true),
        ] as $message => $compare) {
            try {
                $compare();
                self::fail("Not refused: $message");
            } catch (NotComparable $e) {
                self::assertStringContainsString($message, $e->getMessage());
            }
        }
    }
}
