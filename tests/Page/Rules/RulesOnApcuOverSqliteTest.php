<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Tests\Psr\Engine\OnApcuOverSqlite;
use PHPUnit\Framework\Attributes\Group;

#[Group('slow')]
final class RulesOnApcuOverSqliteTest extends RulesInProcess
{
    use OnApcuOverSqlite;
}
