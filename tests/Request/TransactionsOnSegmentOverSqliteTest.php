<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnSegmentOverSqlite;

final class TransactionsOnSegmentOverSqliteTest extends Transactions
{
    use OnSegmentOverSqlite;
}
