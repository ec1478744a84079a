<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class SimpleCacheOnApcuTest extends SimpleCacheRules
{
    use Engine\OnApcu;
}
