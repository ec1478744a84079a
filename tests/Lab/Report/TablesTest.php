<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Report\Column;
use Larder\Lab\Report\Json;
use Larder\Lab\Report\JsonReader;
use Larder\Lab\Report\Row;
use Larder\Lab\Report\Table;
use Larder\Lab\Report\Tables;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Result;
use Larder\Lab\Scenario\Loop;
use Larder\Tests\Lab\Compare\Reports;
use PHPUnit\Framework\TestCase;

final class TablesTest extends TestCase
{
    public function testEachPayloadOperationAndNumberOfProcessesOfEnginesIsATable(): void
    {
        $tables = (new Tables(Fixture::report()))->all();

        self::assertSame(['engines', 'serializers', 'loop'], \array_keys($tables));
        self::assertCount(3 * 2 * 2, $tables['engines']);
        self::assertSame('Engines: read a 50x50 array, one process', $tables['engines'][0]->title, 'what its presentation says');
        self::assertSame('Engines: write a 50x50 array, 10 at once', $tables['engines'][11]->title);
    }

    public function testEveryResultOfEnginesIsInATableOnce(): void
    {
        $report = Fixture::report(scenarios: ['engines']);
        $shown = [];
        foreach ((new Tables($report))->all()['engines'] as $table) {
            \array_push($shown, ...\array_map(static fn(Row $row): string => $row->id, $table->rows));
        }
        $measured = \array_map(static fn(Result $result): string => $result->cell->id(), $report->results);
        \sort($shown);
        \sort($measured);

        self::assertSame($measured, $shown);
    }

    public function testSubjectsStandInTheOrderOfTheirMediansInOneUnit(): void
    {
        $table = $this->ofEngines([self::sampled('slow:socket', [9.0, 1234.0, 99_999.0]), self::sampled('fast:process', [0.5, 0.25, 0.75]), self::sampled('middle:tcp', [10.0, 20.0, 30.0])]);

        self::assertSame(['fast', 'middle, TCP', 'slow, socket'], $this->column($table, 'what'));
        self::assertSame(['0.500', '20.0', '1,234'], $this->column($table, 'median µs'));
        self::assertSame(['fast:process', 'middle:tcp', 'slow:socket'], $this->column($table, 'subject'));
        self::assertSame(['3', '3', '3'], $this->column($table, 'n'));
    }

    /** What ratios of processes at once are made of is their mean: a table in another order would contradict them. */
    public function testProcessesAtOnceStandInTheOrderOfTheirMeans(): void
    {
        $table = $this->ofEngines([self::sampled('steady:process', [9.0, 9.0, 9.0], 10), self::sampled('jumping:process', [1.0, 1.0, 100.0], 10)]);

        self::assertSame(['9.00', '34.0'], $this->column($table, 'mean µs'));
        self::assertSame(['9.00', '1.00'], $this->column($table, 'median µs'));
    }

    public function testEachStandsBesideItsBase(): void
    {
        $base = self::sampled('redis:socket:php', [50.0]);
        $other = self::sampled('apcu:process:php', [0.1]);
        $alone = self::sampled('files:process:php', [70.0]);
        $table = $this->ofEngines([$base, $other, $alone], [new Ratio($other->cell->id(), $base->cell->id(), 0.002, 0.0019, 0.0021, 9)]);

        self::assertSame(['0.00200', '1', '–'], $this->column($table, '× base'));
        self::assertSame(['0.00190–0.00210', '–', '–'], $this->column($table, '95 % of ×'));
        self::assertStringContainsString('The base is Redis by phpredis, socket.', $table->about);
    }

    public function testWhereTheServerRunsAndTheKeysOfARequestAreColumns(): void
    {
        $of = static fn(string $id, float $time): Result => Reports::measured("engines/$id", [$time]);
        $table = $this->ofEngines([$of('redis:socket:php/short/read/1/same/175', 10.0), $of('larder-redis:socket:php/short/read/1/same', 20.0), $of('larder-redis:socket:php/short/read/1/other/175', 120.0), $of('larder-redis:socket:php/short/read/1/other', 130.0), $of('larder-redis:socket:php/short/read/1/other/1', 140.0)]);

        self::assertSame(['same core', 'same core', 'other core', 'other core', 'other core'], $this->column($table, 'server on'));
        self::assertSame(['–', '–', '175 keys a request', '–', '1 key a request'], $this->column($table, 'request'), 'of Larder alone');
    }

