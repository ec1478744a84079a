<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnMemcached;

final class TransactionsOnMemcachedTest extends Transactions
{
    use OnMemcached;
}
