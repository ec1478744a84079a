<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

/**
 * Refuses a server that evicts what must stay, in the same step as keeping it: nothing is done there.
 *
 * RedisConnection::keep() looks with the first thing that is kept over a connection, and again a second after the last look. So
 * a policy that is changed while a server runs is noticed within a second of use, and what was kept before may be gone by then.
 * Reading, releasing and removing look at nothing.
 */
final class Eviction
{
    /** Nanoseconds between two looks. */
    public const PAUSE = 1_000_000_000;

    /** The beginning of a script that keeps a key which expires. */
    public const OF_ANY = self::LOOK . "if policy and policy ~= 'noeviction' then return redis.error_reply('EVICTS its maxmemory-policy removes what must stay when its memory is full; set noeviction, or use a server of its own') end\n";

    /** The same for keys without an expiry, which some policies leave alone. */
    public const OF_LASTING = self::LOOK . "if policy and string.sub(policy, 1, 7) == 'allkeys' then return redis.error_reply('EVICTS its maxmemory-policy removes what must stay when its memory is full; set noeviction or a volatile policy, or use a server of its own') end\n";

    private const LOOK = <<<'LUA'
        local memory = redis.pcall('INFO', 'memory')
        if type(memory) ~= 'string' then return memory end
        local policy = not string.find(memory, 'maxmemory:0\r', 1, true) and string.match(memory, 'maxmemory_policy:(%S+)')

        LUA;
}
