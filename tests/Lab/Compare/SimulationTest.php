<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Compare;

use Larder\Lab\Compare\Change;
use Larder\Lab\Compare\Comparison;
use Larder\Lab\Compare\Verdict;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** What the gate promises, tried ten times, and in group long a hundred times; the seeds are fixed, so that the figures are the same in every run. */
final class SimulationTest extends TestCase
{
    private const TIMES = 100;

    public function testEqualsPassAndOneSlowCellOfEightHundredIsFoundTenTimes(): void
    {
        self::assertSame([0, 10], self::alarmsAndFinds(10));
    }

    #[Group('long')]
    public function testEqualsPassAndOneSlowCellOfEightHundredIsFound(): void
    {
        [$alarms, $found] = self::alarmsAndFinds(self::TIMES);

        self::assertLessThanOrEqual(5, $alarms, 'two runs of the same');
        self::assertGreaterThanOrEqual(90, $found, 'a loss of 25 %, and nothing else');
    }

    /** @return array{int, int} */
    private static function alarmsAndFinds(int $times): array
    {
        $alarms = $found = 0;
        for ($time = 0; $time < $times; $time++) {
            $old = Reports::noisy(3 * $time);
            $alarms += (int) (new Comparison($old, Reports::noisy(3 * $time + 1), 0.1))->fails();
            $lost = (new Comparison($old, Reports::noisy(3 * $time + 2, slow: [417 => 1.25]), 0.1))->those(Verdict::Slower);
            $found += (int) (self::ids($lost) === [Reports::cell(417)->id()]);
        }

        return [$alarms, $found];
    }

    public function testWithoutALimitOnlyTheCountOfCellsKeepsChanceOut(): void
    {
        $alarms = $intervals = 0;
        for ($time = 0; $time < self::TIMES; $time++) {
            $comparison = new Comparison(Reports::noisy(1000 + $time, 200), Reports::noisy(5000 + $time, 200), 0.0);
            $alarms += (int) $comparison->fails();
            $intervals += (int) ($time < 5 && \array_filter($comparison->cells, static fn(Change $change): bool => $change->low > 1.0) !== []);
        }

        self::assertGreaterThanOrEqual(3, $intervals, 'by their intervals alone most of five would have failed');
        self::assertLessThanOrEqual(9, $alarms, 'one time in twenty, and what chance may add to that in a hundred times');
    }

    /**
     * @param list<Change> $changes
     *
     * @return list<string>
     */
    private static function ids(array $changes): array
    {
        return \array_map(static fn(Change $change): string => $change->id, $changes);
    }
}
