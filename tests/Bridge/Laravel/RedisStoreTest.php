<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge\Laravel;

use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;

#[CoversNothing]
#[Group('bridge')]
final class RedisStoreTest extends StoreRules
{
    private ?RedisServer $server = null;

    protected function dsn(): string
    {
        RedisServer::demand();

        return 'redis://' . ($this->server ??= new RedisServer())->socket . '?prefix=apps&db=1';
    }
}
