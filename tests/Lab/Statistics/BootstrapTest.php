<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Larder\Lab\Statistics\Bootstrap;
use Larder\Lab\Statistics\UnusableSamples;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
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
        $interval = (new Bootstrap())->interval($rounds);

        self::assertEqualsWithDelta(1.5, $interval->median, 1e-12);
        self::assertSame([0.0, \INF, \INF], [$interval->low, $interval->high, $interval->halfWidth()]);
        self::assertFalse($interval->bounded());
        self::assertFalse($interval->excludesOne());
        self::assertSame(\count($rounds), $interval->rounds);
    }

    public function testTheOtherWayRoundIsOneOver(): void
    {
        foreach ([3, 5, 6, 10, 11] as $rounds) {
            [$of, $to] = (new Rounds(23))->pair('outliers', $rounds, 1.3);
            $there = (new Bootstrap())->paired($of, $to);
            $back = (new Bootstrap())->paired($to, $of);
            self::assertEqualsWithDelta([1 / $there->median, 1 / $there->high, 1 / $there->low], [$back->median, $back->low, $back->high], 1e-12, "$rounds rounds");
        }
    }

    public function testSizesHaveNoNoise(): void
    {
        $interval = (new Bootstrap())->paired(\array_fill(0, 6, 4096.0), \array_fill(0, 6, 1024.0));

        self::assertEqualsWithDelta([4.0, 4.0, 4.0], [$interval->median, $interval->low, $interval->high], 1e-12);
        self::assertTrue($interval->excludesOne());
        self::assertTrue($interval->bounded());
        self::assertEqualsWithDelta(0.0, $interval->halfWidth(), 1e-12);
    }

    /** Equals are called different in 7 of 100, and three standard errors of a thousand tries for chance. */
    #[DataProvider('noises')]
    #[Group('slow')]
    public function testCoverage(string $noise): void
    {
        foreach ([3, 4, 5, 6, 7, 8, 10, 11, 12, 14, 20] as $number) {
            $limit = 1000 * 0.07 + 3 * \sqrt(1000 * 0.07 * 0.93);
            self::assertLessThanOrEqual($limit, self::different(new Rounds(100 + $number), $noise, $number, 1.0), "$number rounds");
        }
        if ($noise === 'normal') {
            self::assertGreaterThanOrEqual(950, self::different(new Rounds(300), $noise, 10, 1.1), '10 % slower');
        }
    }

    /** @return iterable<string, array{string}> */
    public static function noises(): iterable
    {
        foreach (Rounds::NOISES as $noise) {
            yield $noise => [$noise];
        }
    }

    /** @param list<float> $rounds */
    #[TestWith([[], 'There are no samples'])]
    #[TestWith([[1.0, 1.0], '3 rounds do not pair with 2'])]
    #[TestWith([[1.0, 0.0, 1.0], 'Round 1 is 0'])]
    #[TestWith([[1.0, 1.0, -2.5], 'Round 2 is -2.5'])]
    #[TestWith([[\NAN, 1.0, 1.0], 'Sample 0 is not a number'])]
    #[TestWith([[1.0, \INF, 1.0], 'Sample 1 is infinite'])]
    public function testWhatHasNoRatioIsRefused(array $rounds, string $message): void
    {
        $this->expectException(UnusableSamples::class);
        $this->expectExceptionMessage($message);

        (new Bootstrap())->paired(\array_fill(0, $rounds === [] ? 0 : 3, 1.0), $rounds);
    }

    private static function different(Rounds $rounds, string $noise, int $number, float $ratio): int
    {
        $bootstrap = new Bootstrap();
        $different = 0;
        for ($try = 0; $try < 1000; ++$try) {
            $different += (int) $bootstrap->paired(...$rounds->pair($noise, $number, $ratio))->excludesOne();
        }

        return $different;
    }
}
