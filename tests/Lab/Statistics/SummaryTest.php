<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Larder\Lab\Statistics\Quantile;
use Larder\Lab\Statistics\Summary;
use Larder\Lab\Statistics\UnusableSamples;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

final class SummaryTest extends TestCase
{
    /**
     * Certified values of the Statistical Reference Datasets of NIST (itl.nist.gov/div898/strd/univ/homepage.html).
     * The last column is how many parts the result may be off: what their decimals lose as doubles is in it.
     *
     * @return iterable<string, array{list<float>, float, float, float}>
     */
    public static function certified(): iterable
    {
        yield 'NumAcc1' => [[10000001.0, 10000003.0, 10000002.0], 10000002.0, 1.0, 1e-15];
        yield 'NumAcc2' => [self::pairings(1.2, 1.1, 1.3), 1.2, 0.1, 1e-13];
        yield 'NumAcc3' => [self::pairings(1000000.2, 1000000.1, 1000000.3), 1000000.2, 0.1, 1e-9];
        yield 'NumAcc4' => [self::pairings(10000000.2, 10000000.1, 10000000.3), 10000000.2, 0.1, 1e-8];
        yield 'Michelso' => [\array_map(static fn(int $speed): float => (299000 + $speed) / 1000, self::MICHELSON), 299.8524, 0.0790105478190518, 1e-12];
    }

    /** @param list<float> $samples */
    #[DataProvider('certified')]
    public function testTheCertifiedValuesOfNist(array $samples, float $mean, float $stdev, float $tolerance): void
    {
        $summary = new Summary($samples);

        self::assertEqualsWithDelta($mean, $summary->mean, $mean * 1e-15);
        self::assertEqualsWithDelta($stdev, $summary->stdev, $stdev * $tolerance);
    }

    /**
     * What R says: quantile(x, c(.01, .05, .5, .95, .99)), mad(x, constant = 1), sd(x), mean(x) of its own data sets.
     *
     * @return iterable<string, array{list<float>, array<string, float>}>
     */
    public static function ofR(): iterable
    {
        yield 'morley$Speed' => [\array_map('floatval', self::MICHELSON), [
            'n' => 100, 'min' => 620, 'p1' => 649.7, 'p5' => 739, 'median' => 850, 'mean' => 852.4, 'p95' => 980,
            'p99' => 1000.7, 'max' => 1070, 'range' => 450, 'mad' => 45, 'stdev' => 79.0105478190518,
        ]];
        yield 'mtcars$mpg' => [[
            21, 21, 22.8, 21.4, 18.7, 18.1, 14.3, 24.4, 22.8, 19.2, 17.8, 16.4, 17.3, 15.2, 10.4, 10.4,
            14.7, 32.4, 30.4, 33.9, 21.5, 15.5, 15.2, 13.3, 19.2, 27.3, 26, 30.4, 15.8, 19.7, 15, 21.4,
        ], [
            'n' => 32, 'min' => 10.4, 'p1' => 10.4, 'p5' => 11.995, 'median' => 19.2, 'mean' => 20.090625, 'p95' => 31.3,
            'p99' => 33.435, 'max' => 33.9, 'range' => 23.5, 'mad' => 3.65, 'stdev' => 6.0269480520891,
        ]];
    }

    /**
     * @param list<float>          $samples
     * @param array<string, float> $expected
     */
    #[DataProvider('ofR')]
    public function testWhatRSays(array $samples, array $expected): void
    {
        $summary = \get_object_vars(new Summary($samples));
        \sort($samples);
        self::assertNotSame([], $samples);
        foreach (['p1' => 0.01, 'p5' => 0.05, 'p95' => 0.95, 'p99' => 0.99] as $name => $at) {
            self::assertNull($summary[$name], 'of so few');
            $summary[$name] = Quantile::of($samples, $at);
        }
        self::assertEqualsWithDelta($expected, $summary, 1e-11);
    }

    public function testTheSpreadDoesNotDependOnTheHeight(): void
    {
        // Powers of two, so that adding loses nothing. The textbook formula (mean of squares less square of the mean) gives 0 here.
        $low = new Summary([0.25, 0.5, 0.75, 4.0]);
        $high = new Summary(\array_map(static fn(float $sample): float => $sample + 2 ** 48, [0.25, 0.5, 0.75, 4.0]));

        self::assertSame($low->stdev, $high->stdev);
        self::assertSame($low->mad, $high->mad);
        self::assertSame($low->range, $high->range);
    }

    /** The running mean alone is 0.16 off here, some six hundred times what the last bit of such a figure means. */
    public function testTheMeanOfManyHighFigures(): void
    {
        $sum = 0;
        $samples = [];
        for ($i = 0; $i < 10_001; ++$i) {
            $part = $i * 7919 % 10_007;
            $sum += $part;
            $samples[] = (float) ((1 << 40) + $part);
        }

        self::assertEqualsWithDelta($sum / 10_001, (new Summary($samples))->mean - (1 << 40), 2 ** -12);
    }

    public function testAPercentileNeedsTenSamplesBeyondIt(): void
    {
        $there = static function (int $n): array {
            $summary = new Summary(\array_map(\floatval(...), \range(1, $n)));

            return [$summary->p1 !== null, $summary->p5 !== null, $summary->p95 !== null, $summary->p99 !== null];
        };

        self::assertSame([false, false, false, false], $there(199));
        self::assertSame([false, true, true, false], $there(200));
        self::assertSame([false, true, true, false], $there(999));
        self::assertSame([true, true, true, true], $there(1000));
    }

    #[TestWith([\NAN, 'Sample 1 is not a number'])]
    #[TestWith([\INF, 'Sample 1 is infinite'])]
    #[TestWith([-\INF, 'Sample 1 is infinite'])]
    public function testWhatIsNoNumberIsRefused(float $sample, string $message): void
    {
        $this->expectException(UnusableSamples::class);
        $this->expectExceptionMessage($message);

        new Summary([1.0, $sample, 2.0]);
    }

    /** @return list<float> */
    private static function pairings(float $first, float $low, float $high): array
    {
        $samples = [$first];
        for ($i = 0; $i < 500; ++$i) {
            $samples[] = $low;
            $samples[] = $high;
        }

        return $samples;
    }

    /** A. A. Michelson's hundred measurements of 1879: the speed of light in km/s, less 299,000. NIST calls them Michelso, R morley. */
    private const MICHELSON = [
        850, 740, 900, 1070, 930, 850, 950, 980, 980, 880, 1000, 980, 930, 650, 760, 810, 1000, 1000, 960, 960,
        960, 940, 960, 940, 880, 800, 850, 880, 900, 840, 830, 790, 810, 880, 880, 830, 800, 790, 760, 800,
        880, 880, 880, 860, 720, 720, 620, 860, 970, 950, 880, 910, 850, 870, 840, 840, 850, 840, 840, 840,
        890, 810, 810, 820, 800, 770, 760, 740, 750, 760, 910, 920, 890, 860, 880, 720, 840, 850, 850, 780,
        890, 840, 780, 810, 760, 810, 790, 810, 820, 850, 870, 870, 810, 740, 810, 940, 950, 800, 810, 870,
    ];
}
