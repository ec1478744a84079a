<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Report\Findings;
use Larder\Lab\Report\Html;
use Larder\Lab\Report\Json;
use Larder\Lab\Report\JsonReader;
use Larder\Lab\Report\Page\Pictures;
use Larder\Lab\Report\Row;
use Larder\Lab\Report\Table;
use Larder\Lab\Report\Tables;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Larder\Tests\Support\TemporaryDirectory;
use Opis\JsonSchema\Validator;
use PHPUnit\Framework\TestCase;

/** Reports of the scenario `segment`, in which there are also figures of which more is better. */
final class SegmentReportTest extends TestCase
{
    /** Seen to fail: Rank::sorted() without moreIsBetter(). */
    public function testOfGetsASecondTheMostStandFirst(): void
    {
        $tables = $this->tables();
        $table = $tables['segment: gets a second beside a writer, a short string, 4 processes at once'];

        self::assertSame(['segment', 'apcu'], self::column($table, 'engine'));
        self::assertSame(['12.0', '4.00'], self::column($table, 'mean million/s'));
        self::assertSame([[3], []], \array_map(static fn(Row $row): array => $row->best, $table->rows));
        self::assertStringContainsString('more is better', $table->about);
        self::assertStringNotContainsString('Time of one operation', $table->about);
    }

    /** Seen to fail: no base of these cells in Segment::base(). */
    public function testGrowthStandsBesideWhatOneProcessDoes(): void
    {
        $tables = $this->tables();

        self::assertSame(['1.20', '0.800'], self::column($tables['segment: gets a second beside a writer, a short string, 4 processes at once'], '× one process'));
        self::assertSame(['1.15–1.25', '0.750–0.850'], self::column($tables['segment: gets a second beside a writer, a short string, 4 processes at once'], '95 %'));
        self::assertSame([], self::column($tables['segment: gets a second beside a writer, a short string, one process'], '× one process'));
    }

    public function testEachOperationIsNamed(): void
    {
        self::assertEqualsCanonicalizing([
            'segment: write a 50x50 array, one process',
            'segment: read a 50x50 array, one process',
            'segment: read an array of 1,000 integers, keys shuffled, one process',
            'segment: read a missing key, one process',
            'segment: increment an integer, one process',
            'segment: gets a second, a short string, one process',
            'segment: gets a second beside a writer, a short string, one process',
            'segment: gets a second beside a writer, a short string, 4 processes at once',
        ], \array_keys($this->tables()));
    }

    /** Seen to fail: growth() left out. */
    public function testThePictureOfGetsSaysWhetherTheyGrow(): void
    {
        $says = (new Findings())->forPicture(self::report(), 'short', 'gets-written', 4, 'segment');

        self::assertSame('Getting a short string beside a writer, 4 processes at once: segment:process:none 12.0 million/s, 1.20 (1.15–1.25) times what one process does; apcu:process:php 4.00 million/s, 0.800 (0.750–0.850) times what one process does.', $says);
        self::assertStringStartsWith('Getting a short string, one process: segment:process:none is first of 2 with 20.0 million/s, apcu:process:php is last with 5.00 million/s, 0.250', (new Findings())->forPicture(self::report(), 'short', 'gets', 1, 'segment'));
        self::assertSame('This run did not measure this.', (new Findings())->forCurves(self::report(), 'short', 'gets', 1, 'segment'));
    }

    /** Seen to fail: Losses without moreIsBetter(), isLarder() without the segment. */
    public function testTheSegmentIsLardersAndMoreGetsAreNoLoss(): void
    {
        $loss = (new Findings())->sentences(self::report())[2];

        // Of eight tables it is the slower one in "increment" only.
        self::assertStringContainsString('Larder loses 1 of 8 comparisons with the best of the others, by most at incrementing an integer, one process, on one machine, where segment:process:none takes 2.00 times as long as apcu:process:php', $loss);
    }

    public function testItIsReadAsItWasWrittenAndAsTheSchemaSays(): void
    {
        $directory = new TemporaryDirectory('lab');
        $json = (new Json())->encode(self::report());
        $report = (new JsonReader())->read($directory->write('report.json', $json));
        $units = static fn(Report $of): array => \array_map(static fn(Result $result): array => [$result->cell->id(), $result->cell->unit, \array_map(static fn(array $round): float => \round($round[0], 5), $result->rounds)], $of->results);

        self::assertSame($units(self::report()), $units($report));
        $schema = (string) \file_get_contents(__DIR__ . '/../../../docs/bench.schema.json');
        $decoded = \json_decode($json);
        self::assertInstanceOf(\stdClass::class, $decoded);
        self::assertTrue((new Validator())->validate($decoded, $schema)->isValid());
        $decoded->results[0]->unit = 'gets';
        self::assertFalse((new Validator())->validate($decoded, $schema)->isValid());
    }

