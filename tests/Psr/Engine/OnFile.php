<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

/** Files in a directory. */
trait OnFile
{
    use InDirectory;

    /** @return array<string, string> */
    protected function options(): array
    {
        return ['dsn' => 'file://' . $this->path() . '/cache?timeout=5'];
    }
}
