<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class CacheItemPoolOnStackTest extends CacheItemPoolRules
{
    use Engine\OnStack;
}
