<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Larder\Lab\Statistics\Bootstrap;
use Larder\Lab\Statistics\UnusableSamples;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

final class BootstrapTest extends TestCase
{
    /**
     * Where the intervals end, for odd numbers of rounds: the chance that so few of the rounds lie below the true
     * median is a binomial one whatever their distribution, so this says how often equals are called different.
     */
    #[TestWith([5, 0, 4])]
    #[TestWith([7, 0, 6])]
    #[TestWith([9, 1, 7])]
    #[TestWith([11, 2, 8])]
    #[TestWith([15, 3, 11])]
    #[TestWith([29, 9, 19])]
    public function testTheEndsOfAnOddNumberOfRounds(int $rounds, int $low, int $high): void
    {
        $figures = [];
        for ($round = 0; $round < $rounds; ++$round) {
            $figures[] = 1.0 + $round / 100;
        }
        $interval = (new Bootstrap())->interval($figures);

        self::assertEqualsWithDelta([$figures[\intdiv($rounds, 2)], $figures[$low], $figures[$high]], [$interval->median, $interval->low, $interval->high], 1e-12);
        self::assertSame($rounds, $interval->rounds);
    }

    /** Whatever the noise: at most 7 of 100. */
    public function testAnOddNumberOfRoundsIsWrongInAtMostSevenOfAHundred(): void
    {
        $bootstrap = new Bootstrap();
        for ($rounds = 5; $rounds <= 101; $rounds += 2) {
            $figures = \array_map(static fn(int $power): float => 1.01 ** $power, \range(1, $rounds));
            $below = (int) \round(\log($bootstrap->interval($figures)->low) / \log(1.01)) - 1;
            $wrong = 0.0;
            $ways = 1.0;
            for ($k = 0; $k <= $below; ++$k) {
                $wrong += 2 * $ways / 2 ** $rounds;
                $ways *= ($rounds - $k) / ($k + 1);
            }
            self::assertLessThan(0.07, $wrong, "$rounds rounds");
            self::assertGreaterThan(0.01, $wrong, "$rounds rounds: wider than need be");
        }
    }

    public function testThreeAndFourRoundsAreStudents(): void
    {
        // exp(0), exp(1), exp(2): mean 1, standard deviation 1, t of two degrees of freedom 4.30265272974946.
        $interval = (new Bootstrap())->interval([\exp(2), 1.0, \exp(1)]);

        self::assertEqualsWithDelta(\M_E, $interval->median, 1e-12);
        self::assertEqualsWithDelta(\exp(1 - 4.30265272974946 / \sqrt(3)), $interval->low, 1e-12);
        self::assertEqualsWithDelta(\exp(1 + 4.30265272974946 / \sqrt(3)), $interval->high, 1e-9);
    }

    /** @param list<float> $rounds */
    #[TestWith([[1.5]])]
    #[TestWith([[1.5, 1.5]])]
    public function testOneAndTwoRoundsTellNothing(array $rounds): void
    {
        foreach ([(new Bootstrap())->interval($rounds), (new Bootstrap())->unpaired($rounds, [1.0, 1.0, 1.0, 1.0, 1.0])] as $interval) {
            self::assertEqualsWithDelta(1.5, $interval->median, 1e-12);
            self::assertSame([0.0, \INF], [$interval->low, $interval->high]);
            self::assertFalse($interval->bounded());
            self::assertFalse($interval->excludesOne());
            self::assertSame(\count($rounds), $interval->rounds);
        }
    }

    public function testTheOtherWayRoundIsOneOver(): void
    {
        foreach ([3, 5, 6, 10, 11] as $rounds) {
            [$of, $to] = (new Rounds(23))->pair('outliers', $rounds, 1.3);
            foreach (['paired', 'unpaired'] as $method) {
                $there = (new Bootstrap())->$method($of, $to);
                $back = (new Bootstrap())->$method($to, $of);
                self::assertEqualsWithDelta([1 / $there->median, 1 / $there->high, 1 / $there->low], [$back->median, $back->low, $back->high], 1e-12, "$method, $rounds rounds");
            }
        }
    }

    public function testPairsAreRatiosRoundByRound(): void
    {
        $bootstrap = new Bootstrap();
        $of = [2.0, 30.0, 5.0, 8.0, 12.0];
        $to = [1.0, 10.0, 5.0, 2.0, 10.0];

        self::assertEqualsWithDelta($bootstrap->interval([2.0, 3.0, 1.0, 4.0, 1.2]), $bootstrap->paired($of, $to), 1e-12);
        self::assertEqualsWithDelta(2.0, $bootstrap->paired($of, $to)->median, 1e-12);
        // Apart, the medians are 8 and 5.
        self::assertEqualsWithDelta(1.6, $bootstrap->unpaired($of, $to)->median, 1e-12);
    }

    public function testTheOrderOfSeparateRunsDoesNotMatter(): void
    {
        [$new, $old] = (new Rounds(29))->pair('normal', 10, 1.1);
        $bootstrap = new Bootstrap();

        self::assertEquals($bootstrap->unpaired($new, $old), $bootstrap->unpaired(\array_reverse($new), $old));
        self::assertEquals($bootstrap->unpaired($new, $old), (new Bootstrap())->unpaired($new, $old));
    }

