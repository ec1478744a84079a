<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnFile;

final class ConflictTableOnFileTest extends ConflictTableRules
{
    use OnFile;
}
