<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Worker;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Side;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Service\Services;
use Larder\Lab\Subject\ApcuDriver;
use Larder\Lab\Subject\FilesDriver;
use Larder\Lab\Subject\LarderDriver;
use Larder\Lab\Subject\LarderExtension;
use Larder\Lab\Subject\LookupDriver;
use Larder\Lab\Subject\SlowedDriver;
use Larder\Lab\Worker\Bench;
use Larder\Lab\Worker\Crew;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\Keys;
use Larder\Lab\Worker\ProcessTask;
use Larder\Lab\Worker\Values;
use Larder\Lab\Worker\Worker;
use Larder\Tests\Lab\Support\FaultyMemory;
use Larder\Tests\Lab\Support\Tasks;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use Random\Randomizer;

#[Group('slow')]
final class ProcessTaskTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('lab');
    }

    public function testEachCellIsMeasured(): void
    {
        [$write, $read] = $this->perform(Tasks::task(Tasks::subject('files:x', FilesDriver::class, ['serializer' => 'php'])));

        foreach ([$write, $read] as $one) {
            self::assertNull($one->wrong);
            self::assertGreaterThanOrEqual(3, \count($one->samples));
            self::assertGreaterThan(0.0, \min([\INF, ...$one->samples]));
            self::assertGreaterThan(0.0, $one->perSecond);
        }
    }

    /**
     * Another user may work for the other scenario, and could not use this one's. Seen to fail: directories with the subject's
     * name alone.
     */
    public function testASubjectHasDirectoriesOfItsOwnInEachScenario(): void
    {
        LarderExtension::need()->met || self::markTestSkipped(LarderExtension::need()->advice);
        $services = new Services();
        $subject = Tasks::subject('larder:x', LarderDriver::class, ['scheme' => 'sqlite', 'shared' => 1], null, LarderExtension::ini());
        foreach (['loop', 'engines'] as $scenario) {
            [$one] = (new ProcessTask('id', [Side::of($scenario, $subject, 'short', 'read')], Effort::quick()))->perform(new Context($services, $this->directory->path, 1));
            self::assertNull($one->wrong);
            self::assertDirectoryExists($this->directory->file("$scenario-larder-x"));
            self::assertFileExists($services->memory()->file("$scenario-larder-x/segment"));
        }
        self::assertDirectoryDoesNotExist($services->memory()->file('larder-x'));
    }

    /** A side that goes on without a part of it is out, and the one beside it is not. Seen to fail: a failure that ends the process. */
    public function testASideWithoutItsNearTierIsOut(): void
    {
        $lacking = Tasks::subject('larder:x', LarderDriver::class, ['scheme' => 'sqlite', 'near' => 'apcu'], null, ['apc.enable_cli' => 0]);
        $found = $this->perform(Tasks::pair($lacking, Tasks::subject('lookup:x', LookupDriver::class), new Pair('lacking')));

        self::assertStringContainsString('Larder does not use apcu as its near tier', (string) $found[0]->wrong);
        self::assertNull($found[1]->wrong);
    }

    /** Seen to fail: samples of as many operations as a subject's speed asks for. */
    public function testEverySampleOfEverySubjectHasTheSameNumberOfOperations(): void
    {
        foreach ([['lookup:x', LookupDriver::class], ['files:x', FilesDriver::class]] as [$name, $driver]) {
            foreach ($this->perform(Tasks::task(Tasks::subject($name, $driver, ['serializer' => 'php']))) as $one) {
                self::assertSame(Effort::OPERATIONS, $one->operations);
                self::assertSame(Effort::OPERATIONS * \count($one->samples), $one->spent[0] ?? 0);
            }
        }
        foreach ([1, Cell::REQUEST, 175] as $request) {
            self::assertSame(0, Effort::OPERATIONS % $request);
        }
    }

    /** What is reported is what ended between a common start and a common end. Seen to fail: samples that leave out what is done between calls. */
    public function testTenAtOnceShareApcuAndOneWindow(): void
    {
        $subject = Tasks::subject('apcu:x', ApcuDriver::class, ['serializer' => 'php'], null, ['apc.enable_cli' => 1, 'apc.serializer' => 'php']);
        foreach ($this->perform(Tasks::task($subject, ['write', 'read'], 10)) as $one) {
            self::assertNull($one->wrong);
            self::assertCount(1, $one->samples);
            self::assertEqualsWithDelta(10e6 / $one->samples[0], $one->perSecond, 1e-3 * (float) $one->perSecond);
            self::assertNull($one->operations, 'no two windows have the same number');
            [$operations, $seconds, $processor] = $one->spent ?? [0, 0.0, 0.0];
            self::assertGreaterThanOrEqual(Effort::quick()->window / 1e3, $seconds);
            self::assertLessThanOrEqual($operations, (float) $one->perSecond * Effort::quick()->window / 1e3);
            self::assertGreaterThan(0.0, $processor);
        }
    }

    /**
     * Ten that each wait a millisecond between their requests of ten keys: 100,000 a second at the most, whatever a call takes.
     * Seen to fail: the sum of each process's operations over the time inside its calls.
     */
    public function testASecondIsOneOfTheClock(): void
    {
        $keys = Keys::inOrder('own:', 350, 35, 10);
        $found = (new Crew(10, 0, 100.0))->work(static function () use ($keys): Bench {
            $driver = new FaultyMemory();
            $driver->cost = 1_000_000;

            return new Bench($driver, 'read', new Values('value 00000042'), $keys, false, 1);
        });

        self::assertGreaterThan(0.0, $found['perSecond'] ?? 0.0);
        self::assertLessThanOrEqual(100_000.0, $found['perSecond'] ?? \INF);
    }

    /**
     * All read the same keys, and a writer beside them is none of those that are counted. Seen to fail: a Crew that counts
     * the one beside too.
     */
    public function testGetsASecondAreThoseOfTheReadersTogether(): void
    {
        $subject = Tasks::subject('apcu:x', ApcuDriver::class, ['serializer' => 'php', 'work' => Keys::MEMORY], null, ['apc.enable_cli' => 1, 'apc.serializer' => 'php']);
        foreach ([1, 2] as $readers) {
            foreach ($this->perform(Tasks::task($subject, ['gets', 'gets-written'], $readers)) as $one) {
                self::assertNull($one->wrong);
                self::assertSame([$one->perSecond], $one->samples);
            }
        }
        // The reader's request outlasts the first window; the one beside does not count in either.
        $crew = static fn(int $cost): array => (new Crew(1, 1, 10.0))->work(static function (int $member) use ($cost): Bench {
            $driver = new FaultyMemory();
            $driver->cost = $member === 0 ? $cost : 0;

            return new Bench($driver, 'read', new Values('value 00000042'), Keys::inOrder('own:', 350, 350, 10), false, 1);
        });
        self::assertGreaterThan(0.0, $crew(30_000_000)['perSecond'] ?? 0.0);
        self::assertLessThan(334.0, $crew(30_000_000)['perSecond'] ?? \INF);
        self::assertSame(['wrong' => 'no request had ended after 1000 ms'], $crew(1_100_000_000));
    }

    /** Seen to fail: Worker's WRITERS without one. */
    public function testBesideReadersOneWritesManyValues(): void
    {
        foreach (['gets' => false, 'gets-written' => true] as $operation => $writes) {
            $subject = Tasks::subject("memory:$operation", FaultyMemory::class, ['fault' => 'tells', 'work' => Keys::MEMORY]);
            self::assertNull($this->perform(Tasks::task($subject, [$operation], 2))[0]->wrong);

            // What all of them write at first is written one by one.
            self::assertSame($writes, \is_file($this->directory->file("test-memory-$operation/written")));
        }
    }

    /** Seen to fail: a Crew that does not look at what the one beside says. */
    public function testAWriterThatFailsIsToldAndNothingIsCounted(): void
    {
        $subject = Tasks::subject('files:x', LookupDriver::class, ['work' => Keys::MEMORY]);
        $found = (new Crew(1, 1, 1.0))->work(static fn(int $member): Bench => new Bench(
            new FaultyMemory(['fault' => $member === 1 ? 'forgets one' : '']),
            'gets',
            new Values('value 00000042'),
            Keys::inMemory('gets', 'short', "own$member:", 'all:', 350, \PHP_INT_MAX, new Randomizer()),
            true,
            1,
        ));

        self::assertStringContainsString('null came back', $found['wrong'] ?? '');
        self::assertArrayNotHasKey('perSecond', $found);
        self::assertNull($this->perform(Tasks::task($subject, ['gets'], 2))[0]->wrong);
    }

    /** @return iterable<string, array{string, int, string}> */
    public static function faults(): iterable
    {
        foreach ([1, 3] as $processes) {
            yield "forgets, $processes" => ['forgets', $processes, 'a string of 14 bytes'];
            yield "alters, $processes" => ['alters', $processes, 'a string of 15 bytes'];
            yield "keeps the first, $processes" => ['keeps the first', $processes, 'came back'];
            yield "throws, $processes" => ['throws', $processes, 'The engine is gone'];
        }
    }

    #[DataProvider('faults')]
    public function testAWrongValueIsNotTimed(string $fault, int $processes, string $says): void
    {
        $found = $this->perform(Tasks::task(Tasks::subject('faulty:x', FaultyMemory::class, ['fault' => $fault]), ['read'], $processes));

        self::assertSame([], $found[0]->samples);
        self::assertNull($found[0]->perSecond);
        self::assertStringContainsString($says, (string) $found[0]->wrong);
    }

    public function testAProcessThatDiesIsSaidToHave(): void
    {
        $this->expectException(\RuntimeException::class);
        $this->expectExceptionMessageMatches('/measuring process ended with status 3/');

        $this->perform(Tasks::task(Tasks::subject('faulty:x', FaultyMemory::class, ['fault' => 'exits'])));
    }

    public function testAnOperationThatDoesNotExistIsNoFigure(): void
    {
        $found = $this->perform(Tasks::task(Tasks::subject('files:x', FilesDriver::class, ['serializer' => 'php']), ['dance']));

        self::assertStringContainsString('dance', (string) $found[0]->wrong);
    }

    public function testASideThatDoesTwiceTheWorkTakesLonger(): void
    {
        $slow = Tasks::subject('slow:x', SlowedDriver::class, ['slowed' => LookupDriver::class, 'percent' => 300]);
        $found = $this->perform(Tasks::pair($slow, Tasks::subject('lookup:x', LookupDriver::class), new Pair('slowed')));

        self::assertCount(\count($found[0]->samples), $found[1]->samples);
        // Four times the work by a loop that looks at the clock: no noise makes it less than the work itself.
        self::assertGreaterThan(\min([\INF, ...$found[1]->samples]), \min([\INF, ...$found[0]->samples]));
    }

    /** @return list<Measured> */
    private function perform(ProcessTask $task): array
    {
        return $task->perform(new Context(new Services(), $this->directory->path, 1));
    }
}
