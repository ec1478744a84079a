<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Tests\Psr\Engine\OnFile;
use PHPUnit\Framework\Attributes\Group;

#[Group('slow')]
final class RulesOnFileTest extends RulesInProcess
{
    use OnFile;
}
