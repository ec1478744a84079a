<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class CacheItemPoolOnSegmentOverSqliteTest extends CacheItemPoolRules
{
    use Engine\OnSegmentOverSqlite;
}
