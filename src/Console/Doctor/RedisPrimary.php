<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

use Larder\Config\Dsn;
use Larder\Config\StoreFactory;
use Larder\Console\Support\Place;
use Larder\System\Failure;

/** What the Redis that holds the cache says of itself: its role, its replicas, and what it evicts; or that it says nothing. */
final class RedisPrimary
{
    /** @return ?Finding null: the cache is not in Redis, or the server does not say (another finding has why) */
    public static function finding(Place $place): ?Finding
    {
        $dsn = $place->options->truth;
        if (!\in_array($dsn->scheme, Dsn::KEEPING, true) || $dsn->scheme === 'sqlite') {
            return null;
        }
        try {
            $connection = StoreFactory::redis($dsn, \max(1.0, $place->options->timeout), tag: $place->options->prefix, credentials: $place->options->credentials);
            [$server, $replication, $memory, $persistence] = [$connection->info('server'), $connection->info('replication'), $connection->info('memory'), $connection->info('persistence')];
            $connection->close();
        } catch (Failure) {
            return null;
        }
        $policy = $memory['maxmemory_policy'] ?? '';
        if ($dsn->isSingle()) {
            return Finding::ok('redis server', 'a single endpoint, which hides the servers behind it' . ($policy === '' ? '' : " ($policy)") . '; what they lose is noticed by the next request of a web server that has seen it');
        }
        if ($server !== [] && !isset($server['run_id'])) {
            return Finding::warn('redis server', 'it hides which server answers, as a proxy or a serverless endpoint does', 'Write ' . ($dsn->isTls() ? 'rediss' : 'redis') . '+single:// in the DSN, see docs/several-servers.md.');
        }
        if ($replication === [] || $memory === []) {
            return null;
        }
        if (($replication['role'] ?? '') === 'slave') {
            return Finding::fail('redis server', 'it is a replica, which takes no write', 'Name the primary, or let Sentinel name it: redis+sentinel://host1:26379,host2:26379/mymaster.');
        }
        $replicas = (int) ($replication['connected_slaves'] ?? 0);
        $text = $replicas . ($replicas === 1 ? ' replica' : ' replicas') . ', maxmemory ' . (($memory['maxmemory_human'] ?? '') ?: '0B') . ($policy === '' ? '' : " ($policy)");
        if (($persistence['aof_enabled'] ?? '1') !== '1') {
            // A cache may begin anew.
            $text .= ', no append-only file: a queue, a counter or a lock there does not outlive a restart';
        }
        if ($dsn->servers !== [] && !isset($replication['min_slaves_good_slaves'])) {
            return $dsn->hasSlots()
                ? Finding::ok('redis server', "$text; a primary that is cut off answers until cluster-node-timeout")
                : Finding::warn('redis server', "$text; nothing bounds for how long a primary that is cut off is believed", 'Set min-replicas-to-write 1 and min-replicas-max-lag 2 on each server, see docs/several-servers.md.');
        }

        return Finding::ok('redis server', $text);
    }
}
