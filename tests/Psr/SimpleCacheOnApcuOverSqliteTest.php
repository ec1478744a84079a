<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class SimpleCacheOnApcuOverSqliteTest extends SimpleCacheRules
{
    use Engine\OnApcuOverSqlite;
}