    public function testSeparateRunsOfUnequalLength(): void
    {
        $rounds = new Rounds(31);
        [$new] = $rounds->pair('normal', 30, 2.0);
        [, $old] = $rounds->pair('normal', 7, 1.0);
        $interval = (new Bootstrap())->unpaired($new, $old);

        self::assertSame(7, $interval->rounds);
        self::assertGreaterThan(1.8, $interval->low);
        self::assertLessThan(2.2, $interval->high);
    }

    public function testARunWithoutNoiseLeavesTheIntervalToTheOther(): void
    {
        $noisy = [1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.7];
        $bootstrap = new Bootstrap();

        self::assertEqualsWithDelta($bootstrap->interval($noisy), $bootstrap->unpaired($noisy, \array_fill(0, 7, 1.0)), 1e-12);
    }

    public function testSizesHaveNoNoise(): void
    {
        $interval = (new Bootstrap())->paired(\array_fill(0, 6, 4096.0), \array_fill(0, 6, 1024.0));

        self::assertEqualsWithDelta([4.0, 4.0, 4.0], [$interval->median, $interval->low, $interval->high], 1e-12);
        self::assertTrue($interval->excludesOne());
        self::assertEqualsWithDelta(0.0, $interval->halfWidth(), 1e-12);
    }

    public function testManyRounds(): void
    {
        [$of, $to] = (new Rounds(37))->pair('normal', 1000, 1.02);
        $interval = (new Bootstrap())->paired($of, $to);

        self::assertTrue($interval->excludesOne());
        // 1.96 standard errors of the median of logarithms of ratios: 1.96 * sqrt(pi / 2) * 0.03 * sqrt(2) / sqrt(1000).
        self::assertEqualsWithDelta(0.0033, $interval->halfWidth(), 0.001);
    }

    /** The simulation of the docblock, smaller: equals are called different in 7 of 100, and three standard errors of a thousand tries for chance. */
    #[DataProvider('noises')]
    public function testCoverage(string $noise): void
    {
        foreach ([3, 4, 5, 6, 7, 8, 10, 11, 12, 14, 20] as $number) {
            $limit = 1000 * 0.07 + 3 * \sqrt(1000 * 0.07 * 0.93);
            self::assertLessThanOrEqual($limit, $this->different('paired', new Rounds(100 + $number), $noise, $number, 1.0, 1000), "paired, $number rounds");
            if ($number % 5 === 0) {
                self::assertLessThanOrEqual($limit, $this->different('unpaired', new Rounds(200 + $number), $noise, $number, 1.0, 1000), "unpaired, $number rounds");
            }
            foreach ($noise === 'normal' && $number === 10 ? ['paired', 'unpaired'] : [] as $method) {
                self::assertGreaterThanOrEqual(950, $this->different($method, new Rounds(300), $noise, $number, 1.1, 1000), "$method, 10 % slower");
            }
        }
    }

    /** @return iterable<string, array{string}> */
    public static function noises(): iterable
    {
        foreach (Rounds::NOISES as $noise) {
            yield $noise => [$noise];
        }
    }

    public function testDriftCommonToBothCancelsOutOfPairsOnly(): void
    {
        [$of, $to] = (new Rounds(41))->pair('drift', 10, 1.1, 0.005);
        $bootstrap = new Bootstrap();

        self::assertLessThan(0.015, $bootstrap->paired($of, $to)->halfWidth());
        self::assertGreaterThan(0.1, $bootstrap->unpaired($of, $to)->halfWidth());
    }

    public function testRoundsThatDoNotPairAreRefused(): void
    {
        $this->expectExceptionObject(UnusableSamples::notPairs(3, 2));

        (new Bootstrap())->paired([1.0, 2.0, 3.0], [1.0, 2.0]);
    }

    /** @param list<float> $rounds */
    #[TestWith([[], 'There are no samples'])]
    #[TestWith([[1.0, 0.0, 1.0], 'Round 1 is 0'])]
    #[TestWith([[1.0, 1.0, -2.5], 'Round 2 is -2.5'])]
    #[TestWith([[\NAN, 1.0, 1.0], 'Sample 0 is not a number'])]
    #[TestWith([[1.0, \INF, 1.0], 'Sample 1 is infinite'])]
    public function testWhatHasNoRatioIsRefused(array $rounds, string $message): void
    {
        $good = \array_fill(0, \count($rounds), 1.0);
        foreach ([
            fn() => (new Bootstrap())->interval($rounds),
            fn() => (new Bootstrap())->paired($rounds, $good),
            fn() => (new Bootstrap())->paired($good, $rounds),
            fn() => (new Bootstrap())->unpaired($rounds, [1.0, 2.0, 3.0]),
            fn() => (new Bootstrap())->unpaired([1.0, 2.0, 3.0], $rounds),
        ] as $call) {
            try {
                $call();
                self::fail('It was taken.');
            } catch (UnusableSamples $refusal) {
                self::assertStringContainsString($message, $refusal->getMessage());
            }
        }
    }

    private function different(string $method, Rounds $rounds, string $noise, int $number, float $ratio, int $tries): int
    {
        $bootstrap = new Bootstrap();
        $different = 0;
        for ($try = 0; $try < $tries; ++$try) {
            $different += (int) $bootstrap->$method(...$rounds->pair($noise, $number, $ratio))->excludesOne();
        }

        return $different;
    }
}
