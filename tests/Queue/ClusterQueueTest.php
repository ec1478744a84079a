<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Tests\Support\RedisServer;

/** The contract over a cluster of one server: it refuses a script that uses keys of several slots. */
final class ClusterQueueTest extends RedisQueue
{
    protected static function scheme(): string
    {
        return 'predis';
    }

    protected static function start(): RedisServer
    {
        $server = new RedisServer(config: ['cluster-enabled' => 'yes']);
        $server->command('CLUSTER', 'ADDSLOTS', ...\array_map(\strval(...), \range(0, 16_383)));
        while (!\str_contains((string) $server->command('CLUSTER', 'INFO'), 'cluster_state:ok')) {
            \usleep(10_000);
        }

        return $server;
    }
}
