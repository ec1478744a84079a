<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnApcuOverSqlite;

final class WithoutDatabaseOnApcuOverSqliteTest extends WithoutDatabase
{
    use OnApcuOverSqlite;
}
