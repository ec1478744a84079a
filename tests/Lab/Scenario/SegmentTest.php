<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Report\JsonReader;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Result;
use Larder\Lab\Scenario\Segment;
use Larder\Lab\Subject\LarderExtension;
use Larder\Tests\Lab\Support\Tasks;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

final class SegmentTest extends TestCase
{
    private const IN_MEMORY = ['segment:process:none', 'apcu:process:php', 'apcu:process:igbinary', 'lookup:process:none'];
    private const FILES = ['opcache:process:none', 'include:process:none'];
    private const SHARED = ['segment:process:none', 'apcu:process:php', 'apcu:process:igbinary'];

    /** @return iterable<string, array{string}> */
    public static function levels(): iterable
    {
        yield 'every' => [Scope::EVERY];
        yield 'quick' => [Scope::QUICK];
    }

    /** Seen to fail: a payload, an operation, a number of processes or the writer left out. */
    #[DataProvider('levels')]
    public function testEveryValueByEveryOperationIsThereOnceAndNothingElse(string $level): void
    {
        $expected = [];
        foreach ([...self::IN_MEMORY, ...self::FILES, 'larder-segment:process:igbinary'] as $subject) {
            $larder = \str_starts_with($subject, 'larder');
            foreach (['short', '20kB', 'integers', '50x50', 'objects'] as $payload) {
                foreach ($larder ? ['write', 'shuffled'] : ['write', 'shuffled', 'read', ...$payload === '50x50' ? ['walk'] : []] as $operation) {
                    foreach ($larder ? ['', '/1', '/175'] : [''] as $request) {
                        $expected[] = "$subject/$payload/$operation/1$request us";
                    }
                }
            }
            if (!\in_array($subject, self::FILES, true)) {
                foreach ($larder ? ['', '/1', '/175'] : [''] as $request) {
                    $expected[] = "$subject/short/missing/1$request us";
                }
                $expected[] = "$subject/integer/increment/1 us";
            }
            foreach ($larder ? [] : [1, 2, 4] as $processes) {
                $expected[] = "$subject/short/gets/$processes ops/s";
                if (\in_array($subject, self::SHARED, true)) {
                    $expected[] = "$subject/short/gets-written/$processes ops/s";
                }
            }
        }
        $found = \array_map(static fn(Cell $cell): string => \substr($cell->id(), \strlen('segment/')) . " $cell->unit", self::cells($level));

        self::assertEqualsCanonicalizing($expected, $found);
    }

    /** @return iterable<string, array{string}> */
    public static function allLevels(): iterable
    {
        yield from self::levels();
        yield 'part' => [Scope::PART];
    }

    /** Seen to fail: any limit changed. */
    #[DataProvider('allLevels')]
    public function testWhatIsPromisedIsComparedWithItsLimitAndThreeWithThemselves(string $level): void
    {
        $limits = $same = [];
        foreach ((new Segment())->tasks(new Scope($level), self::subjects()) as $task) {
            $pair = $task->pair();
            if ($pair === null || !isset($task->sides()[1])) {
                continue;
            }
            [$of, $to] = $task->sides();
            self::assertSame([$of->cell->payload, $of->cell->operation], [$to->cell->payload, $to->cell->operation]);
            if ($pair->kind === Ratio::NOISE) {
                self::assertSame($of->subject, $to->subject);
                $same[] = $of->subject->engine;
            } else {
                self::assertNotNull($pair->limit);
                $limits[\implode(' ', [$of->subject->name, $to->subject->name, $of->cell->payload, $of->cell->operation])] = $pair->limit;
            }
        }

        self::assertSame(['segment', 'segment', 'apcu'], $same);
        self::assertSame([
            'segment:process:none apcu:process:php 50x50 read' => 0.001,
            'segment:process:none include:process:none 50x50 read' => 1.0,
            'segment:process:none apcu:process:php short read' => 0.5,
            'segment:process:none apcu:process:php 50x50 write' => 1.0,
            'segment:process:none apcu:process:php short write' => 1.0,
        ], $limits);
    }

    public function testWithoutTheExtensionTheOthersAreMeasuredAndNoPairIsLeft(): void
    {
        $others = \array_values(\array_filter(self::subjects(), static fn(Subject $subject): bool => $subject->engine === 'apcu'));
        $pairs = \array_values(\array_filter((new Segment())->tasks(new Scope(Scope::EVERY), $others), static fn($task): bool => $task->pair() !== null));

        self::assertCount(2, $pairs, 'only APCu with itself, in one process and in two');
        self::assertSame([Ratio::NOISE, Ratio::NOISE], \array_map(static fn($task): ?string => $task->pair()?->kind, $pairs));
    }

