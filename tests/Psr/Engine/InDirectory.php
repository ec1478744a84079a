<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

use Larder\Cache;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\After;

/** What the engines in a directory share: one directory for each test. */
trait InDirectory
{
    private ?TemporaryDirectory $directory = null;

    protected function cache(): Cache
    {
        return Cache::open($this->options());
    }

    protected function reachable(): bool
    {
        return true;
    }

    private function path(): string
    {
        return ($this->directory ??= new TemporaryDirectory())->path;
    }

    #[After]
    protected function removeDirectory(): void
    {
        $this->directory = null;
    }
}
