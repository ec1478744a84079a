<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\CacheTests;

use Larder\Lab\CacheTests\Kind;
use Larder\Lab\CacheTests\Outcome;
use Larder\Lab\CacheTests\Score;
use Larder\Lab\CacheTests\Test;
use PHPUnit\Framework\TestCase;

final class ScoreTest extends TestCase
{
    public function testATestCountsOnlyIfAllThatItDependsOnHasPassed(): void
    {
        $tests = [
            self::test('base'),
            self::test('missed'),
            self::test('over-base', ['base']),
            self::test('over-both', ['base', 'missed']),
            self::test('far-over-missed', ['over-both']),
        ];
        $score = new Score($tests, ['base' => true, 'missed' => ['Assertion', 'No.'], 'over-base' => true, 'over-both' => true, 'far-over-missed' => ['Assertion', 'No.']]);

        self::assertSame(
            [Outcome::Passed, Outcome::Failed, Outcome::Passed, Outcome::Skipped, Outcome::Skipped],
            \array_map($score->outcome(...), $tests),
        );
        self::assertSame(['missed'], $score->obstacles($tests[3]));
        self::assertSame(['over-both'], $score->obstacles($tests[4]));
    }

    public function testWhatWentWrongBeforeTheTestItselfIsNoFailureOfTheCache(): void
    {
        $tests = [self::test('early'), self::test('late'), self::test('lost'), self::test('never')];
        $score = new Score($tests, ['early' => ['Setup', 'Response 1 status is 500, not 200'], 'late' => ['Assertion', 'No.'], 'lost' => ['FetchError', 'socket hang up']]);

        self::assertSame([Outcome::Unready, Outcome::Failed, Outcome::Failed, Outcome::NotRun], \array_map($score->outcome(...), $tests));
        self::assertSame('socket hang up', $score->message($tests[2]));
    }

    public function testItCountsByKindAndGroup(): void
    {
        $tests = [
            new Test('a', 'A', 'Vary', Kind::Required, []),
            new Test('b', 'B', 'Vary', Kind::Optimal, []),
            new Test('c', 'C', 'Age', Kind::Required, []),
        ];
        $score = new Score($tests, ['a' => true, 'b' => true, 'c' => ['Assertion', 'No.']]);

        self::assertSame(2, $score->count(Kind::Required));
        self::assertSame(1, $score->count(Kind::Required, Outcome::Passed));
        self::assertSame(0, $score->count(Kind::Required, Outcome::Passed, 'Age'));
        self::assertSame([$tests[2]], $score->tests(Kind::Required, Outcome::Failed, Outcome::Unready));
        self::assertSame(['Vary', 'Age'], $score->groups());
    }

    /** @param list<string> $dependsOn */
    private static function test(string $id, array $dependsOn = []): Test
    {
        return new Test($id, "Test $id", 'Group', Kind::Required, $dependsOn);
    }
}
