<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class CacheItemPoolOnFileTest extends CacheItemPoolRules
{
    use Engine\OnFile;
}
