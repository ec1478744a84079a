<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

/** SQLite alone, with a view that begins with its first read. */
trait OnLazySqlite
{
    use OnEmbedded {
        options as private embedded;
    }

    /** @return array<string, string> */
    protected function options(): array
    {
        return $this->embedded() + ['near' => 'none', 'lazy' => '1'];
    }
}
