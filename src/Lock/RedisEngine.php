<?php

declare(strict_types=1);

namespace Larder\Lock;

use Larder\Driver\Redis\RedisConnection;
use Larder\System\Failure;

/**
 * Locks in Redis or Valkey: `larder:lock:{:name}` holds the owner and the fencing number and expires with the lock, and
 * `larder:lock:{:name}:fence` counts the grants of that name and stays.
 */
final class RedisEngine implements Engine
{
    private const PREFIX = 'larder:lock:';

    /** KEYS: lock, its count of grants. ARGV: owner, milliseconds. Gives the fencing number, 0 if somebody holds it. */
    private const ACQUIRE = <<<'LUA'
        if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
        local fence = redis.call('INCR', KEYS[2])
        redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. string.format('%d', fence), 'PX', ARGV[2])
        return fence
        LUA;

    /** The same; only if it is this owner's. Milliseconds 0: releases it. '': only asks. */
    private const HELD = <<<'LUA'
        local there = redis.call('GET', KEYS[1]) or ''
        if string.sub(there, 1, #ARGV[1] + 1) ~= ARGV[1] .. ' ' then return 0 end
        if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) elseif ARGV[2] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
        return tonumber(string.sub(there, #ARGV[1] + 2))
        LUA;

    /** @var array<string, RedisConnection> by name, where each is in a slot of its own; else one, by '' */
    private array $connections = [];

    /**
     * @param \Closure(string): RedisConnection $connect  gives the connection for a name
     * @param bool                              $hasSlots whether names may lie on different servers
     * @param int                               $replicas so many must have a grant before it counts
     * @param float                             $timeout  seconds that they may take
     */
    public function __construct(
        private readonly \Closure $connect,
        private readonly bool $hasSlots,
        private readonly int $replicas,
        private readonly float $timeout,
    ) {}

    public function acquire(string $name, string $owner, int $life, string $process): ?int
    {
        $fence = $this->run($name, self::ACQUIRE, $owner, (string) $life);
        if ($fence === 0) {
            return null;
        }
        if ($fence === 1 && $this->mayForget($name)) {
            $this->run($name, self::HELD, $owner, '0');
            throw new LockFailure('This Redis evicts keys when its memory is full, and a lock must stay. Set its maxmemory-policy to noeviction, or use another server.');
        }
        $isCopied = false;
        try {
            $isCopied = $this->isCopied($name);
        } finally {
            $isCopied || $this->run($name, self::HELD, $owner, '0');
        }

        return $isCopied ? $fence : null;
    }

    public function refresh(string $name, string $owner, int $life, string $process): ?int
    {
        $fence = $this->run($name, self::HELD, $owner, (string) $life) ?: null;
        if ($fence !== null && !$this->isCopied($name)) {
            throw new LockFailure("Fewer than $this->replicas replicas have the lock's new end. It may end when it would have ended before.");
        }

        return $fence;
    }

    public function release(string $name, string $owner): bool
    {
        return $this->run($name, self::HELD, $owner, '0') !== 0;
    }

    public function fence(string $name, string $owner): ?int
    {
        return $this->run($name, self::HELD, $owner, '') ?: null;
    }

    public function clear(): void
    {
        if ($this->hasSlots) {
            throw new LockFailure('In a cluster locks lie on all nodes, and nothing lists them. Release them one by one.');
        }
        $cursor = '0';
        do {
            $page = $this->call('', ['SCAN', $cursor, 'MATCH', self::PREFIX . '{:*}', 'COUNT', '500']);
            $cursor = \is_array($page) && \is_string($page[0] ?? null) ? $page[0] : '0';
            $names = \array_values(\array_filter(\is_array($page) && \is_array($page[1] ?? null) ? $page[1] : [], \is_string(...)));
            $names === [] || $this->call('', ['UNLINK', ...$names]);
        } while ($cursor !== '0');
    }

    /** Whether enough replicas have what this connection has written. */
    private function isCopied(string $name): bool
    {
        return $this->replicas === 0 || $this->call($name, ['WAIT', (string) $this->replicas, (string) (int) ($this->timeout * 500)]) >= $this->replicas;
    }

    /** Whether the server evicts keys; asked where a name's count of grants begins, as one does that was evicted. */
    private function mayForget(string $name): bool
    {
        $memory = $this->with($name, static fn(RedisConnection $connection): array => $connection->info('memory'));

        return ($memory['maxmemory'] ?? '0') !== '0' && ($memory['maxmemory_policy'] ?? '') !== 'noeviction';
    }

    private function run(string $name, string $script, string $owner, string $life): int
    {
        $lock = self::PREFIX . '{:' . $name . '}';
        $arguments = ['2', $lock, "$lock:fence", $owner, $life];
        $reply = $this->call($name, ['EVALSHA', \sha1($script), ...$arguments]) ?? $this->call($name, ['EVAL', $script, ...$arguments]);

        return \is_int($reply) ? $reply : 0;
    }

    /**
     * @param non-empty-list<string> $command
     *
     * @return mixed null: the server does not know the script
     *
     * @throws LockFailure
     */
    private function call(string $name, array $command): mixed
    {
        return $this->with($name, static fn(RedisConnection $connection): mixed => $connection->call([$command])[0]);
    }

    /**
     * @template T
     *
     * @param \Closure(RedisConnection): T $work
     *
     * @return T
     *
     * @throws LockFailure
     */
    private function with(string $name, \Closure $work): mixed
    {
        $connection = $this->connections[$this->hasSlots ? $name : ''] ??= ($this->connect)(":$name");
        $connection->begin();
        try {
            return $work($connection);
        } catch (Failure $failure) {
            throw new LockFailure($failure->getMessage(), 0, $failure);
        }
    }
}
