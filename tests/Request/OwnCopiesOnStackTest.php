<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnStack;

final class OwnCopiesOnStackTest extends OwnCopies
{
    use OnStack;
}
