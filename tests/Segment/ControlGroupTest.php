<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

use Larder\Tests\Support\ControlGroup;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** A container with less memory than the segment may have: there the kernel kills a process where a full file system would refuse. */
#[RequiresPhpExtension('larder')]
#[Group('slow')]
final class ControlGroupTest extends TestCase
{
    private const MIB = 1 << 20;

    private string $directory;

    protected function setUp(): void
    {
        // In memory, whose use counts; TemporaryDirectory's may be on a disk.
        $this->directory = '/dev/shm/larder-group-' . \getmypid() . '-' . \bin2hex(\random_bytes(3));
        \mkdir($this->directory, 0o700);
    }

    protected function tearDown(): void
    {
        TemporaryDirectory::clear($this->directory);
    }

    // Seen to fail: seg_group_room() that gives UINT64_MAX (all four are killed).
    public function testNoneIsKilledWhereTheSegmentCouldTakeAllOfIt(): void
    {
        $group = new ControlGroup(96 * self::MIB);
        $writers = [];
        for ($i = 0; $i < 4; $i++) {
            $writers[] = $this->php($group, "for (\$n = 0; \$n < 2000; \$n++) { \$segment->set(\"$i \$n\", random_bytes(40_000)); } echo \$segment->check() ?? \$segment->stats()['bytes_taken'];");
        }
        foreach ($writers as $i => $writer) {
            $taken = $writer->output();
            self::assertSame([0, ''], [$writer->wait(), $writer->errors()]);
            self::assertGreaterThan(8 * self::MIB, (int) $taken, 'what there is is used');
            self::assertLessThan(48 * self::MIB, (int) $taken, "writer $i");
        }
    }

    // Seen to fail: a segment that does not shrink for its group (the bytes taken stay).
    public function testWhereAnotherProgramTakesTheMemoryItShrinksAndOnlyThatProgramIsKilled(): void
    {
        $group = new ControlGroup(128 * self::MIB);
        $writer = $this->php($group, <<<'PHP'
            for ($n = 0; $n < 2000; $n++) {
                $segment->set("k$n", random_bytes(40_000));
            }
            echo $segment->stats()['bytes_taken'], "\n";
            $least = PHP_INT_MAX;
            for ($end = hrtime(true) + 60_000_000_000; !file_exists("$directory/end") && hrtime(true) < $end; $n++) {
                $segment->set("k$n", random_bytes(40_000));
                $least = min($least, $segment->stats()['bytes_taken']);
                usleep(1000);
            }
            echo $least, "\n", $segment->check() ?? ($segment->get('k' . ($n - 1)) === null ? 'gone' : 'there'), "\n";
            PHP);
        $before = (int) $writer->line();
        self::assertGreaterThan(20 * self::MIB, $before);
        // Slowly, so that there is time to give back what it needs.
        $hog = $this->php($group, 'for ($i = 0; $i < 400; $i++) { $all[] = random_bytes(1 << 20); usleep(40_000); }', 'echo 1000 > /proc/self/oom_score_adj');
        self::assertSame(128 + \SIGKILL, $hog->wait());
        \touch("$this->directory/end");
        self::assertLessThan($before / 2, (int) $writer->line());
        self::assertSame('there', $writer->line());
        self::assertSame([0, ''], [$writer->wait(), $writer->errors()]);
    }

    private function php(ControlGroup $group, string $code, string $before = ':'): Process
    {
        $code = \sprintf('$directory = %s; $segment = Larder\Segment::open("$directory/segment", 256 << 20); ', \var_export($this->directory, true)) . $code;

        return new Process($group->command([\PHP_BINARY, '-d', 'display_errors=stderr', '-d', 'memory_limit=-1', '-r', $code], $before));
    }
}
