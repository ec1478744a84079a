<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Larder\Lab\Statistics\Bootstrap;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Prints the tables in Bootstrap's docblock, and holds it to them. */
#[Group('long')]
final class CoverageTableTest extends TestCase
{
    private const TRIES = 4000;

    #[DataProvider('tables')]
    public function testTable(string $method, float $ratio): void
    {
        $bootstrap = new Bootstrap();
        \fprintf(\STDERR, "\n%s, ratio %.1f\n%-8s%s\n", $method, $ratio, 'rounds', \implode('', \array_map(static fn(string $noise): string => \sprintf('%11s', $noise), Rounds::NOISES)));
        foreach ($method === 'paired' ? [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 20, 25, 30] : [3, 5, 7, 10, 11, 15, 20, 30] as $number) {
            $line = \sprintf('%-8d', $number);
            foreach (Rounds::NOISES as $noise) {
                $rounds = new Rounds($number);
                $different = 0;
                for ($try = 0; $try < self::TRIES; ++$try) {
                    $interval = $bootstrap->$method(...$rounds->pair($noise, $number, $ratio));
                    $different += (int) ($ratio > 1.0 ? $interval->low > 1.0 : $interval->excludesOne());
                }
                $line .= \sprintf('%11.1f', 100 * $different / self::TRIES);
                if ($ratio === 1.0) {
                    // 7 of 100, and three standard errors of the simulation.
                    self::assertLessThan(self::TRIES * 0.07 + 3 * \sqrt(self::TRIES * 0.07 * 0.93), $different, "$method, $noise, $number rounds");
                } elseif ($noise === 'normal' && $number >= 10) {
                    self::assertGreaterThan(self::TRIES * 0.95, $different, "$method, $noise, $number rounds");
                }
            }
            \fwrite(\STDERR, "$line\n");
        }
    }

    /** @return iterable<string, array{string, float}> */
    public static function tables(): iterable
    {
        yield 'equals, in the same rounds' => ['paired', 1.0];
        yield 'equals, in separate runs' => ['unpaired', 1.0];
        yield 'slower, in the same rounds' => ['paired', 1.1];
        yield 'slower, in separate runs' => ['unpaired', 1.1];
    }
}
