<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use PHPUnit\Framework\Attributes\Group;

#[Group('web')]
final class RulesThroughNginxFilesTest extends RulesThroughFiles
{
    protected const DIFFERENT_HERE = ['9110 14.2: all of it for bytes=4-2', '9110 14.2: all of it for bytes=-', '9110 14.2: all of it for bytes=a-b'];
}
