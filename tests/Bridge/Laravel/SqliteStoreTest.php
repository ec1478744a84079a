<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge\Laravel;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;

#[CoversNothing]
#[Group('bridge')]
final class SqliteStoreTest extends StoreRules
{
    protected function dsn(): ?string
    {
        // Where a new application has it.
        return null;
    }
}
