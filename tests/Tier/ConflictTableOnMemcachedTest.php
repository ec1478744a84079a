<?php

declare(strict_types=1);

namespace Larder\Tests\Tier;

use Larder\Tests\Psr\Engine\OnMemcached;

final class ConflictTableOnMemcachedTest extends ConflictTableRules
{
    use OnMemcached;
}
