<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class SimpleCacheOnMemcachedTest extends SimpleCacheRules
{
    use Engine\OnMemcached;
}
