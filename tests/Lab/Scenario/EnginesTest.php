<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Plan\Task;
use Larder\Lab\Report\JsonReader;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Scenario\Engines;
use Larder\Lab\Service\Cores;
use Larder\Tests\Lab\Support\Tasks;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

final class EnginesTest extends TestCase
{
    private const SERVERS = ['redis', 'predis', 'memcached', 'memcached_nocompression'];

    /** @return iterable<string, array{string}> */
    public static function levels(): iterable
    {
        yield 'every' => [Scope::EVERY];
        yield 'quick' => [Scope::QUICK];
    }

    #[DataProvider('levels')]
    public function testTheCombinationsOfThePublishedTablesAreThereOnceEach(string $level): void
    {
        $counts = \array_count_values(\array_map(self::combination(...), self::cells($level)));
        $published = self::published($level);

        self::assertSame([], \array_values(\array_diff($published, \array_keys($counts))), 'missing');
        self::assertSame([], \array_keys(\array_filter($counts, static fn(int $count): bool => $count > 1)), 'more than once');
        // 4 engines by 3 ways, and APCu; 3 payloads, 3 serializers (quick: on the array only), 2 operations; by one with the
        // server on the same core and on another (over the network only there), and by 10.
        self::assertCount($level === Scope::EVERY ? 612 : 340, $published);
    }

    /** As they come they take strings. Seen to fail: without the subjects; with the array. */
    #[DataProvider('levels')]
    public function testPhpredisAndPredisAreAlsoMeasuredWithoutASerializer(string $level): void
    {
        $payloads = [];
        foreach (self::cells($level) as $cell) {
            if ($cell->serializer === 'none' && $cell->connection !== Cell::PROCESS) {
                $payloads[$cell->engine][$cell->connection][$cell->payload] = true;
            }
        }

        $strings = ['short' => true, '20kB' => true];
        $ways = ['socket' => $strings, 'tcp' => $strings, 'network' => $strings];
        self::assertSame(['redis' => $ways, 'predis' => $ways], $payloads);
    }

    /** Seen to fail: the other engines' requests of 1 and 175 too; only the usual ones of Larder. */
    #[DataProvider('levels')]
    public function testARequestOfLardersHas1And10And175KeysAndOfTheOthers10(string $level): void
    {
        $requests = [];
        foreach (self::cells($level) as $cell) {
            // A request tier has no new request.
            $larder = \str_starts_with($cell->engine, 'larder-') && $cell->engine !== 'larder-request';
            $requests[$larder && $cell->concurrency === 1 ? 'larder' : 'others'][$cell->request] = true;
        }

        self::assertEquals(['larder' => [1 => true, 10 => true, 175 => true], 'others' => [10 => true]], $requests);
    }

    /** Seen to fail: placements where no process is held. */
    public function testWhereNothingIsHeldNoPlacementIsClaimedAndNothingIsPromisedOfOne(): void
    {
        foreach ((new Engines(new Cores([])))->tasks(new Scope(Scope::EVERY), self::subjects()) as $task) {
            foreach ($task->sides() as $side) {
                self::assertSame(Cell::ANYWHERE, $side->cell->placement);
            }
            if ($task->pair() !== null && $task->sides()[\count($task->sides()) - 1]->subject->service !== null) {
                self::assertNull($task->pair()->limit);
            }
        }
    }

    /** Seen to fail: as sides of one task. */
    public function testSomeAreMeasuredAgainInAProcessOfTheirOwn(): void
    {
        $again = [];
        foreach (self::tasks(Scope::PART) as $task) {
            if ($task->pair() !== null && \count($task->sides()) === 1) {
                self::assertSame(Ratio::NOISE, $task->pair()->kind);
                $again[] = $task->sides()[0]->cell->id();
            }
        }
        self::assertSame([], \array_diff($again, \array_map(static fn(Cell $cell): string => $cell->id(), self::cells(Scope::PART))), 'not in the tables');
        self::assertContains('engines/apcu:process:php/short/read/1', $again);
        self::assertContains('engines/redis:socket:php/short/read/1/other', $again);
    }

