<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class CacheItemPoolOnMemcachedTest extends CacheItemPoolRules
{
    use Engine\OnMemcached;
}
