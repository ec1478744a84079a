<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\SymfonyBundle\Cache\LarderAdapter;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;

#[CoversClass(LarderAdapter::class)]
#[Group('bridge')]
final class RedisAdapterTest extends AdapterTestCase
{
    private static ?RedisServer $server = null;

    protected function setUp(): void
    {
        parent::setUp();
        RedisServer::demand();
        self::$server ??= new RedisServer();
    }

    public static function tearDownAfterClass(): void
    {
        self::$server?->stop();
        self::$server = null;
    }

    protected function source(): array
    {
        return ['dsn' => 'redis://' . self::$server?->socket, 'near' => 'none', 'prefix' => \basename($this->root->path)];
    }
}
