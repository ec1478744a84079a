<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

use PHPUnit\Framework\Attributes\Before;

/** The extension's segment over SQLite. */
trait OnSegmentOverSqlite
{
    use InDirectory;

    /** @return array<string, string> */
    protected function options(): array
    {
        return ['dsn' => 'sqlite://' . $this->path() . '/cache', 'timeout' => 5, 'near' => 'segment://' . $this->path() . '/near/segment?bytes=4M'];
    }

    #[Before]
    protected function needTheExtension(): void
    {
        if (!\extension_loaded('larder')) {
            self::markTestSkipped('The extension is not loaded: type make ext, then make test.');
        }
    }
}
