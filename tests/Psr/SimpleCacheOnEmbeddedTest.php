<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class SimpleCacheOnEmbeddedTest extends SimpleCacheRules
{
    use Engine\OnEmbedded;
}
