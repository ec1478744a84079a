<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

/** APCu over SQLite, by one word. */
trait OnApcuOverSqlite
{
    use InDirectory;

    /** @return array<string, string> */
    protected function options(): array
    {
        return ['dsn' => 'sqlite://' . $this->path() . '/cache?near=apcu&timeout=5'];
    }
}
