<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnPredis;

final class RememberingOnPredisTest extends Remembering
{
    use OnPredis;
}