    public function testOfAPopulationAllStatisticsStandThere(): void
    {
        $presentation = new Presentation('objects', '', 'Objects', populations: ['all']);
        $result = new Result(new Cell('objects', 'php:none', 'php', Cell::PROCESS, 'php', 'none', 'all', 'size', 1, Cell::BYTES), [\array_map(\floatval(...), \range(1, 1295))]);
        $table = (new Tables(Reports::report([$result], scenarios: [$presentation])))->all()['objects'][0];

        self::assertSame(['1,295', '1.00', '648', '1,295'], \array_map(fn(string $of): string => $this->column($table, $of)[0], ['n', 'min', 'median', 'max']));
        self::assertSame('1,282', $this->column($table, 'p99')[0]);
    }

    public function testPercentilesStandThereOnlyWhereThereAreSamplesEnough(): void
    {
        $of = fn(int $n): Table => $this->ofEngines([self::sampled('a:process', \array_map(\floatval(...), \range(1, \max(1, $n))))]);

        self::assertNotContains('p5–p95 µs', $this->labels($of(199)));
        self::assertContains('p5–p95 µs', $this->labels($of(200)));
        self::assertNotContains('p99 µs', $this->labels($of(999)));
        self::assertContains('p99 µs', $this->labels($of(1000)));
    }

    /** Seen to fail: the report showed them all the same, and its JSON did not know. */
    public function testNoPercentilesOfSamplesThatHoldDifferentNumbersOfOperations(): void
    {
        $alike = self::sampled('a:process', \array_map(\floatval(...), \range(1, 1000)));
        $report = Reports::report([new Result($alike->cell, $alike->rounds, null, false)]);
        foreach ([$report, (new JsonReader())->decode((new Json())->encode($report))] as $one) {
            self::assertSame(['what', 'median µs', 'n', 'subject'], \array_values(\array_diff($this->labels((new Tables($one))->all()['engines'][0]), ['values'])));
        }
    }

    public function testWhatCannotBeToldFromTheBestIsMarkedAsWell(): void
    {
        $noisy = static fn(string $subject, float $center): Result => self::rounds($subject, [$center, $center * 1.1, $center * 0.9, $center * 1.05, $center * 0.95, $center]);
        $table = $this->ofEngines([$noisy('a:process', 10.0), self::rounds('b:process', [10.5, 9.0, 10.9, 10.0, 10.6, 9.9]), $noisy('c:process', 20.0)]);

        self::assertSame([['a', true], ['b', true], ['c', false]], \array_map(static fn(Row $row): array => [$row->cells[0], $row->best !== []], $table->rows));
        self::assertStringContainsString('The first 2 cannot be told apart.', $table->about);
    }

    public function testOnlyTheFirstIsBestWhereNothingCanBeToldAtAll(): void
    {
        $table = $this->ofEngines([self::sampled('a:process', [1.0]), self::sampled('b:process', [1.1])]);

        self::assertSame([true, false], \array_map(static fn(Row $row): bool => $row->best !== [], $table->rows));
        self::assertStringNotContainsString('told apart', $table->about);
    }

    public function testSerializersHaveALineEachWithTimesAndSize(): void
    {
        $tables = (new Tables(Fixture::report(scenarios: ['serializers'])))->all()['serializers'];

        self::assertCount(3, $tables);
        self::assertSame(['what', 'values', 'read µs', '× base', '95 %', 'write µs', '× base', '95 %', 'size kB', '× base', '95 %'], $this->labels($tables[0]));
        self::assertCount(12, $tables[0]->rows);
        self::assertContains('30.0', $this->column($tables[0], 'size kB'));
        // Best to read and best to write is plain igbinary, smallest is what was packed hardest.
        self::assertSame(['igbinary', '–'], \array_slice($tables[0]->rows[0]->cells, 0, 2));
        $smallest = \array_values(\array_filter($tables[0]->rows, static fn(Row $row): bool => \in_array(8, $row->best, true)));
        self::assertSame(['igbinary', 'gzdeflate'], \array_slice($smallest[0]->cells, 0, 2));
    }

