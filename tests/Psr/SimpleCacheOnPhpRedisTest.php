<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class SimpleCacheOnPhpRedisTest extends SimpleCacheRules
{
    use Engine\OnPhpRedis;
}
