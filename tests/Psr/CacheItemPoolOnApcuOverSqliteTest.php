<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class CacheItemPoolOnApcuOverSqliteTest extends CacheItemPoolRules
{
    use Engine\OnApcuOverSqlite;
}
