<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

use PHPUnit\Framework\Attributes\Group;

#[Group('long')]
#[Group('slow')]
final class CacheItemPoolOnPredisTest extends CacheItemPoolRules
{
    use Engine\OnPredis;
}