    public function testTheLoopHasALineEachWithGetAndCycle(): void
    {
        $tables = (new Tables(Fixture::report(scenarios: ['loop'])))->all()['loop'];

        self::assertCount(1, $tables);
        self::assertSame(['what', 'read µs', '× base', '95 %', 'connect, get, close µs', '× base', '95 %'], $this->labels($tables[0]));
        self::assertSame(['SQLite through Larder', 'Files', 'Memcached, socket', 'Redis by phpredis, socket'], $this->column($tables[0], 'what'));
    }

    public function testACellThatIsNotThereLeavesAGap(): void
    {
        $table = (new Tables(Reports::report(scenarios: [(new Loop())->presentation()], results: [
            Reports::measured('loop/a/short/read/1', [1.0]),
            Reports::measured('loop/b/short/cycle/1', [2.0]),
        ])))->all()['loop'][0];

        self::assertSame(['1.00', '–'], $this->column($table, 'read µs'));
        self::assertSame(['–', '2.00'], $this->column($table, 'connect, get, close µs'));
    }

    public function testAScenarioThatNobodyKnowsYetHasTablesToo(): void
    {
        $tables = (new Tables(Reports::report([Reports::measured('pages/nginx/100 kB/get/10', [5.0])])))->all();

        self::assertSame('pages: get 100 kB, 10 at once', $tables['pages'][0]->title);
    }

    public function testWhatWasPromisedHoldsOrDoesNot(): void
    {
        $pair = static fn(float $median, float $low, float $high, ?float $limit): Ratio => new Ratio('a', 'b', $median, $low, $high, 9, Ratio::PAIR, $limit);
        $table = (new Tables(Reports::report(ratios: [$pair(1.2, 1.1, 1.3, 1.5), $pair(1.2, 1.1, 1.6, 1.5), $pair(1.6, 1.4, 1.7, 1.5), $pair(1.9, 1.8, 2.0, 1.5), $pair(1.9, 0.0, \INF, 1.5), $pair(2.0, 1.9, 2.1, null), new Ratio('a', 'b', 9.0, 8.0, 10.0, 9), new Ratio('a', 'a', 1.0, 0.9, 1.1, 9, Ratio::NOISE)])))->ratios();

        self::assertNotNull($table);
        self::assertSame(['holds', 'holds, not sure', 'does not hold, not sure', 'does not hold', 'does not hold, not sure', '–'], $this->column($table, 'promise'));
        self::assertSame([false, false, true, true, true, false], \array_map(static fn(Row $row): bool => $row->bad, $table->rows));
        self::assertSame('?', $this->column($table, '95 %')[4]);
        self::assertSame('a against b', $table->rows[0]->cells[0]);
    }

    /** Seen to fail: four rows of one title, Redis on the same core and on another, in turn and not. */
    public function testRatiosSayWhereTheServerRanAndHowTheyWereMeasured(): void
    {
        $ids = ['engines/redis:socket:php/short/read/1/same/175', 'engines/redis:socket:php/short/read/1/other/175', 'engines/redis:socket:php/short/read/10'];
        $ratios = [];
        foreach ($ids as $id) {
            $ratios[] = new Ratio('engines/larder-sqlite:process:igbinary/short/read/1/175', $id, 0.5, 0.4, 0.6, 2, Ratio::PAIR, 1.0);
            $ratios[] = new Ratio($id, $id, 1.0, 0.9, 1.1, 2, Ratio::NOISE, samples: [1.0, 1.0]);
            $ratios[] = new Ratio($id, $id, 1.0, 0.9, 1.1, 2, Ratio::NOISE);
        }
        $tables = new Tables(Reports::report(ratios: $ratios));
        $first = static fn(?Table $table, int $cells): array => \array_map(static fn(Row $row): string => \implode(' | ', \array_slice($row->cells, 0, $cells)), $table->rows ?? []);

        self::assertSame([
            'SQLite through Larder, igbinary against Redis by phpredis, socket, php, same core | engines: read a short string, one process, 175 keys a request',
            'SQLite through Larder, igbinary against Redis by phpredis, socket, php, other core | engines: read a short string, one process, 175 keys a request',
            'SQLite through Larder, igbinary against Redis by phpredis, socket, php | engines: read a short string, one process, 175 keys a request',
        ], $first($tables->ratios(), 2));
        self::assertSame([
            'Redis by phpredis, socket, php, same core | engines: read a short string, one process, 175 keys a request | in turn',
            'Redis by phpredis, socket, php, same core | engines: read a short string, one process, 175 keys a request | processes of their own',
            'Redis by phpredis, socket, php, other core | engines: read a short string, one process, 175 keys a request | in turn',
            'Redis by phpredis, socket, php, other core | engines: read a short string, one process, 175 keys a request | processes of their own',
            'Redis by phpredis, socket, php | engines: read a short string, 10 at once | in turn',
            'Redis by phpredis, socket, php | engines: read a short string, 10 at once | processes of their own',
        ], $first($tables->noise(), 3));
    }

