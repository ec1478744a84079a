<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Tests\Psr\Engine\OnMemory;

final class RulesOnMemoryTest extends RulesInProcess
{
    use OnMemory;
}
