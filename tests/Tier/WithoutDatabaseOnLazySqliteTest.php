<?php

declare(strict_types=1);

namespace Larder\Tests\Tier;

use Larder\Tests\Psr\Engine\OnLazySqlite;

final class WithoutDatabaseOnLazySqliteTest extends WithoutDatabase
{
    use OnLazySqlite;
}
