<?php

declare(strict_types=1);

namespace Larder\RateLimiter;

use Larder\Driver\Redis\Shards;

/**
 * Rate limits in Redis or Valkey. The hash `larder:limit:{shard}:key` has a field for each state of a key, which begins with its
 * end. What a sliding window counts lies in a list of its own, `larder:limit:state{shard}:key`. Each expires by itself.
 */
final class RedisEngine implements Engine
{
    private const PREFIX = 'larder:limit:';

    /**
     * Each script does what Algorithm does, by the server's clock. KEYS: the key's hash, the list of a sliding window. ARGV: limit,
     * window, fill, cost, the state's name. Gives 1 where it is allowed, what remains, and the milliseconds until it would be
     * allowed, and until all is whole.
     */
    private const SCRIPTS = [
        'f' => self::COMMON . <<<'LUA'
            local stop, count = string.match(redis.call('HGET', KEYS[1], ARGV[5]) or '', '^(%d+) (%d+)$')
            stop, count = tonumber(stop), tonumber(count)
            -- A clock that was set back must not make a window longer.
            if not stop or stop <= now or stop > now + 2 * window then stop, count = now + window, 0 end
            local allowed = count + cost <= limit
            if allowed and cost > 0 then
                count = count + cost
                keep(stop, string.format(' %d', count))
            end
            local left = count == 0 and 0 or stop - now
            return {allowed and 1 or 0, math.max(0, limit - count), left, left}
            LUA,
        's' => self::COMMON . <<<'LUA'
            local last = tonumber(redis.call('LINDEX', KEYS[2], -1) or now)
            -- A clock that was set back must not hold what was counted for longer.
            if last > now + 1000 then
                redis.call('DEL', KEYS[2])
                last = now
            end
            now = math.max(now, last)
            local first = redis.call('LINDEX', KEYS[2], 0)
            while first and tonumber(first) <= now - window do
                redis.call('LPOP', KEYS[2])
                first = redis.call('LINDEX', KEYS[2], 0)
            end
            local count = redis.call('LLEN', KEYS[2])
            local allowed = count + cost <= limit
            local retry = 0
            if not allowed then
                retry = tonumber(redis.call('LINDEX', KEYS[2], count + cost - limit - 1)) + window - now
            elseif cost > 0 then
                for _ = 1, cost do redis.call('RPUSH', KEYS[2], string.format('%d', now)) end
                redis.call('PEXPIRE', KEYS[2], window)
                keep(now + window, '')
                count = count + cost
                last = now
            end
            return {allowed and 1 or 0, math.max(0, limit - count), retry, count == 0 and 0 or last + window - now}
            LUA,
        'b' => self::COMMON . <<<'LUA'
            local whole = limit * window
            local level, at = string.match(redis.call('HGET', KEYS[1], ARGV[5]) or '', '^%d+ (%d+) (%d+)$')
            -- A clock that was set back must not keep it from filling.
            if level and tonumber(at) > now + 1000 then level = nil end
            level = level and math.min(whole, tonumber(level) + math.max(0, now - tonumber(at)) * fill) or whole
            local need = cost * window
            local allowed = need <= level
            if allowed then level = level - need end
            local full = math.ceil((whole - level) / fill)
            if allowed and cost > 0 then keep(now + math.max(1, full), string.format(' %d %d', level, now)) end
            return {allowed and 1 or 0, math.floor(level / window), math.ceil((need - level) / fill), full}
            LUA,
    ];

    private const COMMON = <<<'LUA'
        local limit, window, fill, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        -- Keeps a state. Those that have ended go where their number has doubled.
        local function keep(stop, state)
            if redis.call('HSET', KEYS[1], ARGV[5], string.format('%d', stop) .. state) == 1 then
                local count = redis.call('HLEN', KEYS[1])
                if count > 1 and math.frexp(count) == 0.5 then
                    local all = redis.call('HGETALL', KEYS[1])
                    for i = 1, #all, 2 do
                        if tonumber(string.match(all[i + 1], '^%d+')) <= now then redis.call('HDEL', KEYS[1], all[i]) end
                    end
                end
            end
            if redis.call('PTTL', KEYS[1]) < stop - now then redis.call('PEXPIRE', KEYS[1], string.format('%d', stop - now)) end
        end

        LUA;

    /** KEYS: the key's hash, the list of each state. ARGV: the states' names. What has come since they were read stays. */
    private const FORGET = <<<'LUA'
        redis.call('DEL', unpack(KEYS, 2))
        return redis.call('HDEL', KEYS[1], unpack(ARGV))
        LUA;

    /** States in one call. */
    private const STEP = 500;

    public function __construct(private readonly Shards $shards) {}

    public function count(Algorithm $algorithm, string $key, int $limit, int $window, int $fill, int $cost): Decision
    {
        $tag = Shards::tag($key);
        $state = $algorithm->state($limit, $window, $fill);
        $reply = $this->shards->keep($tag, self::SCRIPTS[$algorithm->value], [self::PREFIX . "$tag:$key", self::PREFIX . "$state$tag:$key"], (string) $limit, (string) $window, (string) $fill, (string) $cost, $state);
        if (!\is_array($reply) || \array_filter($reply, \is_int(...)) !== $reply || !isset($reply[3])) {
            throw new RateLimiterFailure('The server gave an answer that is none. Is something else than Redis or Valkey there?');
        }
        /** @var array{int, int, int, int} $reply */
        [$isAllowed, $remaining, $retry, $reset] = $reply;

        return new Decision($isAllowed === 1, $remaining, $isAllowed === 1 ? 0.0 : $retry / 1000, $reset / 1000);
    }

    public function forget(string $key): void
    {
        $tag = Shards::tag($key);
        $states = $this->shards->call($tag, ['HKEYS', self::PREFIX . "$tag:$key"]);
        foreach (\array_chunk(\array_filter(\is_array($states) ? $states : [], \is_string(...)), self::STEP) as $some) {
            $lists = \array_map(static fn(string $state): string => self::PREFIX . "$state$tag:$key", $some);
            $this->shards->script($tag, self::FORGET, [self::PREFIX . "$tag:$key", ...$lists], ...$some);
        }
    }
}
