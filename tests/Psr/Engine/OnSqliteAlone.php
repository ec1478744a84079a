<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

/** SQLite without the segment, which the extension would put before it. */
trait OnSqliteAlone
{
    use OnEmbedded {
        options as private embedded;
    }

    /** @return array<string, string> */
    protected function options(): array
    {
        return $this->embedded() + ['near' => 'none'];
    }
}
