<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnEmbedded;

final class OwnCopiesOnEmbeddedTest extends OwnCopies
{
    use OnEmbedded;
}
