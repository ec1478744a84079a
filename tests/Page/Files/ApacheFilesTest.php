<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Files;

use PHPUnit\Framework\Attributes\Group;

#[Group('web')]
final class ApacheFilesTest extends WebServerCase
{
    /** Apache keeps the status of its first try, though it sends the page. */
    protected const STATUS_OF_GONE = 403;

    protected static function kind(): string
    {
        return 'apache';
    }
}
