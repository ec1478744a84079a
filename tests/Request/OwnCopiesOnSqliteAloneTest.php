<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnSqliteAlone;

final class OwnCopiesOnSqliteAloneTest extends OwnCopies
{
    use OnSqliteAlone;
}
