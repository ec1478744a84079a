<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Files;

use PHPUnit\Framework\Attributes\Group;

#[Group('web')]
final class ApacheFilesTest extends WebServerCase
{
    protected static function kind(): string
    {
        return 'apache';
    }
}
