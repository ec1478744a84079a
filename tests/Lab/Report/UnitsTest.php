<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Report\Units;
use Larder\Lab\Run\Ratio;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class UnitsTest extends TestCase
{
    /** @return iterable<array{string, float, string}> */
    public static function figures(): iterable
    {
        yield [Cell::MICROSECONDS, 0.0, '0 ns'];
        yield [Cell::MICROSECONDS, 0.0334, '33.4 ns'];
        yield [Cell::MICROSECONDS, 0.999, '999 ns'];
        yield [Cell::MICROSECONDS, 1.0, '1.00 µs'];
        yield [Cell::MICROSECONDS, 49.96, '50.0 µs'];
        yield [Cell::MICROSECONDS, 128.4, '128 µs'];
        yield [Cell::MICROSECONDS, 40_123.0, '40.1 ms'];
        yield [Cell::MICROSECONDS, 7_200e6, '7,200 s'];
        yield [Cell::BYTES, 45.0, '45 B'];
        yield [Cell::BYTES, 20_480.0, '20.5 kB'];
        yield [Cell::BYTES, 3e6, '3.00 MB'];
        yield [Cell::PER_SECOND, 0.5, '0.500 /s'];
        yield [Cell::PER_SECOND, 12_345.0, '12.3 thousand/s'];
        yield [Cell::PER_SECOND, 23.8e6, '23.8 million/s'];
    }

    #[DataProvider('figures')]
    public function testAFigureAloneHasTheUnitThatFits(string $unit, float $value, string $shown): void
    {
        self::assertSame($shown, Units::one($unit, $value));
    }

    /** @return iterable<array{string, list<float>, string, list<string>}> */
    public static function tables(): iterable
    {
        yield 'from memory to the network' => [Cell::MICROSECONDS, [0.0334, 4.9, 50.04, 40_123.0], 'µs', ['0.0334', '4.90', '50.0', '40,123']];
        yield 'all in memory' => [Cell::MICROSECONDS, [0.0334, 0.48], 'ns', ['33.4', '480']];
        yield 'all over a slow network' => [Cell::MICROSECONDS, [1_100.0, 40_123.0], 'ms', ['1.10', '40.1']];
        yield 'all very slow' => [Cell::MICROSECONDS, [1.1e6, 2e6], 's', ['1.10', '2.00']];
        yield 'sizes' => [Cell::BYTES, [3_300.0, 270_000.0], 'kB', ['3.30', '270']];
        yield 'small sizes' => [Cell::BYTES, [33.0, 270_000.0], 'B', ['33', '270,000']];
        yield 'rates' => [Cell::PER_SECOND, [920e3, 15.2e6], 'thousand/s', ['920', '15,200']];
        yield 'none' => [Cell::MICROSECONDS, [], 'µs', []];
    }

    /**
     * @param list<float>  $values
     * @param list<string> $shown
     */
    #[DataProvider('tables')]
    public function testATableHasOneUnit(string $unit, array $values, string $name, array $shown): void
    {
        $units = Units::of($unit, $values);

        self::assertSame($name, $units->unit);
        self::assertSame($shown, \array_map($units->show(...), $values));
    }

    public function testARatioWithoutAnIntervalSaysSo(): void
    {
        self::assertSame('2.10 (2.02–2.18)', Units::ratio(new Ratio('a', 'b', 2.1, 2.02, 2.18, 9)));
        self::assertSame('2.10 (?)', Units::ratio(new Ratio('a', 'b', 2.1, 0.0, \INF, 2)));
    }
}
