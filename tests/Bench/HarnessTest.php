<?php

declare(strict_types=1);

namespace Larder\Tests\Bench;

use Larder\Bench\Comparison;
use Larder\Bench\Harness;
use Larder\Bench\Side;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;
use Random\Engine\Mt19937;
use Random\Randomizer;

#[CoversNothing]
final class HarnessTest extends TestCase
{
    public function testMedian(): void
    {
        self::assertSame(3.0, Comparison::median([9.0, 1.0, 3.0]));
        self::assertSame(2.5, Comparison::median([4.0, 1.0, 3.0, 2.0]));
    }

    public function testTheRatioLiesInItsIntervalAndOutliersDoNotMoveIt(): void
    {
        $base = $twice = [];
        for ($i = 0; $i < 15; ++$i) {
            $base[] = 100.0 + $i % 3;
            $twice[] = 2 * (100.0 + $i % 3);
        }
        $twice[7] = 1e9;
        $comparison = new Comparison('t', ['base', 'twice'], [$base, \array_values($twice)], new Randomizer(new Mt19937(1)));
        [$ratio, $from, $to] = $comparison->ratio(1);
        self::assertEqualsWithDelta(2.0, $ratio, 0.05);
        self::assertLessThanOrEqual($ratio, $from);
        self::assertGreaterThanOrEqual($ratio, $to);
        self::assertLessThan(2.2, $to);
        self::assertEqualsWithDelta(101.0, $comparison->difference(1)[0], 3.0);
        self::assertStringContainsString('at most 2.5: reached', $comparison->table([1 => 2.5]));
        self::assertStringContainsString('at most 1.5: NOT REACHED', $comparison->table([1 => 1.5]));
    }

    public function testRunsEverySideOnceARoundInAnOrderThatTheSeedGives(): void
    {
        $order = function (int $seed): string {
            $log = '';
            $side = static function (string $name) use (&$log): Side {
                return new Side($name, static function (int $times) use (&$log, $name): void {
                    $log .= $name . $times . ' ';
                }, static function () use (&$log): void {
                    $log .= 'prepared-';
                }, static fn(): bool => true, 3);
            };
            (new Harness(4, $seed))->compare('t', $side('a'), $side('b'), $side('c'));

            return $log;
        };
        self::assertSame($order(5), $order(5));
        self::assertNotSame($order(5), $order(6));
        // a runs twice a round, as its own noise; each side once more to warm up.
        self::assertSame(2 * 5, \substr_count($order(5), 'prepared-a3'));
        self::assertSame(5, \substr_count($order(5), 'prepared-b3'));
        self::assertSame(5, \substr_count($order(5), 'prepared-c3'));
    }

    public function testFindsHowManyOperationsFillASample(): void
    {
        $most = 0;
        (new Harness(1, 1))->compare('t', new Side('a', static function (int $times) use (&$most): void {
            $most = \max($most, $times);
            \usleep(1_000 * $times);
        }));
        // 10 ms are wanted.
        self::assertGreaterThan(1, $most);
        self::assertLessThanOrEqual(16, $most);
    }

    public function testAWrongValueIsNotTimed(): void
    {
        $timed = false;
        $this->expectExceptionMessage('wrong value');
        try {
            (new Harness(1, 1))->compare('t', new Side('a', static function () use (&$timed): void {
                $timed = true;
            }, check: static fn(): bool => false));
        } finally {
            self::assertFalse($timed);
        }
    }

    public function testRefusesUnknownArguments(): void
    {
        self::assertSame([7, 9], [Harness::fromArguments(['--rounds=7', '--seed=9'])->rounds, Harness::fromArguments(['--seed=9'])->seed]);
        $this->expectExceptionMessage('--rounds=0 is unknown here');
        Harness::fromArguments(['--rounds=0']);
    }
}
