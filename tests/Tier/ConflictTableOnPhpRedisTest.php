<?php

declare(strict_types=1);

namespace Larder\Tests\Tier;

use Larder\Tests\Psr\Engine\OnPhpRedis;

final class ConflictTableOnPhpRedisTest extends ConflictTableRules
{
    use OnPhpRedis;
}
