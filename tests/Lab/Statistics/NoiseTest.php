<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Larder\Lab\Statistics\Bootstrap;
use Larder\Lab\Statistics\Interval;
use Larder\Lab\Statistics\Noise;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class NoiseTest extends TestCase
{
    /** @return iterable<string, array{list<Interval>, bool, string}> */
    public static function runs(): iterable
    {
        $good = new Interval(1.004, 0.98, 1.02, 10);

        yield 'nothing measured' => [[], false, 'This run measured nothing against itself'];
        yield 'one good pair' => [[$good], true, 'In one pair of a subject with itself the greatest difference was 0.4 % and the widest interval was 4.0 % wide. This machine was quiet enough to tell a difference of 10 %.'];
        yield 'two good pairs' => [[$good, new Interval(0.98, 0.95, 1.02, 10)], true, 'In 2 pairs of a subject with itself the greatest difference was 2.0 % and the widest interval was 7.0 % wide'];
        yield 'one pair, wide' => [[new Interval(1.0, 0.965, 1.035, 10)], false, 'too noisy'];
        yield 'one pair of two is wide' => [[$good, new Interval(1.0, 0.95, 1.04, 10)], false, 'the widest interval was 9.0 % wide. This machine was too noisy'];
        yield 'one pair of two is far from equal' => [[new Interval(0.96, 0.95, 0.97, 10), $good], false, 'the greatest difference was 4.0 %'];
        yield 'narrow, and beside 1 by chance' => [[$good, new Interval(1.01, 1.005, 1.015, 10)], true, 'quiet enough'];
        yield 'too few rounds' => [[$good, new Interval(1.0, 0.0, \INF, 2)], false, 'There were too few rounds'];
    }

    /** @param list<Interval> $pairs */
    #[DataProvider('runs')]
    public function testARunIsQuietOrNotAndSaysSo(array $pairs, bool $quiet, string $sentence): void
    {
        $noise = new Noise($pairs);

        self::assertSame($quiet, $noise->quiet);
        self::assertStringContainsString($sentence, $noise->sentence());
    }

    /** Machines of every noise: of the runs that call themselves quiet, 95 of 100 find the subject slowed by 10 %. */
    public function testQuietMeansThatTenPercentAreFound(): void
    {
        $bootstrap = new Bootstrap();
        foreach ([6, 10] as $number) {
            $quietest = $noisiest = 0;
            foreach ([0.005, 0.02, 0.025, 0.03, 0.035, 0.08] as $size) {
                $rounds = new Rounds(1000 + $number);
                $quiet = $found = 0;
                for ($run = 0; $run < 250; ++$run) {
                    $pairs = [
                        $bootstrap->paired(...$rounds->pair('normal', $number, 1.0, $size)),
                        $bootstrap->paired(...$rounds->pair('normal', $number, 1.0, $size)),
                    ];
                    if ((new Noise($pairs))->quiet) {
                        ++$quiet;
                        $found += (int) ($bootstrap->paired(...$rounds->pair('normal', $number, 1.1, $size))->low > 1.0);
                    }
                }
                // One of the few that are quiet by luck may be missed without saying anything.
                self::assertGreaterThanOrEqual(0.95 * $quiet - 1, $found, "$number rounds, noise $size");
                $quietest = \max($quietest, $quiet);
                $noisiest = $quiet;
            }
            self::assertSame(250, $quietest, 'a silent machine is quiet');
            self::assertSame(0, $noisiest, 'a noisy one is not');
        }
    }
}
