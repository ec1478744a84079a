<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Run;

use Larder\Lab\Run\NotWritable;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

final class NotWritableTest extends TestCase
{
    // Seen to fail: a pipe, and a device such as /dev/stdout, became a file; so did a link.
    public function testAPipeStaysAPipeAndALinkALink(): void
    {
        $directory = new TemporaryDirectory();
        $pipe = $directory->file('pipe');
        self::assertTrue(\posix_mkfifo($pipe, 0o600));
        $reader = \proc_open(['cat', $pipe], [1 => ['pipe', 'w']], $pipes);
        self::assertIsResource($reader);
        NotWritable::check($pipe);
        NotWritable::write($pipe, 'into the pipe');
        self::assertSame('into the pipe', \stream_get_contents($pipes[1]));
        \proc_close($reader);
        self::assertSame('fifo', \filetype($pipe));

        $file = $directory->write('file', 'old');
        $link = $directory->file('link');
        self::assertTrue(\symlink($file, $link));
        NotWritable::check($link);
        NotWritable::write($link, 'new');
        self::assertSame([true, 'new'], [\is_link($link), \file_get_contents($file)]);
    }
}
