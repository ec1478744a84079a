<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\CacheTests;

use Larder\Lab\CacheTests\Score;
use PHPUnit\Framework\TestCase;

final class ScoreTest extends TestCase
{
    public function testATestCountsOnlyIfAllThatItDependsOnHasPassed(): void
    {
        $dependsOn = ['base' => [], 'missed' => [], 'over-base' => ['base'], 'over-both' => ['base', 'missed'], 'far-over-missed' => ['over-both'], 'early' => [], 'lost' => [], 'never' => []];
        $score = new Score(
            \array_map(static fn(string $id, array $others): array => ['id' => $id, 'name' => $id, 'kind' => $id === 'lost' ? Score::OPTIMAL : Score::REQUIRED, 'depends_on' => $others], \array_keys($dependsOn), $dependsOn),
            [
                'base' => true, 'missed' => ['Assertion', 'No.'], 'over-base' => true, 'over-both' => true, 'far-over-missed' => ['Assertion', 'No.'],
                'early' => ['Setup', 'Response 1 status is 500, not 200'], 'lost' => ['FetchError', 'socket hang up'],
            ],
        );

        self::assertSame(
            [Score::PASSED, Score::FAILED, Score::PASSED, Score::SKIPPED, Score::SKIPPED, Score::UNREADY, Score::FAILED, Score::NOT_RUN],
            \array_map($score->outcome(...), \array_keys($dependsOn)),
        );
        self::assertSame(['base', 'over-base'], $score->ids(Score::REQUIRED, Score::PASSED));
        self::assertCount(7, $score->ids(Score::REQUIRED));
        self::assertStringContainsString("over-both (skipped, for it depends on missed)\n  far-over-missed (skipped, for it depends on over-both)", $score->failures());
        self::assertStringContainsString("socket hang up\n", $score->failures());
        self::assertMatchesRegularExpression('/^Larder +\|    7     2    1       1       2 \|    1     0    1       0       0 \|/m', Score::table(['Larder' => $score]));
    }
}
