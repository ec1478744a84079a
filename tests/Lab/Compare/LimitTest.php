<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Compare;

use Larder\Lab\Compare\Limit;
use Larder\Lab\Compare\NotComparable;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

#[CoversClass(Limit::class)]
final class LimitTest extends TestCase
{
    #[TestWith(['5%', 0.05, '5 %'])]
    #[TestWith(['5', 0.05, '5 %'])]
    #[TestWith(['0.05', 0.05, '5 %'])]
    #[TestWith([' 10 % ', 0.1, '10 %'])]
    #[TestWith(['2.5%', 0.025, '2.5 %'])]
    #[TestWith(['0.5%', 0.005, '0.5 %'])]
    #[TestWith(['1', 0.01, '1 %'])]
    #[TestWith(['0', 0.0, '0 %'])]
    #[TestWith(['200%', 2.0, '200 %'])]
    public function testPercentAndParts(string $text, float $part, string $shown): void
    {
        $limit = Limit::of($text);

        self::assertEqualsWithDelta($part, $limit->part, 1e-12);
        self::assertEqualsWithDelta(1 + $part, $limit->factor(), 1e-12);
        self::assertSame($shown, $limit->text());
    }

    #[TestWith([''])]
    #[TestWith(['-5%'])]
    #[TestWith(['five'])]
    #[TestWith(['5%%'])]
    #[TestWith(['10,5%'])]
    #[TestWith(['1e3'])]
    #[TestWith(['NAN'])]
    #[TestWith(['20000%'])]
    #[TestWith(["5\n5"])]
    #[TestWith(["5%\n\e[2J"])]
    public function testAnythingElseIsNamedWithWhatToDo(string $text): void
    {
        try {
            Limit::of($text);
            self::fail('It was taken.');
        } catch (NotComparable $e) {
            self::assertMatchesRegularExpression('/^Cannot read the limit ".*"\. Give .*--limit=5%.*0\.05\.$/', $e->getMessage());
            self::assertStringNotContainsString("\e", $e->getMessage());
        }
    }
}
