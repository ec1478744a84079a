<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class CacheItemPoolOnPredisTest extends CacheItemPoolRules
{
    use Engine\OnPredis;
}
