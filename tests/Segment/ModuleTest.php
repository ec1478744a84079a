<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

use Larder\Tests\Support\Process;
use PHPUnit\Framework\TestCase;

/** The module as PHP loads it. */
final class ModuleTest extends TestCase
{
    // Seen to fail: without -fvisibility=hidden (a hundred of seg_… and larder_…, which another module's could replace).
    public function testItGivesPhpWhatPhpAsksForAndNothingElse(): void
    {
        $module = Extension::path();
        $process = new Process(['nm', '-D', '--defined-only', $module]);
        if ($process->wait() !== 0) {
            self::markTestSkipped('Needs nm: ' . $process->errors());
        }
        \preg_match_all('/^\S+ \S (\S+)$/m', $process->output(), $found);
        // The linker's own, of the tests' points.
        self::assertSame(['get_module'], \array_values(\array_diff($found[1], ['__start_seg_points', '__stop_seg_points'])));
    }
}