    /**
     * A request copies what it reads from a segment once it has read more than its share of it in place, and what is
     * timed then is another thing. A copy takes memory, and what is read in place none.
     *
     * Seen to fail: 400 keys of the array in Keys::SHUFFLED.
     */
    public function testWhatATaskReadsIsReadInPlaceToItsEnd(): void
    {
        if (LarderExtension::version() === null) {
            self::markTestSkipped('The extension is not built for this PHP: make ext');
        }
        $directory = new TemporaryDirectory('larder-l', \is_dir('/dev/shm') ? '/dev/shm' : null);
        foreach (['20kB', 'integers', '50x50'] as $payload) {
            $child = Process::snippet(
                '
                use Larder\Lab\Payload\MemoryPayloads;
                use Larder\Lab\Subject\SegmentDriver;
                use Larder\Lab\Worker\Bench;
                use Larder\Lab\Worker\Keys;
                use Larder\Lab\Worker\Values;
                [, $shared, $payload] = $argv;
                $value = MemoryPayloads::get($payload);
                // As the worker does it: all that reads one kind of value in one process, before it is written.
                foreach (["shuffled", "read", ...$payload === "50x50" ? ["walk"] : []] as $side => $operation) {
                    $keys = Keys::inMemory($operation, $payload, "lab:$side:0:", "lab:$side:", 350, PHP_INT_MAX, new Random\Randomizer());
                    $bench = new Bench(new SegmentDriver(["shared" => $shared]), $operation, new Values($value), $keys, true, 1);
                    $bench->prepare();
                    for ($i = 0; $i < 5; ++$i) {
                        $bench->sample();
                    }
                    $bench->finish();
                }
                // Nothing has been read of this yet.
                $segment = Larder\Segment::open("$shared/segment");
                $segment->set("last", $value);
                unset($value, $bench);
                $before = memory_get_usage();
                $got = $segment->get("last");
                echo memory_get_usage() - $before < 1000 ? "in place" : "copied", " ", $segment->stats()["evictions"], "\n";',
                [$directory->file($payload), $payload],
                LarderExtension::ini() + ['memory_limit' => '1G'],
            );
            self::assertSame('in place 0', $child->line(), $payload . $child->errors());
        }
    }

    /** The real thing, by the command: every subject that is here, in processes of its own. */
    #[Group('long')]
    public function testTheReportHoldsThemAllAndNothingIsLeftInSharedMemory(): void
    {
        $directory = new TemporaryDirectory('lab');
        $file = $directory->file('report.json');
        $bench = Process::php(__DIR__ . '/../../../bin/larder', ['bench', 'segment', '--quick', '--rounds=1', "--json=$file"], [], ['XDG_CACHE_HOME' => $directory->path]);
        self::assertSame(0, $bench->wait(300), $bench->errors());
        $report = (new JsonReader())->read($file);

        self::assertSame([], $report->disqualified);
        $there = \array_filter(self::subjects(), static fn(Subject $subject): bool => $subject->missing() === []);
        $cells = Tasks::cells((new Segment())->tasks(new Scope(Scope::QUICK), \array_values($there)));
        $planned = \array_map(static fn(Cell $cell): string => $cell->id(), $cells);
        self::assertEqualsCanonicalizing($planned, \array_map(static fn(Result $result): string => $result->cell->id(), $report->results));
        foreach (self::subjects() as $subject) {
            self::assertSame($subject->missing() !== [], \in_array($subject->name, \array_column($report->missing, 'subject'), true));
        }
        foreach ($report->results as $result) {
            if ($result->cell->moreIsBetter()) {
                self::assertEqualsWithDelta($result->summary->median, $result->perSecond, 0.001 * $result->summary->median);
            }
        }
        self::assertSame([], \glob("/dev/shm/larder-lab-$bench->pid-*"));
        self::assertMatchesRegularExpression('/1, 2 and 4 processes together on \d+ cores/', \implode(' ', $report->notes));
    }

    /** @return list<Cell> */
    private static function cells(string $level): array
    {
        return Tasks::cells((new Segment())->tasks(new Scope($level), self::subjects()));
    }

    /** @return list<Subject> whatever this machine has */
    private static function subjects(): array
    {
        return (new Segment())->subjects();
    }
}
