<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Worker;

use Larder\Lab\Plan\Pair;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Service\Services;
use Larder\Lab\Subject\ApcuDriver;
use Larder\Lab\Subject\FilesDriver;
use Larder\Lab\Subject\LookupDriver;
use Larder\Lab\Subject\SlowedDriver;
use Larder\Lab\Worker\Crew;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\Measurable;
use Larder\Lab\Worker\MemoryBench;
use Larder\Lab\Worker\ProcessTask;
use Larder\Lab\Worker\Worker;
use Larder\Tests\Lab\Support\FaultyDriver;
use Larder\Tests\Lab\Support\FaultyMemory;
use Larder\Tests\Lab\Support\Tasks;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Test;
use PHPUnit\Framework\TestCase;

#[CoversClass(ProcessTask::class)]
#[CoversClass(Worker::class)]
#[CoversClass(Crew::class)]
final class ProcessTaskTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('lab');
    }

    #[Test]
    public function eachCellIsMeasured(): void
    {
        [$write, $read] = $this->perform(Tasks::task(Tasks::subject('files:x', FilesDriver::class, ['serializer' => 'php'])));

        foreach ([$write, $read] as $one) {
            self::assertNull($one->wrong);
            self::assertGreaterThanOrEqual(3, \count($one->samples));
            self::assertGreaterThan(0.0, \min($one->samples));
            self::assertGreaterThan(0.0, $one->perSecond);
        }
    }

    #[Test]
    public function tenAtOnceShareApcuAndGiveASampleEach(): void
    {
        $subject = Tasks::subject('apcu:x', ApcuDriver::class, ['serializer' => 'php'], null, ['apc.enable_cli' => 1, 'apc.serializer' => 'php']);
        foreach ($this->perform(Tasks::task($subject, ['write', 'read'], 10)) as $one) {
            self::assertNull($one->wrong);
            self::assertCount(10, $one->samples);
        }
    }

    /**
     * All read the same keys, and a writer beside them is none of those that are counted. Seen to fail: a Crew that counts
     * the one beside too.
     */
    #[Test]
    public function getsASecondAreThoseOfTheReadersTogether(): void
    {
        $subject = Tasks::subject('apcu:x', ApcuDriver::class, ['serializer' => 'php', 'work' => MemoryBench::NAME], null, ['apc.enable_cli' => 1, 'apc.serializer' => 'php']);
        foreach ([1, 2] as $readers) {
            foreach ($this->perform(Tasks::task($subject, ['gets', 'gets-written'], $readers)) as $one) {
                self::assertNull($one->wrong);
                self::assertCount(1, $one->samples);
                self::assertSame($one->perSecond, $one->samples[0]);
            }
        }
        $members = static function (int $members, int $beside): array {
            $found = (new Crew($members, $beside))->work(1, static function (int $side, int $member) use ($members): Measurable {
                return new class ($member < $members) implements Measurable {
                    public function __construct(private readonly bool $counts) {}

                    public function prepare(): ?string
                    {
                        return null;
                    }

                    public function sample(): float
                    {
                        return 1.0;
                    }

                    public function average(): float
                    {
                        return $this->counts ? 2.0 : 1_000.0;
                    }

                    public function rate(): float
                    {
                        return $this->counts ? 10.0 : 1_000.0;
                    }

                    public function close(): void {}
                };
            }, new Effort(1, 1.0, 1.0));

            return $found;
        };
        self::assertEquals([['samples' => [2.0, 2.0], 'perSecond' => 20.0]], $members(2, 1));
        self::assertEquals([['samples' => [2.0], 'perSecond' => 10.0]], $members(1, 0));
    }

    /** Seen to fail: Worker's WRITERS without one. */
    #[Test]
    public function besideReadersOneWritesManyValues(): void
    {
        foreach (['gets' => false, 'gets-written' => true] as $operation => $writes) {
            $subject = Tasks::subject("memory:$operation", FaultyMemory::class, ['fault' => 'tells', 'work' => MemoryBench::NAME]);
            self::assertNull($this->perform(Tasks::task($subject, [$operation], 2))[0]->wrong);
            $written = \array_map(\intval(...), \file($this->directory->file("memory-$operation/written")) ?: []);

            // All write one, that which proves that they take a new value.
            self::assertSame($writes, \max($written) > 1);
            self::assertSame($writes ? 3 : 2, \count(\array_keys($written, 1, true)));
        }
    }

    /** Seen to fail: a Crew that does not look at what the one beside says. */
    #[Test]
    public function aWriterThatFailsIsToldAndNothingIsCounted(): void
    {
        $subject = Tasks::subject('files:x', LookupDriver::class, ['work' => MemoryBench::NAME]);
        $found = (new Crew(1, 1))->work(1, static fn(int $side, int $member): Measurable => new MemoryBench(new FaultyMemory(['fault' => $member === 1 ? 'forgets one' : '']), 'gets', 'short', 'value', "own$member:", 'all:', 1), new Effort(1, 1.0, 1.0));

        self::assertStringContainsString('null came back', (string) ($found[0]['wrong'] ?? ''));
        self::assertArrayNotHasKey('perSecond', $found[0]);
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

    #[Test]
    #[DataProvider('faults')]
    public function aWrongValueIsNotTimed(string $fault, int $processes, string $says): void
    {
        $found = $this->perform(Tasks::task(Tasks::subject('faulty:x', FaultyDriver::class, ['fault' => $fault]), ['read'], $processes));

        self::assertSame([], $found[0]->samples);
        self::assertNull($found[0]->perSecond);
        self::assertStringContainsString($says, (string) $found[0]->wrong);
    }

    #[Test]
    public function aProcessThatDiesIsSaidToHave(): void
    {
        $this->expectException(\RuntimeException::class);
        $this->expectExceptionMessageMatches('/measuring process ended with status 3/');

        $this->perform(Tasks::task(Tasks::subject('faulty:x', FaultyDriver::class, ['fault' => 'exits'])));
    }

    #[Test]
    public function anOperationThatDoesNotExistIsNoFigure(): void
    {
        $found = $this->perform(Tasks::task(Tasks::subject('files:x', FilesDriver::class, ['serializer' => 'php']), ['dance']));

        self::assertStringContainsString('dance', (string) $found[0]->wrong);
    }

    #[Test]
    public function aSideThatDoesTwiceTheWorkTakesLonger(): void
    {
        $slow = Tasks::subject('slow:x', SlowedDriver::class, ['slowed' => LookupDriver::class, 'percent' => 300]);
        $found = $this->perform(Tasks::pair($slow, Tasks::subject('lookup:x', LookupDriver::class), new Pair('slowed')));

        self::assertCount(\count($found[0]->samples), $found[1]->samples);
        // Four times the work by a loop that looks at the clock: no noise makes it less than the work itself.
        self::assertGreaterThan(\min($found[1]->samples), \min($found[0]->samples));
    }

    /** @return list<Measured> */
    private function perform(ProcessTask $task): array
    {
        return $task->perform(new Context(new Services(), $this->directory->path, 1));
    }
}
