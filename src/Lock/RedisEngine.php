<?php

declare(strict_types=1);

namespace Larder\Lock;

use Larder\Driver\Redis\ErrorReply;
use Larder\Driver\Redis\Shards;

/**
 * Locks in Redis or Valkey: `larder:lock:{shard}:name` holds the owner, the fencing number and a text of the call that took it,
 * and expires with the lock; `larder:fence:{shard}` counts the grants of a shard and stays.
 *
 * A server may carry out a call whose answer was lost, also later. So a process remembers each call that took or released and
 * got no answer, and gives back what it may have left: exactly that grant, not one that another owner has by then.
 */
final class RedisEngine implements Engine
{
    private const LOCK = 'larder:lock:';
    private const FENCE = 'larder:fence:';

    /** Calls without an answer that are remembered, the last ones. */
    private const LOST = 64;

    /** Nanoseconds for which a lock is looked at again before it is taken: the network may deliver a lost call late. */
    private const LATE = 60_000_000_000;

    /** KEYS: lock, the count of grants. ARGV: owner, milliseconds, the call's text. Gives the fencing number, 0 if another owner holds it. */
    private const ACQUIRE = <<<'LUA'
        if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
        local fence = redis.call('INCR', KEYS[2])
        redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. string.format('%d', fence) .. ' ' .. ARGV[3], 'PX', ARGV[2])
        return fence
        LUA;

    /** The same keys; only if it is this owner's. Milliseconds 0: releases it. '': only asks. A third: the grant that is meant. */
    private const HELD = <<<'LUA'
        local there = redis.call('GET', KEYS[1]) or ''
        if string.sub(there, 1, #ARGV[1] + 1) ~= ARGV[1] .. ' ' then return 0 end
        local fence = string.match(there, '^%d+', #ARGV[1] + 2)
        if ARGV[3] and ARGV[3] ~= fence then return 0 end
        if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) elseif ARGV[2] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
        return tonumber(fence)
        LUA;

    /** The same keys. ARGV: how the record of a grant begins, or ends. Releases it. */
    private const GIVE_BACK = <<<'LUA'
        local there = redis.call('GET', KEYS[1]) or ''
        if string.sub(there, 1, #ARGV[1]) ~= ARGV[1] and string.sub(there, -#ARGV[1]) ~= ARGV[1] then return 0 end
        return redis.call('DEL', KEYS[1])
        LUA;

    /** KEYS: lock. A bulk string in any case: phpredis takes a null for an error. */
    private const OWNER = "return redis.call('GET', KEYS[1]) or ''";

    /** @var array<int, array{string, string, ?int}> what calls without an answer may have left: a name, see GIVE_BACK, and hrtime() until which it is looked for; null: until it was */
    private array $lost = [];

    public function __construct(private readonly Shards $shards) {}

    public function acquire(string $name, string $owner, int $life, string $process): ?int
    {
        $tag = Shards::tag($name);
        $this->giveBack($name, true);
        $call = \bin2hex(\random_bytes(16));
        $fence = $this->remembered($name, " $call", fn(): mixed => $this->shards->keep($tag, self::ACQUIRE, self::keys($name), $owner, (string) $life, $call));
        if ($fence === 0) {
            return null;
        }
        $isCopied = false;
        try {
            $isCopied = $this->shards->areCopied($tag);
        } finally {
            $isCopied || $this->release($name, $owner, $fence);
        }

        return $isCopied ? $fence : null;
    }

    public function refresh(string $name, string $owner, int $life, string $process): ?int
    {
        $this->giveBack($name);
        $fence = $this->run($name, self::HELD, $owner, (string) $life) ?: null;
        if ($fence !== null && !$this->shards->areCopied(Shards::tag($name))) {
            throw new LockFailure('Fewer replicas than asked for have the lock\'s new end. It may end when it would have ended before.');
        }

        return $fence;
    }

    public function release(string $name, string $owner, ?int $fence = null): bool
    {
        return $this->remembered($name, "$owner " . ($fence === null ? '' : "$fence "), function () use ($name, $owner, $fence): int {
            $this->giveBack($name);

            return $this->run($name, self::HELD, $owner, '0', ...($fence === null ? [] : [(string) $fence]));
        }) !== 0;
    }

    public function fence(string $name, string $owner): ?int
    {
        $this->giveBack($name);

        return $this->run($name, self::HELD, $owner, '') ?: null;
    }

    public function owner(string $name): ?string
    {
        $this->giveBack($name);
        $tag = Shards::tag($name);
        $there = $this->shards->script($tag, self::OWNER, [self::LOCK . "$tag:$name"]);

        return \is_string($there) && $there !== '' ? \substr($there, 0, (int) \strpos($there, ' ')) : null;
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

    private function run(string $name, string $script, string ...$arguments): int
    {
        return self::number($this->shards->script(Shards::tag($name), $script, self::keys($name), ...$arguments));
    }

    /**
     * Makes a call that takes or releases.
     *
     * @param string           $left what it may leave if its answer is lost: see GIVE_BACK
     * @param \Closure(): mixed $call
     */
    private function remembered(string $name, string $left, \Closure $call): int
    {
        try {
            return self::number($call());
        } catch (LockFailure $failure) {
            if (!$failure->getPrevious() instanceof ErrorReply) {
                $this->lost[] = [$name, $left, null];
                \count($this->lost) > self::LOST && \array_shift($this->lost);
            }
            throw $failure;
        }
    }

    /**
     * Gives back what calls without an answer have left at the server that the next call goes to.
     *
     * @param bool $again also what was looked for a short while ago, under this name
     *
     * @throws LockFailure
     */
    private function giveBack(string $name, bool $again = false): void
    {
        foreach ($this->lost as $i => [$there, $left, $until]) {
            $now = (int) \hrtime(true);
            if ($until !== null && $until < $now) {
                unset($this->lost[$i]);
            } elseif ($until === null ? $this->shards->areTogether($name, $there) : $again && $there === $name) {
                $isFound = $this->run($there, self::GIVE_BACK, $left) !== 0;
                if ($isFound) {
                    unset($this->lost[$i]);
                } else {
                    $this->lost[$i][2] ??= $now + self::LATE;
                }
            }
        }
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
