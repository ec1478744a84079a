<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class CacheItemPoolOnMemoryTest extends CacheItemPoolRules
{
    use Engine\OnMemory;
}
