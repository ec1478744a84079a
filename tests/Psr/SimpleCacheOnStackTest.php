<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class SimpleCacheOnStackTest extends SimpleCacheRules
{
    use Engine\OnStack;
}
