<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class CacheItemPoolOnPhpRedisTest extends CacheItemPoolRules
{
    use Engine\OnPhpRedis;
}
