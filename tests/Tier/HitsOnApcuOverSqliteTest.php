<?php

declare(strict_types=1);

namespace Larder\Tests\Tier;

use Larder\Tests\Psr\Engine\OnApcuOverSqlite;

final class HitsOnApcuOverSqliteTest extends Hits
{
    use OnApcuOverSqlite;
}
