<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

final class SimpleCacheOnFileTest extends SimpleCacheRules
{
    use Engine\OnFile;
}
