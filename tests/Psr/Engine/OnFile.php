<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

use Larder\Cache;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\After;

/** Files in a directory. */
trait OnFile
{
    private ?TemporaryDirectory $directory = null;

    protected function cache(): Cache
    {
        return Cache::open($this->options());
    }

    /** @return array<string, string> */
    protected function options(): array
    {
        $this->directory ??= new TemporaryDirectory();

        return ['dsn' => 'file://' . $this->directory->path . '/cache'];
    }

    protected function reachable(): bool
    {
        return true;
    }

    #[After]
    protected function removeDirectory(): void
    {
        $this->directory = null;
    }
}
