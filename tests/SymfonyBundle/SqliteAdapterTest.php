<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\SymfonyBundle\Cache\LarderAdapter;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;

#[CoversClass(LarderAdapter::class)]
#[Group('bridge')]
final class SqliteAdapterTest extends AdapterTestCase
{
    protected function source(): array
    {
        return ['dsn' => 'sqlite://' . $this->root->file('cache'), 'near' => 'none'];
    }
}
