<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Larder\Lab\Statistics\ResampledMedian;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;
use Random\Engine\Xoshiro256StarStar;
use Random\Randomizer;

final class ResampledMedianTest extends TestCase
{
    /** Up to 6 figures every resample there is can be made (6^6 = 46,656). */
    #[TestWith([1])]
    #[TestWith([2])]
    #[TestWith([3])]
    #[TestWith([4])]
    #[TestWith([5])]
    #[TestWith([6])]
    public function testEveryResampleThereIs(int $n): void
    {
        $counted = [];
        for ($number = 0; $number < $n ** $n; ++$number) {
            $resample = [];
            for ($draw = 0, $rest = $number; $draw < $n; ++$draw, $rest = \intdiv($rest, $n)) {
                $resample[] = $rest % $n;
            }
            \sort($resample);
            $counted[$resample[\intdiv($n - 1, 2)] . '-' . $resample[\intdiv($n, 2)]] ??= 0;
            ++$counted[$resample[\intdiv($n - 1, 2)] . '-' . $resample[\intdiv($n, 2)]];
        }
        $expected = \array_map(static fn(int $count): float => $count / $n ** $n, $counted);
        $found = [];
        foreach (ResampledMedian::of(\max(1, $n)) as [$i, $j, $chance]) {
            $found["$i-$j"] = $chance;
        }
        \ksort($expected);
        \ksort($found);

        self::assertEqualsWithDelta($expected, $found, 1e-12);
    }

    /** More figures, by drawing 20,000 resamples: every chance within five standard errors of its frequency. */
    #[TestWith([11])]
    #[TestWith([12])]
    public function testResamplesDrawn(int $n): void
    {
        $randomizer = new Randomizer(new Xoshiro256StarStar(17));
        $counted = [];
        for ($resample = 0; $resample < 20_000; ++$resample) {
            $drawn = [];
            for ($draw = 0; $draw < $n; ++$draw) {
                $drawn[] = $randomizer->getInt(0, $n - 1);
            }
            \sort($drawn);
            $counted[$drawn[\intdiv($n - 1, 2)]][$drawn[\intdiv($n, 2)]] ??= 0;
            ++$counted[$drawn[\intdiv($n - 1, 2)]][$drawn[\intdiv($n, 2)]];
        }

        foreach (ResampledMedian::of(\max(1, $n)) as [$i, $j, $chance]) {
            self::assertEqualsWithDelta($chance, ($counted[$i][$j] ?? 0) / 20_000, 5 * \sqrt($chance / 20_000) + 1 / 20_000, "$i-$j");
            unset($counted[$i][$j]);
        }
        self::assertSame([], \array_filter($counted), 'nothing was drawn that is not foreseen');
    }

    #[TestWith([7])]
    #[TestWith([30])]
    #[TestWith([31])]
    #[TestWith([400])]
    #[TestWith([401])]
    public function testTheChancesMakeOne(int $n): void
    {
        $outcomes = ResampledMedian::of(\max(1, $n));

        self::assertEqualsWithDelta(1.0, \array_sum(\array_column($outcomes, 2)), 1e-8);
        // Turned round, the figures are the same.
        $mirrored = 0.0;
        foreach ($outcomes as [$i, $j, $chance]) {
            $mirrored += $chance * ($i + $j) / 2;
        }
        self::assertEqualsWithDelta(($n - 1) / 2, $mirrored, 1e-6);
    }
}
