<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class CacheItemPoolOnEmbeddedTest extends CacheItemPoolRules
{
    use Engine\OnEmbedded;
}
