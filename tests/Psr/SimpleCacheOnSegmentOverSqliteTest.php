<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class SimpleCacheOnSegmentOverSqliteTest extends SimpleCacheRules
{
    use Engine\OnSegmentOverSqlite;
}