    public function testNoiseSaysWhetherItFoundADifference(): void
    {
        $noise = static fn(float $low, float $high): Ratio => new Ratio('a', 'a', 1.0, $low, $high, 9, Ratio::NOISE);
        $table = (new Tables(Reports::report(ratios: [$noise(0.9, 1.1), $noise(1.01, 1.1), $noise(0.0, \INF)])))->noise();

        self::assertNotNull($table);
        self::assertSame(['no', 'yes, by chance', 'cannot tell'], $this->column($table, 'different?'));
    }

    public function testWhatIsMissingIsPutTogetherByWhatItTakes(): void
    {
        $missing = static fn(string $subject, string $what): array => ['subject' => $subject, 'scenario' => 'engines', 'what' => $what, 'advice' => "install $what"];
        $report = Reports::report(missing: [$missing('predis:socket', 'predis'), $missing('redis:socket', 'redis'), $missing('predis:tcp', 'predis'), ...\array_map(static fn(int $i): array => $missing("larder:$i", 'predis'), \range(1, 9))]);
        $table = (new Tables($report))->missing();

        self::assertNotNull($table);
        self::assertSame(['Redis by Predis, socket; Redis by Predis, TCP; larder (9 subjects)', 'Redis by phpredis, socket'], $this->column($table, 'what'));
        self::assertSame(['install predis', 'install redis'], $this->column($table, 'how to install it'));
    }

    public function testNothingToSayIsNoTable(): void
    {
        $tables = new Tables(Reports::report());

        self::assertSame([[], null, null, null, null], [$tables->all(), $tables->ratios(), $tables->noise(), $tables->missing(), $tables->disqualified()]);
    }

    public function testTheMachinesMemoryIsReadable(): void
    {
        self::assertContains(['memory', '3.8 GiB'], \array_map(static fn(Row $row): array => $row->cells, (new Tables(Fixture::report()))->machine()->rows));
    }

    public function testWhateverComesInEachCellIsOneLineAndEachTableHasANameOfItsOwn(): void
    {
        $tables = new Tables(Fixture::report(hostile: true));
        $all = \array_filter([...\array_merge(...\array_values($tables->all())), $tables->ratios(), $tables->noise(), $tables->missing(), $tables->disqualified(), $tables->machine()]);
        $names = [];
        foreach ($all as $table) {
            $names[] = $table->id;
            self::assertMatchesRegularExpression('/^[a-z0-9-]+$/D', $table->id);
            foreach ([$table->title, $table->about, ...$this->labels($table), ...\array_merge(...\array_map(static fn(Row $row): array => $row->cells, $table->rows))] as $text) {
                self::assertDoesNotMatchRegularExpression('/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u', $text);
            }
            foreach ($table->rows as $row) {
                self::assertCount(\count($table->columns), $row->cells);
            }
        }

        self::assertSame($names, \array_unique($names));
    }

    /** @return list<string> */
    private function labels(Table $table): array
    {
        return \array_map(static fn(Column $column): string => $column->label, $table->columns);
    }

    /** @return list<string> */
    private function column(Table $table, string $label): array
    {
        $i = \array_search($label, $this->labels($table), true);
        self::assertIsInt($i, "There is no column $label.");

        return \array_map(static fn(Row $row): string => $row->cells[$i], $table->rows);
    }

    /**
     * @param list<Result> $results
     * @param list<Ratio>  $ratios
     */
    private function ofEngines(array $results, array $ratios = []): Table
    {
        return (new Tables(Reports::report($results, ratios: $ratios)))->all()['engines'][0];
    }

    /** @param non-empty-list<float> $samples of one round */
    private static function sampled(string $subject, array $samples, int $concurrency = 1): Result
    {
        return Reports::measured("engines/$subject/short/read/$concurrency", [$samples]);
    }

    /** @param non-empty-list<float> $centers one sample a round */
    private static function rounds(string $subject, array $centers): Result
    {
        return Reports::measured("engines/$subject/short/read/1", $centers);
    }
}
