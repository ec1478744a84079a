<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;

/**
 * One process that serves a hundred thousand requests, as FrankenPHP's worker mode and RoadRunner do, or as many as the environment
 * variable LARDER_REQUESTS says.
 */
#[CoversNothing]
#[Group('bridge')]
#[Group('long')]
final class WorkerMemoryTest extends ApplicationTestCase
{
    public function testOverSqlite(): void
    {
        $this->check('sqlite://' . $this->root->file('cache'));
    }

    public function testOverRedis(): void
    {
        RedisServer::demand();
        $server = new RedisServer();
        $this->check("redis://$server->socket");
        $server->stop();
    }

    private function check(string $dsn): void
    {
        $requests = (int) (\getenv('LARDER_REQUESTS') ?: 100_000);
        $config = self::pools(['products' => ['adapter' => 'cache.adapter.larder', 'tags' => true]], ['dsn' => $dsn]);
        $config['framework']['lock'] = 'larder://';
        [$first, $last] = $this->play('work', $config, [(string) $requests], ['page' => WorkPage::class], seconds: 60 + $requests / 50);
        self::assertSame($requests, $last[2], 'Pages were wrong.');
        self::assertLessThanOrEqual(1 << 20, $last[0] - $first[0], 'Memory has grown.');
        self::assertSame($first[1], $last[1], 'Files or sockets have stayed open.');
    }
}
