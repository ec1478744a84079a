<?php

declare(strict_types=1);

namespace Larder\Tests\Session;

use Larder\Session\RedisEngine;
use Larder\Session\SessionHandler;
use Larder\Tests\Support\RedisCluster;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(RedisEngine::class)]
final class ClusterSessionTest extends TestCase
{
    public function testSessionsLieOnAllNodesEachWithItsLock(): void
    {
        RedisServer::demand();
        $cluster = new RedisCluster();
        $requests = [];
        for ($i = 0; $i < 30; $i++) {
            $requests[$i] = SessionHandler::over($cluster->dsn('wait=1'));
            self::assertSame('', $requests[$i]->read("session$i"));
            $requests[$i]->write("session$i", "data$i");
            self::assertSame("data$i", $requests[$i]->read("session$i"));
        }
        foreach ($cluster->nodes as $node) {
            $names = (array) $node->command('KEYS', '*');
            self::assertNotSame([], $names);
            self::assertCount(\count($names) >> 1, \preg_grep('/:lock$/', $names) ?: []);
        }
        // One handler may meet sessions of all nodes, as in a long-running process.
        for ($i = 0; $i < 30; $i++) {
            $requests[$i]->close();
            self::assertSame("data$i", $requests[0]->read("session$i"));
            self::assertTrue($requests[0]->destroy("session$i"));
        }
    }
}
