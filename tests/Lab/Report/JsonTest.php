<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Report\Json;
use Larder\Lab\Report\JsonReader;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Larder\Tests\Lab\Compare\Reports;
use PHPUnit\Framework\TestCase;

final class JsonTest extends TestCase
{
    /** Each text in each place that has one, and figures from nothing at all to hours, of all units, places and kinds. */
    public function testTheSameReportComesBack(): void
    {
        $figures = [0.0, 0.0001234, 1.0, 98.76, 1.234e10, 9.999e12];
        $missing = $disqualified = $scenarios = $results = $ratios = [];
        $texts = ['', 'a', "redis:socket:\u{e9}", '0', '/', '"', Fixture::HOSTILE, "a\0", "\u{1F600}", '50x50', \str_repeat('x', 300)];
        foreach ($texts as $i => $text) {
            $missing[] = ['subject' => $text, 'scenario' => $text, 'what' => $text, 'advice' => $text];
            $disqualified[] = ['subject' => $text, 'scenario' => $text, 'reason' => $text];
            $scenarios[] = new Presentation($text, $text, $text, $text, $text, $i % 2 === 1, ["p$text" => $text], ["o$text" => $text], $i > 1 ? ["$text" => $text] : [], [$text]);
            $connection = [Cell::PROCESS, Cell::SOCKET, Cell::TCP, Cell::NETWORK][$i % 4];
            $unit = [Cell::MICROSECONDS, Cell::BYTES, Cell::COUNT, Cell::PER_SECOND][$i % 4];
            $placement = [Cell::ANYWHERE, Cell::SAME, Cell::OTHER][$i % 3];
            $results[] = new Result(new Cell($text, "$i:$text", $text, $connection, $text, $text, $text, $text, $i + 1, $unit, $placement, $i + 1), [$figures, [$figures[$i % 6]], [(float) (1 << 40)]], $i % 2 === 1 ? $figures[$i % 6] : null);
            $ratios[] = new Ratio($text, $text, $figures[$i % 6], 0.0, $i % 3 === 0 ? \INF : $figures[5], $i, [Ratio::TABLE, Ratio::PAIR, Ratio::NOISE][$i % 3], $i % 2 === 1 ? $figures[$i % 5] : null, $text, $i % 2 === 1 ? [] : $figures);
        }
        $machine = ['7' => 3, 'load' => 2.0, 'tiny' => 1.5e-9, 'huge' => 1e300, 'negative' => -2, 'third' => 1 / 3] + \array_fill_keys($texts, 'text');
        $report = new Report(Fixture::HOSTILE, $machine, ['PHP' => '', '8' => Fixture::HOSTILE], $scenarios, $results, $ratios, $missing, $disqualified, $texts, true, false, \PHP_INT_MIN, 0, '2026-05-06T07:08:09Z', 0.000123456);
        $json = (new Json())->encode($report);
        self::assertStringNotContainsString('<', $json, 'nothing ends a script element');
        $rounded = (new JsonReader())->decode($json);

        self::assertEquals([$results[0]->cell, $results[10]->cell], [$rounded->results[0]->cell, $rounded->results[10]->cell]);
        self::assertEquals([$figures, [0.0], [1.1e12]], $rounded->results[0]->rounds, 'four digits of times');
        self::assertEquals($results[1]->rounds, $rounded->results[1]->rounds, 'all of sizes');
        self::assertEquals(new Report(...['results' => $rounded->results] + \get_object_vars($report)), $rounded);
    }

    /** And the schema, by which it is read, has all of it. */
    public function testOtherReportsComeBackToo(): void
    {
        foreach ([Fixture::report(), Fixture::hostile(), Reports::report(machine: [], versions: [], partial: true)] as $report) {
            self::assertEquals($report, (new JsonReader())->decode((new Json())->encode($report)));
        }
    }

    public function testALimitHoldsUpToItself(): void
    {
        $holds = static fn(float $median): Ratio => new Ratio('a', 'b', $median, 0.5, 3.0, 9, Ratio::PAIR, 1.5);

        self::assertSame([true, true, false], \array_column($this->decoded(Reports::report(ratios: [$holds(1.4), $holds(1.5), $holds(1.50001)]))['ratios'], 'holds'));
    }

    /** And once rounded, nothing changes any more: it is what was read. */
    public function testSettingsOfPhpChangeNothing(): void
    {
        $report = Fixture::report();
        $json = (string) \file_get_contents(__DIR__ . '/report.json');
        $before = [\ini_get('serialize_precision'), \ini_get('precision')];
        \ini_set('serialize_precision', '5');
        \ini_set('precision', '3');
        try {
            self::assertSame($json, (new Json())->encode($report));
        } finally {
            \ini_set('serialize_precision', (string) $before[0]);
            \ini_set('precision', (string) $before[1]);
        }
    }

    public function testAFigureThatIsNoNumberIsRefused(): void
    {
        $this->expectException(\JsonException::class);

        (new Json())->encode(Reports::report(ratios: [new Ratio('a', 'b', \NAN, 1.0, 2.0, 9)]));
    }

    /** @return array<string, mixed> */
    private function decoded(Report $report): array
    {
        return \json_decode((new Json())->encode($report), true, 16, \JSON_THROW_ON_ERROR);
    }
}
