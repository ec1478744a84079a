<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Compare;

use Larder\Lab\Compare\Evidence;
use Larder\Lab\Compare\Spread;
use Larder\Lab\Compare\StudentT;
use Larder\Lab\Compare\Trimmed;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(Evidence::class)]
#[CoversClass(Trimmed::class)]
#[CoversClass(Spread::class)]
final class EvidenceTest extends TestCase
{
    public function testFewRoundsAreWelchsTest(): void
    {
        $none = Spread::of([]);
        $new = Trimmed::of([\exp(1.0), \exp(2.0), \exp(3.0)]);
        $old = Trimmed::of([\exp(0.0), \exp(0.2), \exp(0.4), \exp(0.6)]);
        // Means 2 and 0.3, variances 1 and 0.2/3, of which thirds and quarters.
        $error = 1 / 3 + 0.2 / 3 / 4;
        $freedom = $error ** 2 / ((1 / 3) ** 2 / 2 + (0.2 / 3 / 4) ** 2 / 3);

        self::assertEqualsWithDelta(StudentT::tail(1.7 / \sqrt($error), $freedom), (new Evidence($none, $none))->above($new, $old, 1.0), 1e-12);
        self::assertEqualsWithDelta(0.5, (new Evidence($none, $none))->above($new, $old, \exp(1.7)), 1e-9, 'what they are is what they may be');
    }

    public function testBothSidesAreAlikeMirrored(): void
    {
        $none = Spread::of([]);
        $evidence = new Evidence($none, $none);
        $slow = Trimmed::of([12.0, 12.5, 12.2, 11.9, 12.4]);
        $fast = Trimmed::of([10.0, 10.1, 9.9, 10.3, 10.2]);

        self::assertLessThan(0.01, $evidence->above($slow, $fast, 1.1));
        self::assertEqualsWithDelta($evidence->above($slow, $fast, 1.1), $evidence->below($fast, $slow, 1 / 1.1), 1e-12);
        self::assertGreaterThan(0.99, $evidence->above($fast, $slow, 1.1));
    }

    public function testADisturbedRoundNeitherHidesALossNorMakesOne(): void
    {
        $calm = [10.0, 10.1, 9.9, 10.2, 9.8, 10.0, 10.1, 9.9, 10.15, 9.85];
        $slow = \array_map(static fn(float $time): float => 1.3 * $time, $calm);
        $disturbed = [...\array_slice($calm, 0, 9), 90.0];
        $none = Spread::of([]);
        $evidence = new Evidence($none, $none);

        self::assertLessThan(1e-6, $evidence->above(Trimmed::of($slow), Trimmed::of($disturbed), 1.1));
        self::assertGreaterThan(0.9, $evidence->above(Trimmed::of($disturbed), Trimmed::of($calm), 1.1));
    }

    public function testWhatIsCutOffIsPulledIn(): void
    {
        // Logarithms -100 -50 1 2 3 4 5 6 600 700: cut to 1 … 6, for the spread 1 1 1 2 3 4 5 6 6 6 around 3.5.
        $trimmed = Trimmed::of(\array_map(\exp(...), [-100.0, 5.0, 1.0, 600.0, 2.0, -50.0, 3.0, 4.0, 6.0, 700.0]));

        self::assertEqualsWithDelta(3.5, $trimmed->mean, 1e-12);
        self::assertEqualsWithDelta((6 * 6.25 + 2 * 2.25 + 2 * 0.25) / 5, $trimmed->variance, 1e-12);
        self::assertSame([6, 5], [$trimmed->left, $trimmed->freedom]);
    }

    public function testRoundsThatAgreeByLuckAreNotBelieved(): void
    {
        $usual = [];
        for ($i = 0; $i < 50; $i++) {
            $usual[] = Trimmed::of([1.0, 1.1 + $i / 1000, 1.2]);
        }
        $spread = Spread::of($usual);
        $lucky = Trimmed::of([1.0, 1.0, 1.0]);
        [$variance, $freedom] = $spread->with($lucky);

        self::assertSame(1e-6, $lucky->variance, 'the clock\'s grain');
        self::assertGreaterThan(100 * $lucky->variance, $variance);
        self::assertGreaterThan($lucky->freedom, $freedom);
        self::assertSame([$lucky->variance, 2.0], Spread::of(\array_slice($usual, 0, 9))->with($lucky), 'a few cells say nothing of each other');
    }

    /** The example that the method was published with: fifteen tests, of which it believes four at 5 %. */
    public function testBelievedAsPublished(): void
    {
        $chances = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000];
        $keyed = [];
        foreach (\array_reverse($chances, true) as $i => $chance) {
            $keyed["test $i"] = $chance;
        }

        self::assertSame(['test 0', 'test 1', 'test 2', 'test 3'], \array_keys(Evidence::believed($keyed, 0.05)));
        self::assertSame([], Evidence::believed([0.06, 0.7], 0.05));
        self::assertSame([], Evidence::believed([], 0.05));
        self::assertCount(2, Evidence::believed([0.04, 0.05], 0.05), 'the larger one carries the other');
    }
}
