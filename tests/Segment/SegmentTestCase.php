<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

/** A test with a directory in shared memory, and the path of a segment there that nobody has made yet. */
abstract class SegmentTestCase extends TestCase
{
    protected TemporaryDirectory $directory;
    protected string $path;

    protected function setUp(): void
    {
        Extension::path();
        $this->directory = Extension::directory();
        $this->path = $this->directory->file('segment');
    }
}