    public function testWhatIsPromisedIsComparedWithItsLimitAndThreeSubjectsWithThemselves(): void
    {
        $limits = $same = [];
        foreach (self::tasks(Scope::PART) as $task) {
            $pair = $task->pair();
            if ($pair === null || !isset($task->sides()[1])) {
                continue;
            }
            [$of, $to] = $task->sides();
            if ($pair->kind === Ratio::NOISE) {
                self::assertSame($of->subject, $to->subject);
                $same[] = $of->subject->name;
            } else {
                self::assertNotNull($pair->limit);
                self::assertSame([175, 175], [$of->cell->request, $to->cell->request]);
                $limits[\rtrim(\implode(' ', [$of->subject->engine, $of->cell->payload, $of->cell->operation, $to->cell->placement]))] = $pair->limit;
            }
        }

        self::assertCount(3, $same);
        self::assertSame([
            'larder-request short read' => 1.5,
            'larder-request 50x50 read' => 1.5,
            'larder-apcu short read' => 3.0,
            'larder-apcu 20kB read' => 1.5,
            'larder-apcu 50x50 read' => 1.05,
            'larder-sqlite short read other' => 1 / 8,
            'larder-sqlite short read same' => 1.0,
            'larder-sqlite short write other' => 1 / 4,
            'larder-sqlite short write same' => 1.0,
        ], $limits);
    }

    /** The real thing: servers, processes, network. */
    #[Group('long')]
    public function testTheReportHoldsThemAll(): void
    {
        $directory = new TemporaryDirectory('lab');
        $file = $directory->file('report.json');
        $process = Process::php(__DIR__ . '/../../../bin/larder', ['bench', 'engines', '--quick', '--rounds=1', "--json=$file"]);
        self::assertSame(0, $process->wait(600), $process->errors());
        $report = (new JsonReader())->read($file);

        self::assertSame([], $report->disqualified);
        $found = \array_map(static fn($result): string => self::combination($result->cell), $report->results);
        self::assertSame([], \array_values(\array_diff(self::published(Scope::QUICK), $found)));
    }

    /** @return list<string> */
    private static function published(string $level): array
    {
        $combinations = [];
        foreach ([...\array_map(static fn(string $engine): array => [$engine, ['socket', 'tcp', 'network']], self::SERVERS), ['apcu', ['process']]] as [$engine, $connections]) {
            foreach ($connections as $connection) {
                foreach (['short', '20kB', '50x50'] as $payload) {
                    foreach ($level === Scope::QUICK && $payload !== '50x50' ? ['php'] : ['php', 'igbinary', 'msgpack'] as $serializer) {
                        foreach (['write', 'read'] as $operation) {
                            foreach (['process' => ['1'], 'network' => ['1 other']][$connection] ?? ['1 same', '1 other'] as $alone) {
                                $combinations[] = \implode(' ', [$engine, $connection, $payload, $serializer, $operation, $alone]);
                            }
                            $combinations[] = \implode(' ', [$engine, $connection, $payload, $serializer, $operation, 10]);
                        }
                    }
                }
            }
        }

        return $combinations;
    }

    private static function combination(Cell $cell): string
    {
        return \trim(\implode(' ', [$cell->engine, $cell->connection, $cell->payload, $cell->serializer, $cell->operation, $cell->concurrency, $cell->placement, $cell->request === 10 ? '' : $cell->request]));
    }

    /** @return list<Cell> */
    private static function cells(string $level): array
    {
        return Tasks::cells(self::tasks($level));
    }

    /** @return list<Task> as a machine with two cores has them */
    private static function tasks(string $level): array
    {
        return (new Engines(new Cores([0, 1])))->tasks(new Scope($level), self::subjects());
    }

    /** @return list<Subject> whatever this machine has */
    private static function subjects(): array
    {
        return (new Engines())->subjects();
    }
}
