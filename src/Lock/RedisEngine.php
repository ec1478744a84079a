<?php

declare(strict_types=1);

namespace Larder\Lock;

use Larder\Driver\Redis\Shards;

/**
 * Locks in Redis or Valkey: `larder:lock:{shard}:name` holds the owner and the fencing number and expires with the lock, and
 * `larder:fence:{shard}` counts the grants of a shard and stays.
 */
final class RedisEngine implements Engine
{
    private const LOCK = 'larder:lock:';
    private const FENCE = 'larder:fence:';

    /** KEYS: lock, the count of grants. ARGV: owner, milliseconds. Gives the fencing number, 0 if somebody holds it. */
    private const ACQUIRE = <<<'LUA'
        if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
        local fence = redis.call('INCR', KEYS[2])
        redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. string.format('%d', fence), 'PX', ARGV[2])
        return fence
        LUA;

    /** The same keys; only if it is this owner's. Milliseconds 0: releases it. '': only asks. */
    private const HELD = <<<'LUA'
        local there = redis.call('GET', KEYS[1]) or ''
        if string.sub(there, 1, #ARGV[1] + 1) ~= ARGV[1] .. ' ' then return 0 end
        if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) elseif ARGV[2] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
        return tonumber(string.sub(there, #ARGV[1] + 2))
        LUA;

    /** KEYS: lock. A bulk string in any case: phpredis takes a null for an error. */
    private const OWNER = "return redis.call('GET', KEYS[1]) or ''";

    public function __construct(private readonly Shards $shards) {}

    public function acquire(string $name, string $owner, int $life, string $process): ?int
    {
        $tag = Shards::tag($name);
        $fence = self::number($this->shards->keep($tag, self::ACQUIRE, self::keys($name), $owner, (string) $life));
        if ($fence === 0) {
            return null;
        }
        $isCopied = false;
        try {
            $isCopied = $this->shards->areCopied($tag);
        } finally {
            $isCopied || $this->run($name, self::HELD, $owner, '0');
        }

        return $isCopied ? $fence : null;
    }

    public function refresh(string $name, string $owner, int $life, string $process): ?int
    {
        $fence = $this->run($name, self::HELD, $owner, (string) $life) ?: null;
        if ($fence !== null && !$this->shards->areCopied(Shards::tag($name))) {
            throw new LockFailure('Fewer replicas than asked for have the lock\'s new end. It may end when it would have ended before.');
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

    public function owner(string $name): ?string
    {
        $tag = Shards::tag($name);
        $there = $this->shards->script($tag, self::OWNER, [self::LOCK . "$tag:$name"]);

        return \is_string($there) && $there !== '' ? \substr($there, 0, (int) \strrpos($there, ' ')) : null;
    }

    public function clear(string $prefix): void
    {
        foreach ($this->shards->tags() as $tag => $pattern) {
            $cursor = '0';
            do {
                [$cursor, $names] = $this->shards->scan($tag, $cursor, self::LOCK . "$pattern:" . \addcslashes($prefix, '*?[]\\') . '*');
                foreach (\array_chunk($names, 500) as $some) {
                    $this->shards->call($tag, ['UNLINK', ...$some]);
                }
            } while ($cursor !== '0');
        }
    }

    private function run(string $name, string $script, string $owner, string $life): int
    {
        return self::number($this->shards->script(Shards::tag($name), $script, self::keys($name), $owner, $life));
    }

    /** @return array{string, string} */
    private static function keys(string $name): array
    {
        $tag = Shards::tag($name);

        return [self::LOCK . "$tag:$name", self::FENCE . $tag];
    }

    private static function number(mixed $reply): int
    {
        return \is_int($reply) ? $reply : 0;
    }
}
