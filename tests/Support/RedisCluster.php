<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\Config\Dsn;
use Larder\Config\Options;
use Larder\Console\Doctor\RedisUser;
use Larder\Lab\Service\Place;

/** A Redis Cluster of one's own: three primaries, each with a replica or none, on loopback. */
final class RedisCluster
{
    private const PRIMARIES = 3;
    private const SLOTS = 16384;

    /** @var array<int, RedisServer> */
    public array $nodes = [];

    /** @var list<string> what dsn()'s user may do */
    private array $rules = [];

    /** @param array<string, string> $config of the servers */
    public function __construct(bool $replicas = false, array $config = [])
    {
        $count = self::PRIMARIES * ($replicas ? 2 : 1);
        for ($i = 0; $i < $count; $i++) {
            $this->nodes[] = new RedisServer(config: $config + [
                'cluster-enabled' => 'yes', 'cluster-node-timeout' => '500', 'cluster-port' => (string) Place::freePort(),
                'cluster-replica-validity-factor' => '0', 'repl-diskless-sync-delay' => '0', 'cluster-require-full-coverage' => 'no',
            ]);
        }
        foreach ($this->nodes as $i => $node) {
            if ($i < self::PRIMARIES) {
                $node->command('CLUSTER', 'ADDSLOTSRANGE', (string) \intdiv($i * self::SLOTS, self::PRIMARIES), (string) (\intdiv(($i + 1) * self::SLOTS, self::PRIMARIES) - 1));
            }
            $node->command('CLUSTER', 'SET-CONFIG-EPOCH', (string) ($i + 1));
            $i === 0 || $node->command('CLUSTER', 'MEET', '127.0.0.1', (string) $this->nodes[0]->port, $this->nodes[0]->config['cluster-port']);
        }
        Wait::until(fn(): bool => $this->all(fn(RedisServer $node): bool => \substr_count(self::text($node->command('CLUSTER', 'NODES')), "\n") === \count($this->nodes)), 'the nodes to know each other');
        foreach ($this->nodes as $i => $node) {
            if ($i >= self::PRIMARIES) {
                $node->command('CLUSTER', 'REPLICATE', self::text($this->nodes[$i - self::PRIMARIES]->command('CLUSTER', 'MYID')));
            }
        }
        Wait::until(fn(): bool => $this->all(static fn(RedisServer $node): bool => \str_contains(self::text($node->command('CLUSTER', 'INFO')), 'cluster_state:ok')), 'the cluster');
        $replicas && Wait::until(fn(): bool => $this->all(static fn(RedisServer $node): bool => \str_contains(self::text($node->command('INFO', 'replication')), 'master_link_status:up')
            || \str_contains(self::text($node->command('INFO', 'replication')), 'connected_slaves:1')), 'the replicas');
    }

    /**
     * For a user who may do what `larder doctor` says that all doors need, and nothing else.
     *
     * @param string $options as in a query
     */
    public function dsn(string $options = '', string ...$prefixes): string
    {
        \parse_str($options, $told);
        foreach ([\is_string($told['prefix'] ?? null) ? $told['prefix'] : Options::PREFIX, ...$prefixes] as $prefix) {
            \array_push($this->rules, ...RedisUser::all(Dsn::parse('redis+cluster://h'), $prefix));
        }
        $this->rules = \array_values(\array_unique($this->rules));
        $user = '';
        foreach ($this->nodes as $node) {
            $user = $node->permit($this->rules);
        }

        return "redis+cluster://$user" . \implode(',', \array_map(static fn(RedisServer $node): string => "127.0.0.1:$node->port", $this->nodes)) . "?$options";
    }

