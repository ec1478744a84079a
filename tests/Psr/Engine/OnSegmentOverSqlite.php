<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

use Larder\Cache;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\Attributes\Before;

/** The extension's segment over SQLite. */
trait OnSegmentOverSqlite
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

        return [
            'dsn' => 'sqlite://' . $this->directory->path . '/cache',
            'near' => 'segment://' . $this->directory->path . '/near/segment?bytes=4M',
        ];
    }

    protected function reachable(): bool
    {
        return true;
    }

    #[Before]
    protected function needTheExtension(): void
    {
        if (!\extension_loaded('larder')) {
            self::markTestSkipped('The extension is not loaded: type make ext, then make test.');
        }
    }

    #[After]
    protected function removeDirectory(): void
    {
        $this->directory = null;
    }
}
