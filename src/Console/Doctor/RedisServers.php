<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

use Larder\Config\Dsn;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;

/** The servers behind a cache in Redis or Valkey: a line for each, and one for whatever is wrong with some of them. */
final class RedisServers
{
    /** Seconds that clocks may differ, as Driver\Redis\Primary has it. */
    private const SKEW = 1.0;

    /** Seconds of a round trip from which on each request feels it. */
    private const FAR = 0.005;

    /** Seconds and bytes that a replica may be behind. */
    private const LATE = 2;
    private const BEHIND = 1 << 20;

    /** Sentinels that a majority without one takes. */
    private const SENTINELS = 3;

    /** @return iterable<Finding> nothing: the cache is not in Redis */
    public static function findings(Place $place): iterable
    {
        $dsn = $place->options->truth;
        if (!\in_array($dsn->scheme, Dsn::KEEPING, true) || $dsn->scheme === 'sqlite') {
            return;
        }
        $nodes = new RedisNodes($place);
        if ($dsn->isSingle()) {
            // No line for a server: another one may answer the next call.
            $policy = ($nodes->all()[0] ?? null)?->says('maxmemory_policy') ?? '';
            yield Finding::ok('endpoint', 'it hides the servers behind it' . ($policy === '' ? '' : " ($policy)") . '; what they lose is noticed by the next request of a web server that has seen it');

            return;
        }
        $answering = \array_values(\array_filter($nodes->all(), static fn(RedisNode $node): bool => $node->failure === ''));
        yield from self::table($nodes->all(), $dsn->servers !== []);
        if (isset($answering[0]) && $answering[0]->info !== [] && $answering[0]->says('run_id') === '') {
            yield Finding::warn('endpoint', 'it hides which server answers, as a proxy or a serverless endpoint does', 'Write ' . ($dsn->isTls() ? 'rediss' : 'redis') . '+single:// in the DSN, see docs/several-servers.md.');
        }
        yield from self::replication($nodes, $answering, $dsn);
        yield from self::memory($nodes->primaries());
        yield from self::machines($answering);
        yield from self::sentinels($nodes, $dsn);
        yield from RedisFingerprints::findings($place, $nodes);
    }

    /**
     * @param list<RedisNode> $nodes
     *
     * @return iterable<Finding>
     */
    private static function table(array $nodes, bool $hasSeveral): iterable
    {
        $width = \max([0, ...\array_map(static fn(RedisNode $node): int => \strlen($node->name), $nodes)]);
        foreach ($nodes as $i => $node) {
            $subject = 'node ' . ($i + 1);
            if ($node->failure !== '') {
                // Where it is the only one, the truth tier has failed, and says so.
                $hasSeveral && yield Finding::warn($subject, \str_pad($node->name, $width) . "  does not answer: $node->failure", 'Start it; or take it out of the DSN, and out of the cluster or Sentinel.');
                continue;
            }
            $behind = \implode(', ', \array_map(static fn(array $replica): string => Text::bytes($replica['bytes']), $node->replicas()));
            $count = \count($node->replicas());
            $columns = [
                \str_pad($node->isPrimary() ? 'primary' : 'replica', 7),
                $node->version(),
                'ping ' . Text::duration($node->latency),
                $node->ahead === null ? '' : \sprintf('clock %+.1f s', $node->ahead),
                ($node->says('maxmemory_human') ?: '0B') . ' ' . $node->says('maxmemory_policy'),
                $node->persistence(),
                $node->isPrimary() ? $count . ($count === 1 ? ' replica' : ' replicas') . ($count === 0 ? '' : " ($behind behind)") : 'of ' . $node->says('master_host') . ':' . $node->says('master_port'),
            ];
            yield Finding::ok($subject, \str_pad($node->name, $width) . '  ' . \implode(', ', \array_filter($columns, static fn(string $column): bool => \trim($column) !== '')));
        }
    }

    /**
     * @param list<RedisNode> $answering
     *
     * @return iterable<Finding>
     */
    private static function replication(RedisNodes $nodes, array $answering, Dsn $dsn): iterable
    {
        if ($dsn->servers === [] && isset($answering[0]) && $answering[0]->isReplica()) {
            yield Finding::fail('role', $answering[0]->name . ' is a replica, which takes no write', 'Name the primary, or let Sentinel name it: redis+sentinel://host1:26379,host2:26379/mymaster.');
        }
        if ($dsn->servers !== [] && $answering !== [] && $nodes->primaries() === []) {
            yield Finding::fail('role', 'none of them is a primary', 'See the log of the sentinels, or of the cluster\'s nodes: a fail-over needs a majority of them.');
        }
        if ($nodes->withoutNode > 0) {
            yield Finding::fail('slots', "$nodes->withoutNode of the cluster's slots have no node that answers", 'redis-cli --cluster check HOST:PORT, then --cluster fix.');
        }
        foreach ($answering as $node) {
            if ($node->isReplica() && $node->says('master_link_status') !== 'up') {
                yield Finding::warn('replica link', "$node->name has no link to its primary, " . $node->says('master_host') . ':' . $node->says('master_port'), 'See its log: masterauth (and masteruser) must be what the primary asks for, and its port be reachable.');
            }
        }
        foreach ($nodes->primaries() as $node) {
            $linked = \array_filter($node->replicas(), static fn(array $replica): bool => $replica['state'] === 'online');
            if ($dsn->servers !== [] && $linked === []) {
                yield Finding::warn('replicas', "$node->name has none that is linked: nothing takes over if it dies", 'Add one: replicaof in its configuration, or redis-cli --cluster add-node NEW ' . $node->name . ' --cluster-slave.');
            }
            foreach ($linked as $replica) {
                if ($replica['seconds'] > self::LATE || $replica['bytes'] > self::BEHIND) {
                    yield Finding::warn('replica lag', "$replica[host]:$replica[port] is $replica[seconds] s and " . Text::bytes($replica['bytes']) . " behind $node->name", 'A fail-over to it would lose that. See its load, its disk and the network between the two.');
                }
            }
        }
        $unbound = \array_values(\array_filter($nodes->primaries(), static fn(RedisNode $node): bool => $node->says('min_slaves_good_slaves') === ''));
        if ($dsn->servers !== [] && $unbound !== []) {
            yield $dsn->hasSlots()
                ? Finding::note('cut off', 'a primary without its replicas is believed until cluster-node-timeout; min-replicas-to-write 1 and min-replicas-max-lag 2 on each server make that shorter')
                : Finding::warn('cut off', 'nothing bounds for how long a primary that is cut off is believed: ' . self::names($unbound), 'Set min-replicas-to-write 1 and min-replicas-max-lag 2 on each server, see docs/several-servers.md.');
        }
    }