    /**
     * Which node has the keys with this hash tag now.
     *
     * @param ?RedisServer $silent a node that cannot be asked
     */
    public function owner(string $tag, ?RedisServer $silent = null): RedisServer
    {
        foreach ($this->nodes as $node) {
            if ($node === $silent || !$node->isRunning()) {
                continue;
            }
            $slot = $node->command('CLUSTER', 'KEYSLOT', '{' . $tag . '}');
            foreach ((array) $node->command('CLUSTER', 'SLOTS') as $range) {
                if (\is_array($range) && $range[0] <= $slot && $slot <= $range[1]) {
                    foreach ($this->nodes as $other) {
                        if ($other->port === $range[2][1]) {
                            return $other;
                        }
                    }
                }
            }
        }
        throw new \LogicException('No node has it.');
    }

    public function replica(?RedisServer $of): ?RedisServer
    {
        foreach ($this->nodes as $node) {
            if ($of !== null && $node->isRunning() && \str_contains((string) $node->command('INFO', 'replication'), "master_port:$of->port\r")) {
                return $node;
            }
        }

        return null;
    }

    /** Waits until all nodes that run name the same node for the tag, as they do when no fail-over is going on. */
    public function settle(string $tag): void
    {
        Wait::until(function () use ($tag): bool {
            $slot = null;
            $owners = [];
            foreach ($this->running() as $node) {
                $slot ??= $node->command('CLUSTER', 'KEYSLOT', '{' . $tag . '}');
                foreach ((array) $node->command('CLUSTER', 'SLOTS') as $range) {
                    if (\is_array($range) && $range[0] <= $slot && $slot <= $range[1]) {
                        $owners[self::epoch($node) . ' ' . \json_encode($range[2])] = true;
                    }
                }
            }

            return \count($owners) === 1;
        }, 'the nodes to agree on who has a slot', 20.0);
    }

    /** Moves the tag's slot, with its keys, to another primary. */
    public function move(string $tag): void
    {
        $this->settle($tag);
        $from = $this->owner($tag);
        $to = null;
        foreach ($this->running() as $node) {
            if ($node !== $from && \str_contains((string) $node->command('INFO', 'replication'), 'role:master')) {
                $to = $node;
            }
        }
        \assert($to !== null);
        $slot = (string) $from->command('CLUSTER', 'KEYSLOT', '{' . $tag . '}');
        [$source, $target] = [self::text($from->command('CLUSTER', 'MYID')), self::text($to->command('CLUSTER', 'MYID'))];
        $to->command('CLUSTER', 'SETSLOT', $slot, 'IMPORTING', $source);
        $from->command('CLUSTER', 'SETSLOT', $slot, 'MIGRATING', $target);
        while (($keys = (array) $from->command('CLUSTER', 'GETKEYSINSLOT', $slot, '1000')) !== []) {
            $from->command('MIGRATE', '127.0.0.1', (string) $to->port, '', '0', '5000', 'KEYS', ...\array_map(self::text(...), $keys));
        }
        foreach ([$to, $from] as $node) {
            $node->command('CLUSTER', 'SETSLOT', $slot, 'NODE', $target);
        }
        $this->settle($tag);
    }

    /** @return list<RedisServer> */
    private function running(): array
    {
        return \array_values(\array_filter($this->nodes, static fn(RedisServer $node): bool => $node->isRunning()));
    }

    private static function epoch(RedisServer $node): string
    {
        return \preg_match('/^cluster_current_epoch:\d+/m', self::text($node->command('CLUSTER', 'INFO')), $found) === 1 ? $found[0] : '';
    }

    /** @return list<string> RedisServer::refusals() of those that run */
    public function refusals(): array
    {
        return \array_merge(...\array_map(static fn(RedisServer $server): array => $server->isRunning() ? $server->refusals() : [], \array_values($this->nodes)));
    }

    public function stop(): void
    {
        foreach ($this->nodes as $node) {
            $node->stop();
        }
    }

    /** @param \Closure(RedisServer): bool $holds */
    private function all(\Closure $holds): bool
    {
        foreach ($this->nodes as $node) {
            if (!$holds($node)) {
                return false;
            }
        }

        return true;
    }

    private static function text(mixed $reply): string
    {
        return \is_scalar($reply) ? (string) $reply : '';
    }
}
