<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnLazySqlite;

final class RememberingOnLazySqliteTest extends Remembering
{
    use OnLazySqlite;
}
