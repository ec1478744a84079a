<?php

declare(strict_types=1);

namespace Larder\Session;

use Larder\Driver\Redis\Shards;

/**
 * Sessions in Redis or Valkey: `larder:session:{shard}:key` holds the version and the data and expires with the session, and the
 * same name with `:lock` holds the owner and expires with the lock.
 *
 * A request makes two round trips: one locks and reads, one writes (or renews) and releases.
 */
final class RedisEngine implements Engine
{
    private const PREFIX = 'larder:session:';

    /** Digits of a version. */
    private const VERSION = 32;

    /** KEYS: session, lock. ARGV: owner, milliseconds of the lock (0: none), milliseconds of the session, '1' if it must be stored. Gives 0 if another owner holds it. */
    private const READ = <<<'LUA'
        if ARGV[4] == '1' and redis.call('EXISTS', KEYS[1]) == 0 then return '' end
        if ARGV[2] ~= '0' and not redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2], 'NX') then
            if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
            redis.call('PEXPIRE', KEYS[2], ARGV[2])
        end
        local there = redis.call('GET', KEYS[1])
        if not there then return '' end
        if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
        return there
        LUA;

    /** The same keys. ARGV: owner, version that was read, '1' if sessions are locked, milliseconds, version and data. */
    private const WRITE = <<<'LUA'
        local holder = redis.call('GET', KEYS[2]) or ARGV[1]
        local there = redis.call('GETRANGE', KEYS[1], 0, 31)
        local mayWrite = there ~= '' or ARGV[2] == ''
        if ARGV[3] == '1' then mayWrite = holder == ARGV[1] and there == ARGV[2] end
        if mayWrite then redis.call('SET', KEYS[1], ARGV[5], 'PX', ARGV[4]) end
        if holder == ARGV[1] then redis.call('DEL', KEYS[2]) end
        return mayWrite and 1 or 0
        LUA;

    /** The same keys. ARGV: owner, milliseconds (0: removes the session; '': leaves it). Releases the lock. */
    private const END = <<<'LUA'
        if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) elseif ARGV[2] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
        if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
        return 1
        LUA;

    public function __construct(private readonly Shards $shards, private readonly bool $locks) {}

    public function read(string $key, string $owner, int $life, int $keep, bool $isKnown): ?array
    {
        $there = $this->shards->keep(Shards::tag($key), self::READ, self::names($key), $owner, $this->locks ? (string) $life : '0', (string) $keep, $isKnown ? '1' : '');
        if (!\is_string($there)) {
            return null;
        }
        if ($there !== '' || !$isKnown) {
            $isGood = false;
            try {
                $this->locks && $this->awaitReplicas($key);
                $isGood = true;
            } finally {
                $isGood || $this->release($key, $owner);
            }
        }

        return [\substr($there, 0, self::VERSION), \substr($there, self::VERSION)];
    }

    public function write(string $key, string $owner, string $version, string $new, #[\SensitiveParameter] string $data, int $ttl): bool
    {
        $isWritten = $this->run($key, self::WRITE, $owner, $version, $this->locks ? '1' : '', (string) $ttl, $new . $data) === 1;
        $isWritten && $this->awaitReplicas($key);

        return $isWritten;
    }

    public function renew(string $key, string $owner, int $ttl): void
    {
        $this->run($key, self::END, $owner, (string) $ttl);
    }

    public function release(string $key, string $owner): void
    {
        $this->locks && $this->run($key, self::END, $owner, '');
    }

    public function destroy(string $key, string $owner): void
    {
        $this->run($key, self::END, $owner, '0');
        $this->awaitReplicas($key);
    }

    public function isStored(string $key): bool
    {
        return $this->shards->call(Shards::tag($key), ['EXISTS', self::names($key)[0]]) === 1;
    }

    public function sweep(): int
    {
        // The server removes by itself what has expired.
        return 0;
    }

    /** @throws SessionFailure */
    private function awaitReplicas(string $key): void
    {
        if (!$this->shards->areCopied(Shards::tag($key))) {
            throw new SessionFailure("Fewer replicas than asked for have what this request did with its session, and a fail-over would lose it. See whether they are connected, or lower the option \"replicas\".");
        }
    }

    private function run(string $key, string $script, #[\SensitiveParameter] string ...$arguments): mixed
    {
        return $this->shards->script(Shards::tag($key), $script, self::names($key), ...$arguments);
    }

    /** @return array{string, string} of a session and of its lock */
    private static function names(string $key): array
    {
        $session = self::PREFIX . Shards::tag($key) . ":$key";

        return [$session, "$session:lock"];
    }
}
