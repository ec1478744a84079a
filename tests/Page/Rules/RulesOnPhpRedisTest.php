<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Tests\Psr\Engine\OnPhpRedis;

final class RulesOnPhpRedisTest extends RulesInProcess
{
    use OnPhpRedis;
}
