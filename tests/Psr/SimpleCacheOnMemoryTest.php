<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class SimpleCacheOnMemoryTest extends SimpleCacheRules
{
    use Engine\OnMemory;
}
