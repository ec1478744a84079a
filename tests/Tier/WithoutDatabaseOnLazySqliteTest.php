<?php

declare(strict_types=1);

namespace Larder\Tests\Tier;

use Larder\Tests\Psr\Engine\OnEmbedded;

/** With a view that begins with its first read. */
final class WithoutDatabaseOnLazySqliteTest extends WithoutDatabase
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
