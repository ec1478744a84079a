<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnPredis;
use PHPUnit\Framework\Attributes\Group;

#[Group('slow')]
final class RememberingOnPredisTest extends Remembering
{
    use OnPredis;
}
