<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

/**
 * Refuses a server that evicts what must stay, in the same step as keeping it: nothing is done there.
 *
 * RedisConnection::keep() looks with the first thing that is kept over a connection, and again a second after the last look. So
 * a policy that is changed while a server runs is noticed within a second of use, and what was kept before may be gone by then.
 * Reading, releasing and removing look at nothing.
 *
 * A single endpoint lets no script ask. There the look is a command of its own before it, which may be of another server behind
 * the endpoint, and what does not tell its policy is refused.
 */
final class Eviction
{
    /** Nanoseconds between two looks. */
    public const PAUSE = 1_000_000_000;

    /** The beginning of a script that keeps a key which expires. */
    public const OF_ANY = self::LOOK . "if policy and policy ~= 'noeviction' then return redis.error_reply('" . self::EVICTS_ANY . "') end\n";

    /** The same for keys without an expiry, which some policies leave alone. */
    public const OF_LASTING = self::LOOK . "if policy and string.sub(policy, 1, 7) == 'allkeys' then return redis.error_reply('" . self::EVICTS_LASTING . "') end\n";

    private const EVICTS_ANY = 'EVICTS its maxmemory-policy removes what must stay when its memory is full; set noeviction, or use a server of its own';
    private const EVICTS_LASTING = 'EVICTS its maxmemory-policy removes what must stay when its memory is full; set noeviction or a volatile policy, or use a server of its own';

    private const LOOK = <<<'LUA'
        local memory = redis.pcall('INFO', 'memory')
        if type(memory) ~= 'string' then return memory end
        local policy = not string.find(memory, 'maxmemory:0\r', 1, true) and string.match(memory, 'maxmemory_policy:(%S+)')

        LUA;

    /**
     * The same of a server that has said of its memory what it says.
     *
     * @param self::OF_* $look
     * @param array<string, string> $memory INFO memory, by field
     *
     * @return ?string the error; null: it may keep it
     */
    public static function refusal(string $look, array $memory): ?string
    {
        $policy = $memory['maxmemory_policy'] ?? '';

        return match (true) {
            ($memory['maxmemory'] ?? '') === '0', $policy === 'noeviction' => null,
            $policy === '' => 'EVICTS it does not tell its maxmemory-policy, so it may remove what must stay; use a server that tells',
            $look === self::OF_ANY => self::EVICTS_ANY,
            default => \str_starts_with($policy, 'allkeys') ? self::EVICTS_LASTING : null,
        };
    }
}