    /**
     * @param list<RedisNode> $primaries
     *
     * @return iterable<Finding>
     */
    private static function memory(array $primaries): iterable
    {
        $policies = \array_count_values(\array_map(static fn(RedisNode $node): string => $node->says('maxmemory_policy'), $primaries));
        if (\count($policies) > 1) {
            yield Finding::warn('eviction', 'the nodes differ in maxmemory-policy: ' . \implode(', ', \array_keys($policies)), 'Give all of them the same: allkeys-lru for a cache; noeviction where there are locks, sessions or queues.');
        }
        if (isset($policies['volatile-ttl'])) {
            yield Finding::warn('eviction', 'volatile-ttl evicts the markers of flushes before values without an expiry, and what they cover is then missing', 'Set maxmemory-policy allkeys-lru.');
        }
        // What evicts refuses locks, sessions and queues: it holds a cache, which may begin anew.
        $losing = \array_values(\array_filter($primaries, static fn(RedisNode $node): bool => !$node->evicts() && !$node->hasLog() && $node->says('aof_enabled') !== ''));
        if ($losing !== []) {
            yield Finding::warn('persistence', 'locks, sessions, queues and counters there do not outlive a restart (a cache need not): ' . self::names($losing), 'If you have any, set appendonly yes on each server. For a cache alone, set maxmemory and maxmemory-policy allkeys-lru.');
        }
        $failing = \array_values(\array_filter($primaries, static fn(RedisNode $node): bool => $node->says('rdb_last_bgsave_status') === 'err' || $node->says('aof_last_write_status') === 'err'));
        if ($failing !== []) {
            yield Finding::fail('persistence', 'the last write to the disk has failed: ' . self::names($failing), 'See its log, and make room on its disk: with stop-writes-on-bgsave-error it refuses writes.');
        }
    }

    /**
     * @param list<RedisNode> $answering
     *
     * @return iterable<Finding>
     */
    private static function machines(array $answering): iterable
    {
        foreach ($answering as $node) {
            if ($node->ahead !== null && \abs($node->ahead) > self::SKEW) {
                yield Finding::warn('clock', \sprintf('that of %s is %s %s this server\'s', $node->name, Text::duration(\abs($node->ahead)), $node->ahead > 0 ? 'ahead of' : 'behind'), 'Run NTP (chrony or systemd-timesyncd) on both: after a fail-over Larder compares them.');
            }
        }
        $far = \array_values(\array_filter($answering, static fn(RedisNode $node): bool => $node->latency > self::FAR));
        if ($far !== []) {
            yield Finding::warn('latency', 'each request waits for a round trip at least: ' . self::names($far), 'Put the servers beside the web servers, in one zone.');
        }
        $versions = \array_unique(\array_map(static fn(RedisNode $node): string => $node->version(), $answering));
        if (\count($versions) > 1) {
            yield Finding::warn('versions', 'they differ: ' . \implode(', ', $versions), 'Bring all to the newest. A replica that is older than its primary may not understand it.');
        }
    }

    /** @return iterable<Finding> */
    private static function sentinels(RedisNodes $nodes, Dsn $dsn): iterable
    {
        foreach ($nodes->doubts as [$sentinel, $what]) {
            yield Finding::warn('sentinel', "$sentinel $what", 'Compare its configuration and its log with the others\'. SENTINEL RESET ' . $dsn->master . ' lets it look anew.');
        }
        if ($dsn->master !== '' && $nodes->sentinels > 0) {
            yield $nodes->sentinels < self::SENTINELS
                ? Finding::warn('sentinels', "$nodes->sentinels of " . \count($dsn->servers) . ' agree', 'Have three on three machines, and name all of them: with fewer no majority is left when one dies.')
                : Finding::ok('sentinels', "$nodes->sentinels of " . \count($dsn->servers) . ' agree');
        }
    }

    /** @param list<RedisNode> $nodes */
    private static function names(array $nodes): string
    {
        return \implode(', ', \array_map(static fn(RedisNode $node): string => $node->name, $nodes));
    }
}
