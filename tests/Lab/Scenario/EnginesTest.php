<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Report\JsonReader;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Scenario\Engines;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\Test;
use PHPUnit\Framework\TestCase;

#[CoversClass(Engines::class)]
final class EnginesTest extends TestCase
{
    private const SERVERS = ['redis', 'predis', 'memcached', 'memcached_nocompression'];

    /** @return iterable<string, array{string}> */
    public static function levels(): iterable
    {
        yield 'every' => [Scope::EVERY];
        yield 'quick' => [Scope::QUICK];
    }

    #[Test]
    #[DataProvider('levels')]
    public function theCombinationsOfThePublishedTablesAreThereOnceEach(string $level): void
    {
        $counts = \array_count_values(\array_map(self::combination(...), self::cells($level)));
        $published = self::published($level);

        self::assertSame([], \array_values(\array_diff($published, \array_keys($counts))), 'missing');
        self::assertSame([], \array_keys(\array_filter($counts, static fn(int $count): bool => $count > 1)), 'more than once');
        // 4 engines by 3 ways, and APCu; 3 payloads, 3 serializers (quick: on the array only), 2 operations, 1 and 10.
        self::assertCount($level === Scope::EVERY ? 468 : 260, $published);
    }

    #[Test]
    public function aPartIsAPart(): void
    {
        $part = \array_map(self::combination(...), self::cells(Scope::PART));

        self::assertNotSame([], $part);
        self::assertSame([], \array_diff($part, \array_map(self::combination(...), self::cells(Scope::EVERY))));
        self::assertLessThan(\count(self::cells(Scope::QUICK)), \count($part));
    }

    #[Test]
    public function whatIsPromisedIsComparedWithItsLimitAndThreeSubjectsWithThemselves(): void
    {
        $limits = $same = [];
        foreach ((new Engines())->tasks(new Scope(Scope::PART), self::subjects()) as $task) {
            $pair = $task->pair();
            if ($pair === null) {
                continue;
            }
            [$of, $to] = $task->sides();
            if ($pair->kind === Ratio::NOISE) {
                self::assertSame($of->subject, $to->subject);
                $same[] = $of->subject->name;
            } else {
                self::assertNotNull($pair->limit);
                $limits[$of->subject->engine . ' ' . $of->cell->payload . ' ' . $of->cell->operation] = $pair->limit;
            }
        }

        self::assertCount(3, $same);
        self::assertSame([
            'larder-request short read' => 1.5,
            'larder-request 50x50 read' => 1.5,
            'larder-apcu short read' => 3.0,
            'larder-apcu 20kB read' => 1.5,
            'larder-apcu 50x50 read' => 1.05,
            'larder-sqlite short read' => 1 / 8,
            'larder-sqlite short write' => 1 / 4,
        ], $limits);
    }

    #[Test]
    public function aSubjectThatIsNotThereIsNotPlanned(): void
    {
        $tasks = (new Engines())->tasks(new Scope(Scope::EVERY), \array_values(\array_filter(self::subjects(), static fn(Subject $subject): bool => $subject->engine === 'files')));

        self::assertCount(6, $tasks, 'three serializers, one and ten at once, and no pair');
    }

    #[Test]
    public function theBaseOfEachCellIsInTheTables(): void
    {
        foreach ([Scope::QUICK, Scope::EVERY] as $level) {
            $ids = \array_map(static fn(Cell $cell): string => $cell->id(), self::cells($level));
            foreach (self::cells($level) as $cell) {
                $base = (new Engines())->base($cell);
                if ($base !== null && ($level === Scope::EVERY || $cell->payload === '50x50' || $cell->serializer === 'php')) {
                    self::assertContains($base, $ids);
                }
            }
        }
    }

    /** The real thing: servers, processes, network. */
    #[Test]
    #[Group('long')]
    public function theReportHoldsThemAll(): void
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
                            foreach ([1, 10] as $concurrency) {
                                $combinations[] = \implode(' ', [$engine, $connection, $payload, $serializer, $operation, $concurrency]);
                            }
                        }
                    }
                }
            }
        }

        return $combinations;
    }

    private static function combination(Cell $cell): string
    {
        return \implode(' ', [$cell->engine, $cell->connection, $cell->payload, $cell->serializer, $cell->operation, $cell->concurrency]);
    }

    /** @return list<Cell> */
    private static function cells(string $level): array
    {
        $cells = [];
        foreach ((new Engines())->tasks(new Scope($level), self::subjects()) as $task) {
            if ($task->pair() === null) {
                foreach ($task->sides() as $side) {
                    $cells[] = $side->cell;
                }
            }
        }

        return $cells;
    }

    /** @return list<Subject> whatever this machine has */
    private static function subjects(): array
    {
        return (new Engines())->subjects();
    }
}