    /** Seen to fail: Sections by the payload alone, which puts the tables of gets under the picture of times. */
    public function testGetsHaveAPictureOfTheirOwnWithTheirTables(): void
    {
        $pictures = (new Pictures(self::report(), new Findings()))->of('segment');

        self::assertSame(
            ['segment intervals 50x50', 'segment intervals integers', 'segment intervals short', 'segment intervals integer', 'segment rates short', 'segment curves', 'segment heat'],
            \array_keys($pictures),
        );
        self::assertSame(['payload' => 'short', 'unit' => 'ops/s'], $pictures['segment rates short']['only'] ?? null);
        self::assertSame(['short|gets|1', 'short|gets-written|1', 'short|gets-written|4'], \array_keys($pictures['segment rates short']['says']));
        self::assertSame(['short|missing|1'], \array_keys($pictures['segment intervals short']['says']));

        $page = (new Html())->render(self::report());
        $picture = (int) \strpos($page, 'data-figure="segment rates short"');
        $next = (int) \strpos($page, 'data-figure="segment curves"');
        self::assertSame(3, \substr_count(\substr($page, $picture, $next - $picture), 'Table: segment: gets a second'));
        self::assertSame(3, \substr_count($page, 'Table: segment: gets a second'));
        self::assertStringContainsString('<h3>The segment</h3>', $page);
    }

    /** What was there before has the pictures that it had. */
    public function testOtherScenariosKeepTheirs(): void
    {
        $pictures = (new Pictures(Fixture::report(), new Findings()))->of('engines');

        self::assertSame(['engines intervals short', 'engines intervals 20kB', 'engines intervals 50x50', 'engines curves', 'engines heat'], \array_keys($pictures));
        self::assertSame(['payload' => 'short'], $pictures['engines intervals short']['only'] ?? null);
        self::assertSame('serializer', $pictures['engines heat']['columns'] ?? null);
    }

    /** @return array<string, Table> by title */
    private function tables(): array
    {
        $tables = [];
        foreach ((new Tables(self::report()))->all()['segment'] ?? [] as $table) {
            $tables[$table->title] = $table;
        }

        return $tables;
    }

    /** @return list<string> */
    private static function column(Table $table, string $label): array
    {
        foreach ($table->columns as $i => $column) {
            if ($column->label === $label) {
                return \array_map(static fn(Row $row): string => $row->cells[$i], $table->rows);
            }
        }

        return [];
    }

    private static function report(): Report
    {
        $results = [];
        foreach ([
            ['50x50', 'write', 80.0, 100.0], ['50x50', 'read', 0.04, 80.0], ['integers', 'shuffled', 0.05, 15.0],
            ['short', 'missing', 0.05, 0.1], ['integer', 'increment', 0.2, 0.1],
        ] as [$payload, $operation, $segment, $apcu]) {
            $results[] = self::measured('segment:process:none', $payload, $operation, $segment);
            $results[] = self::measured('apcu:process:php', $payload, $operation, $apcu);
        }
        foreach ([['gets', 1, 20e6, 5e6], ['gets-written', 1, 10e6, 5e6], ['gets-written', 4, 12e6, 4e6]] as [$operation, $processes, $segment, $apcu]) {
            $results[] = self::measured('segment:process:none', 'short', $operation, $segment, $processes, Cell::PER_SECOND);
            $results[] = self::measured('apcu:process:php', 'short', $operation, $apcu, $processes, Cell::PER_SECOND);
        }
        $ratios = [];
        foreach (['segment:process:none' => 1.2, 'apcu:process:php' => 0.8] as $subject => $growth) {
            $ratios[] = new Ratio("segment/$subject/short/gets-written/4", "segment/$subject/short/gets-written/1", $growth, $growth - 0.05, $growth + 0.05, 6);
        }

        return new Report('bin/larder bench segment', ['cores' => 2], [], [['name' => 'segment', 'about' => 'values in memory']], $results, $ratios, [], [], [], false, true, 1, 6, '2026-05-06T07:08:09Z', 1.0);
    }

    /** @param int<1, max> $processes */
    private static function measured(string $subject, string $payload, string $operation, float $center, int $processes = 1, string $unit = Cell::MICROSECONDS): Result
    {
        [$engine, $connection, $serializer] = \explode(':', $subject);

        return new Result(
            new Cell('segment', $subject, $engine, $connection, $serializer, 'none', $payload, $operation, $processes, $unit),
            \array_map(static fn(float $part): array => [$center * $part], [1.0, 1.01, 0.99, 1.0, 1.02, 0.98]),
            $unit === Cell::PER_SECOND ? $center : 1e6 / $center,
        );
    }
}
