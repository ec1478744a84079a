<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnPhpRedis;

final class WithoutDatabaseOnPhpRedisTest extends WithoutDatabase
{
    use OnPhpRedis;
}
