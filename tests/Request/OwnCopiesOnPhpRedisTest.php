<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnPhpRedis;

final class OwnCopiesOnPhpRedisTest extends OwnCopies
{
    use OnPhpRedis;
}
