<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnLazySqlite;

final class WithoutDatabaseOnLazySqliteTest extends WithoutDatabase
{
    use OnLazySqlite;
}
