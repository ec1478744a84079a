<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Tests\Psr\Engine\OnSqliteAlone;

final class RulesOnSqliteTest extends RulesInProcess
{
    use OnSqliteAlone;
}
