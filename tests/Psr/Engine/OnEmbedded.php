<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

/** The embedded default: SQLite in a directory. */
trait OnEmbedded
{
    use InDirectory;

    /** @return array<string, string> */
    protected function options(): array
    {
        return ['dsn' => 'sqlite://' . $this->path() . '/cache?timeout=5'];
    }
}
