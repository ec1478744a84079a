<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Tests\Psr\Engine\OnSegmentOverSqlite;

final class RulesOnSegmentOverSqliteTest extends RulesInProcess
{
    use OnSegmentOverSqlite;
}
