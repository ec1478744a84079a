<?php

declare(strict_types=1);

namespace Larder\Tests\Tier;

use Larder\Tests\Psr\Engine\OnApcu;

final class ConflictTableOnApcuTest extends ConflictTableRules
{
    use OnApcu;
}
