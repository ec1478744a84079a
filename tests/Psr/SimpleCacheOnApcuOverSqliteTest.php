<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

use PHPUnit\Framework\Attributes\Group;

#[Group('long')]
final class SimpleCacheOnApcuOverSqliteTest extends SimpleCacheRules
{
    use Engine\OnApcuOverSqlite;
}
