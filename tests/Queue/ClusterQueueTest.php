<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\Queue;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\TestCase;

/** A cluster, of one server: all keys of a queue are in one slot, so a server of any cluster has all or none of them. */
final class ClusterQueueTest extends TestCase
{
    public function testAQueueIsInOneSlot(): void
    {
        RedisServer::demand();
        $server = new RedisServer(config: ['cluster-enabled' => 'yes']);
        $server->command('CLUSTER', 'ADDSLOTS', ...\array_map(\strval(...), \range(0, 16_383)));
        while (!\str_contains((string) $server->command('CLUSTER', 'INFO'), 'cluster_state:ok')) {
            \usleep(10_000);
        }
        $queue = Queue::open("predis://$server->socket", 'mail');
        $queue->pushMany(\range(1, 5));
        foreach ([0, -7, 9] as $priority) {
            $queue->push('body', priority: $priority);
        }
        $queue->push('delayed', 100, key: 'k');
        $messages = $queue->popMany(3);
        self::assertTrue($messages[0]->bury('bad'));
        self::assertTrue($messages[1]->release());
        $keys = $server->command('KEYS', '*');
        self::assertIsArray($keys);
        // The hash itself, two priorities and their set, and each of r, d, c, x, e, m, k and wake.
        self::assertCount(12, $keys);
        self::assertCount(1, \array_unique(\array_map(static fn(mixed $key): mixed => $server->command('CLUSTER', 'KEYSLOT', (string) $key), $keys)));
    }
}
