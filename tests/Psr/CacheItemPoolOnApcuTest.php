<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class CacheItemPoolOnApcuTest extends CacheItemPoolRules
{
    use Engine\OnApcu;
}
