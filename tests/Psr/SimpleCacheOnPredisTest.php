<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

use PHPUnit\Framework\Attributes\Group;

#[Group('long')]
#[Group('slow')]
final class SimpleCacheOnPredisTest extends SimpleCacheRules
{
    use Engine\OnPredis;
}
