<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use PHPUnit\Framework\Attributes\Group;

#[Group('web')]
final class RulesThroughApacheFilesTest extends RulesThroughFiles
{
    protected const DIFFERENT_HERE = ['9110 9.3.2: a stored GET answers HEAD', '9111 3.2: what describes the bytes', '9111 3.5:'];
    protected const KIND = 'apache';
    protected const PROGRAM = 'apache2';
}
