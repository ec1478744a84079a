<?php

declare(strict_types=1);

namespace Larder\RateLimiter;

use Larder\Driver\Redis\RedisConnection;
use Larder\Driver\Redis\Shards;

/** Rate limits in Redis or Valkey, under `larder:limit:` with the algorithm's letter, a shard, and the key. Each expires by itself. */
final class RedisEngine implements Engine
{
    private const PREFIX = 'larder:limit:';

    /**
     * Each script does what Algorithm does, by the server's clock. KEYS: what was counted. ARGV: limit, window, fill, cost.
     * Gives 1 where it is allowed, what remains, and the milliseconds until it would be allowed, and until all is whole.
     */
    private const SCRIPTS = [
        'f' => self::NOW . <<<'LUA'
            local stop, count = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
            stop, count = tonumber(stop), tonumber(count)
            -- A clock that was set back must not make a window longer.
            if not stop or stop <= now or stop > now + 2 * window then stop, count = now + window, 0 end
            local allowed = count + cost <= limit
            if allowed and cost > 0 then
                count = count + cost
                redis.call('SET', KEYS[1], string.format('%d %d', stop, count), 'PX', stop - now)
            end
            local left = count == 0 and 0 or stop - now
            return {allowed and 1 or 0, math.max(0, limit - count), left, left}
            LUA,
        's' => self::NOW . <<<'LUA'
            local last = tonumber(redis.call('LINDEX', KEYS[1], -1) or now)
            -- A clock that was set back must not hold what was counted for longer.
            if last > now + 1000 then
                redis.call('DEL', KEYS[1])
                last = now
            end
            now = math.max(now, last)
            local first = redis.call('LINDEX', KEYS[1], 0)
            while first and tonumber(first) <= now - window do
                redis.call('LPOP', KEYS[1])
                first = redis.call('LINDEX', KEYS[1], 0)
            end
            local count = redis.call('LLEN', KEYS[1])
            local allowed = count + cost <= limit
            local retry = 0
            if not allowed then
                retry = tonumber(redis.call('LINDEX', KEYS[1], count + cost - limit - 1)) + window - now
            elseif cost > 0 then
                for _ = 1, cost do redis.call('RPUSH', KEYS[1], string.format('%d', now)) end
                redis.call('PEXPIRE', KEYS[1], window)
                count = count + cost
                last = now
            end
            return {allowed and 1 or 0, math.max(0, limit - count), retry, count == 0 and 0 or last + window - now}
            LUA,
        'b' => self::NOW . <<<'LUA'
            local whole = limit * window
            local level, at = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
            level = level and math.min(whole, tonumber(level) + math.max(0, now - tonumber(at)) * fill) or whole
            local need = cost * window
            local allowed = need <= level
            if allowed then level = level - need end
            local full = math.ceil((whole - level) / fill)
            if allowed and cost > 0 then redis.call('SET', KEYS[1], string.format('%d %d', level, now), 'PX', math.max(1, full)) end
            return {allowed and 1 or 0, math.floor(level / window), math.ceil((need - level) / fill), full}
            LUA,
    ];

    private const NOW = <<<'LUA'
        local limit, window, fill, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)

        LUA;

    /** Whether the server was asked if it evicts. */
    private bool $isAsked = false;

    public function __construct(private readonly Shards $shards) {}

    public function count(Algorithm $algorithm, string $key, int $limit, int $window, int $fill, int $cost): Decision
    {
        $script = self::SCRIPTS[$algorithm->value];
        $tag = Shards::tag($key);
        $arguments = [$tag, $script, [self::name($algorithm, $tag, $key)], (string) $limit, (string) $window, (string) $fill, (string) $cost];
        $reply = ($this->isAsked ? null : $this->first($tag, Shards::named(...\array_slice($arguments, 1)))) ?? $this->shards->script(...$arguments);
        if (!\is_array($reply) || \array_filter($reply, \is_int(...)) !== $reply || !isset($reply[3])) {
            throw new RateLimiterFailure('The server gave an answer that is none. Is something else than Redis or Valkey there?');
        }
        /** @var array{int, int, int, int} $reply */
        [$isAllowed, $remaining, $retry, $reset] = $reply;

        return new Decision($isAllowed === 1, $remaining, $isAllowed === 1 ? 0.0 : $retry / 1000, $reset / 1000);
    }

    /**
     * The first call also asks whether the server evicts, in the same round trip.
     *
     * @param non-empty-list<string> $command
     */
    private function first(string $tag, array $command): mixed
    {
        [$memory, $reply] = $this->shards->calls($tag, [['INFO', 'memory'], $command]);
        if (RedisConnection::evicts($memory)) {
            throw new RateLimiterFailure('This Redis evicts keys when its memory is full, and what was counted must stay. Set its maxmemory-policy to noeviction, or use another server.');
        }
        $this->isAsked = true;

        return $reply;
    }

    public function forget(string $key): void
    {
        $tag = Shards::tag($key);
        $this->shards->call($tag, ['DEL', ...\array_map(static fn(Algorithm $algorithm): string => self::name($algorithm, $tag, $key), Algorithm::cases())]);
    }

    private static function name(Algorithm $algorithm, string $tag, string $key): string
    {
        return self::PREFIX . "$algorithm->value$tag:$key";
    }
}
