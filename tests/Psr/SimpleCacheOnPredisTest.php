<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class SimpleCacheOnPredisTest extends SimpleCacheRules
{
    use Engine\OnPredis;
}
