<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Scenario;

use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Scenario\Segment;
use Larder\Lab\Subject\LarderExtension;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

final class SegmentTest extends TestCase
{
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
                use Larder\Lab\Payload\Payloads;
                use Larder\Lab\Subject\SegmentDriver;
                use Larder\Lab\Worker\Bench;
                use Larder\Lab\Worker\Keys;
                use Larder\Lab\Worker\Values;
                [, $shared, $payload] = $argv;
                $value = Payloads::get($payload);
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

    /** @return list<Subject> whatever this machine has */
    private static function subjects(): array
    {
        return (new Segment())->subjects();
    }
}
