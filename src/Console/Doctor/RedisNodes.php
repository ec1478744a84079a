<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

use Larder\Config\Dsn;
use Larder\Config\StoreFactory;
use Larder\Console\Support\Place;
use Larder\Driver\Redis\PhpRedisConnection;
use Larder\Driver\Redis\PredisConnection;
use Larder\System\Failure;

/** Finds and asks every Redis or Valkey server behind a cache: primaries, their replicas, and the sentinels. */
final class RedisNodes
{
    /** Seconds that each has for an answer, at least. */
    private const PATIENCE = 1.0;

    private const SLOTS = 16_384;

    /** @var array<string, RedisNode> by run id, or by address where there is none */
    private array $nodes = [];

    /** @var array<string, Dsn> the same */
    private array $addresses = [];

    /** @var array<string, true> addresses that were asked */
    private array $asked = [];

    /** @var list<array{string, string}> a sentinel's address, and what is wrong with it or with what it says */
    public array $doubts = [];

    /** Sentinels that answer and name the same primary as the first. */
    public int $sentinels = 0;

    /** Slots of a cluster that no node has; null: it is no cluster, or no node tells. */
    public ?int $withoutNode = null;

    /** Seconds. */
    public readonly float $timeout;

    public function __construct(private readonly Place $place)
    {
        $this->timeout = \max(self::PATIENCE, $place->options->timeout);
        $dsn = $place->options->truth;
        if ($dsn->servers === []) {
            $this->add($dsn->host, $dsn->port);
        } elseif ($dsn->hasSlots()) {
            $this->ofCluster($dsn);
        } else {
            $this->ofSentinel($dsn);
        }
    }

    /** @return list<RedisNode> the primaries first */
    public function all(): array
    {
        $nodes = \array_values($this->nodes);
        \usort($nodes, static fn(RedisNode $one, RedisNode $other): int => [!$one->isPrimary(), $one->name] <=> [!$other->isPrimary(), $other->name]);

        return $nodes;
    }

    /** @return list<RedisNode> */
    public function primaries(): array
    {
        return \array_values(\array_filter($this->all(), static fn(RedisNode $node): bool => $node->isPrimary()));
    }

    /** @return iterable<PhpRedisConnection|PredisConnection> to each primary */
    public function connections(): iterable
    {
        foreach ($this->addresses as $id => $address) {
            if ($this->nodes[$id]->isPrimary()) {
                yield StoreFactory::redis($address, $this->timeout, credentials: $this->place->options->credentials);
            }
        }
    }

    private function add(string $host, int $port): void
    {
        if (isset($this->asked["$host:$port"])) {
            return;
        }
        $this->asked["$host:$port"] = true;
        $node = RedisNode::ask($address = $this->at($host, $port), $this->timeout, $this->place->options->credentials);
        // One server may have several addresses: that of the DSN, and that by which the others know it.
        $id = $node->says('run_id') ?: "$host:$port";
        $this->nodes[$id] ??= $node;
        $this->addresses[$id] ??= $address;
    }

    /** The DSN of one server. */
    public function at(string $host, int $port): Dsn
    {
        $dsn = clone $this->place->options->truth;
        if ($dsn->servers !== []) {
            $dsn->scheme = $dsn->isTls() ? 'rediss' : 'redis';
            [$dsn->host, $dsn->port, $dsn->servers, $dsn->master] = [$host, $port, [], ''];
        }

        return $dsn;
    }

    private function ofCluster(Dsn $dsn): void
    {
        $has = [];
        foreach ($dsn->servers as [$host, $port]) {
            $this->add($host, $port);
            $ranges = $has === [] ? $this->reply($this->at($host, $port), ['CLUSTER', 'SLOTS'], false) : [];
            foreach (\is_array($ranges) ? $ranges : [] as $range) {
                if (\is_array($range) && \is_int($range[0] ?? null) && \is_int($range[1] ?? null)) {
                    $has[$range[0]] = $range[1] - $range[0] + 1;
                    foreach (\array_slice($range, 2) as $node) {
                        $name = \is_array($node) ? $node[0] ?? null : null;
                        \is_array($node) && \is_int($node[1] ?? null) && $this->add(\is_string($name) && $name !== '' && $name !== '?' ? $name : $host, $node[1]);
                    }
                }
            }
        }
        // A replica that is new, or has lost its link, has no slots to tell of.
        foreach ($this->primaries() as $primary) {
            foreach ($primary->replicas() as $replica) {
                $this->add($replica['host'], $replica['port']);
            }
        }
        $this->withoutNode = $has === [] ? null : self::SLOTS - \array_sum($has);
    }

    private function ofSentinel(Dsn $dsn): void
    {
        $first = null;
        foreach ($dsn->servers as [$host, $port]) {
            $why = '';
            $sentinel = $this->at($host, $port);
            [$sentinel->user, $sentinel->password, $sentinel->db] = [$dsn->sentinelUser, $dsn->sentinelPassword, 0];
            $told = self::pairs($this->reply($sentinel, ['SENTINEL', 'MASTER', $dsn->master], true, $why));
            $address = ($told['ip'] ?? '') . ':' . ($told['port'] ?? '');
            if (!isset($told['ip'], $told['port'])) {
                $this->doubts[] = ["$host:$port", $why === '' ? "knows no master \"$dsn->master\"" : $why];
                continue;
            }
            $first ??= $address;
            if ($address !== $first) {
                $this->doubts[] = ["$host:$port", "names another primary, $address, than the others, $first"];
                continue;
            }
            ++$this->sentinels;
            \str_contains($told['flags'] ?? '', 'down') && $this->doubts[] = ["$host:$port", "takes the primary for down ({$told['flags']})"];
            $others = (int) ($told['num-other-sentinels'] ?? 0);
            if ($others + 1 < (int) ($told['quorum'] ?? 0)) {
                $this->doubts[] = ["$host:$port", "knows $others others, fewer than its quorum of {$told['quorum']} needs"];
            }
            $this->add($told['ip'], (int) $told['port']);
            foreach ((array) $this->reply($sentinel, ['SENTINEL', 'REPLICAS', $dsn->master], true) as $replica) {
                $replica = self::pairs($replica);
                isset($replica['ip'], $replica['port']) && $this->add($replica['ip'], (int) $replica['port']);
            }
        }
    }

    /**
     * @param non-empty-list<string> $command
     *
     * @return mixed null: $why has the reason
     */
    private function reply(Dsn $address, array $command, bool $isSentinel, string &$why = ''): mixed
    {
        $why = '';
        $connection = StoreFactory::redis($address, $this->timeout, credentials: $isSentinel ? null : $this->place->options->credentials);
        try {
            return $connection->call([$command])[0];
        } catch (Failure $failure) {
            $why = $failure->getMessage();

            return null;
        } finally {
            $connection->close();
        }
    }

    /** @return array<string, string> what a list says, in which names and values take turns */
    private static function pairs(mixed $list): array
    {
        $pairs = [];
        foreach (\array_chunk(\is_array($list) ? $list : [], 2) as $pair) {
            if (\is_string($pair[0]) && \is_string($pair[1] ?? null)) {
                $pairs[$pair[0]] = $pair[1];
            }
        }

        return $pairs;
    }
}
