<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Report\Rank;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Result;
use Larder\Tests\Lab\Compare\Reports;
use PHPUnit\Framework\TestCase;

final class RankTest extends TestCase
{
    public function testResultsThatDifferInTheirSubjectOnlyAreOneGroupTheLeastFirst(): void
    {
        $groups = self::rank([self::sampled('b', [3.0]), self::sampled('a', [9.0], 'write'), self::sampled('c', [1.0])])->groups('engines');

        self::assertSame([['c', 'b'], ['a']], \array_map(static fn(array $group): array => \array_map(static fn(Result $result): string => $result->cell->subject, $group), $groups));
    }

    public function testSamplesOfTimesAndSizesAreNotCompared(): void
    {
        $size = Reports::measured('engines/a/short/read/1', [1.0], Cell::BYTES);

        self::assertCount(2, self::rank([self::sampled('a', [3.0]), $size])->groups('engines'));
    }

    public function testTheReportsOwnRatioGoesBeforeOneThatIsComputed(): void
    {
        [$a, $b] = [self::sampled('a', [4.0]), self::sampled('b', [2.0])];
        $rank = self::rank([$a, $b], [new Ratio($a->cell->id(), $b->cell->id(), 2.5, 2.4, 2.6, 9)]);

        self::assertSame([2.5, 2.4, 2.6, 9], [$rank->between($a, $b)->median, $rank->between($a, $b)->low, $rank->between($a, $b)->high, $rank->between($a, $b)->rounds]);
        self::assertEqualsWithDelta(0.5, $rank->between($b, $a)->median, 1e-12);
        self::assertFalse($rank->between($b, $a)->bounded());
    }

    public function testRoundsThatHaveNoPartnerAreComparedAsTwoRuns(): void
    {
        $interval = self::rank([])->between(self::sampled('a', [4.0, 4.1, 3.9, 4.0, 4.0]), self::sampled('b', [2.0, 2.0, 2.0]));

        self::assertEqualsWithDelta(2.0, $interval->median, 1e-9);
        self::assertSame(3, $interval->rounds);
    }

    public function testATimeOfNothingHasNoRatio(): void
    {
        self::assertFalse(self::rank([])->between(self::sampled('a', [4.0]), self::sampled('b', [0.0]))->bounded());
    }

    public function testARatioOfAPairIsNoRatioOfTheTables(): void
    {
        [$a, $b] = [self::sampled('a', [4.0]), self::sampled('b', [2.0])];
        $rank = self::rank([$a, $b], [new Ratio($a->cell->id(), $b->cell->id(), 9.0, 8.0, 10.0, 9, Ratio::PAIR)]);

        self::assertNull($rank->toBase($a));
        self::assertEqualsWithDelta(2.0, $rank->between($a, $b)->median, 1e-12);
    }

    public function testScenariosStandInTheReportsOrderAndOnlyWithResults(): void
    {
        $report = Reports::report([self::sampled('a', [1.0])], scenarios: [new Presentation('loop', '', 'The loop'), new Presentation('engines', '', 'Engines')]);

        self::assertSame(['engines'], (new Rank($report))->scenarios());
    }

    /**
     * @param list<Result> $results
     * @param list<Ratio>  $ratios
     */
    private static function rank(array $results, array $ratios = []): Rank
    {
        return new Rank(Reports::report($results, ratios: $ratios));
    }

    /** @param non-empty-list<float> $rounds */
    private static function sampled(string $subject, array $rounds, string $operation = 'read'): Result
    {
        return Reports::measured("engines/$subject/short/$operation/1", $rounds);
    }
}
