<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

use Larder\Config\Dsn;
use Larder\Config\Options;
use Larder\Console\Support\Place;

/**
 * The least that a Redis or Valkey user must be allowed for each of Larder's doors, as words of ACL SETUSER.
 *
 * A door is refused something without any one of its words. The tests of each door run as this user, and fail where it is
 * refused anything.
 */
final class RedisUser
{
    /** Who sends scripts, and looks whether an idle connection still stands. */
    private const ALL = ['eval', 'evalsha', 'ping'];

    /** Of a door's scripts, and what it sends besides. */
    private const COMMANDS = [
        'cache' => [
            'dbsize', 'del', 'exists', 'get', 'getrange', 'hdel', 'hget', 'hmget', 'hset', 'info', 'memory|usage', 'mget', 'persist', 'pexpire', 'pexpireat',
            'pttl', 'rename', 'scan', 'set', 'setrange', 'strlen', 'time', 'unlink', 'xadd', 'xrange', 'xtrim',
        ],
        'locks' => ['del', 'exists', 'get', 'incr', 'info', 'pexpire', 'scan', 'set', 'unlink', 'wait'],
        'sessions' => ['del', 'exists', 'get', 'getrange', 'info', 'pexpire', 'pttl', 'set', 'wait'],
        'rate limits' => ['del', 'hdel', 'hget', 'hgetall', 'hkeys', 'hlen', 'hset', 'info', 'lindex', 'llen', 'lpop', 'pexpire', 'pttl', 'rpush', 'time'],
        'queues' => [
            'blpop', 'del', 'exists', 'hdel', 'hexists', 'hget', 'hincrby', 'hmget', 'hset', 'hsetnx', 'info', 'lindex', 'llen', 'lpop', 'lrange', 'lrem', 'ltrim', 'pexpire', 'rpush',
            'time', 'unlink', 'zadd', 'zcard', 'zrange', 'zrangebyscore', 'zrem', 'zscore',
        ],
        'counters' => ['get', 'incrby', 'info', 'set'],
    ];

    /** The keys of a door; those of a cache have its prefix. */
    private const KEYS = [
        'locks' => ['larder:lock:*', 'larder:fence:*'],
        'sessions' => ['larder:session:*'],
        'rate limits' => ['larder:limit:*'],
        'queues' => ['larder:queue:*'],
        'counters' => ['larder:counter:*'],
    ];

    /** @return non-empty-list<key-of<self::COMMANDS>> */
    public static function doors(): array
    {
        return \array_keys(self::COMMANDS);
    }

    /**
     * @param key-of<self::COMMANDS> $door
     *
     * @return non-empty-list<string> words of ACL SETUSER that allow keys and commands
     */
    public static function rules(Dsn $dsn, string $prefix, string $door): array
    {
        $commands = [...self::ALL, ...self::COMMANDS[$door]];
        $dsn->db === 0 || $commands[] = 'select';
        $dsn->hasSlots() && !$dsn->isSingle() && \array_push($commands, 'cluster|keyslot', 'cluster|slots');
        \sort($commands);
        $keys = self::KEYS[$door] ?? [($dsn->hasSlots() ? '{' . $prefix . '}' : $prefix) . ':*'];

        return [...\array_map(static fn(string $key): string => "~$key", $keys), ...\array_map(static fn(string $command): string => "+$command", $commands)];
    }

    /** @return non-empty-list<string> the same, for one user of all doors */
    public static function all(Dsn $dsn, string $prefix): array
    {
        return \array_values(\array_unique(\array_merge(...\array_map(static fn(string $door): array => self::rules($dsn, $prefix, $door), self::doors()))));
    }

    /** @return iterable<Finding> nothing: the cache is not in Redis */
    public static function findings(Place $place): iterable
    {
        $dsn = $place->options->truth;
        if (!\in_array($dsn->scheme, Dsn::KEEPING, true) || $dsn->scheme === 'sqlite') {
            return;
        }
        $user = $dsn->user ?? Options::PREFIX;
        foreach (self::doors() as $door) {
            yield Finding::note("acl $door", "ACL SETUSER $user reset on >PASSWORD " . \implode(' ', self::rules($dsn, $place->options->prefix, $door)));
        }
        if ($dsn->master !== '') {
            yield Finding::note('acl sentinel', 'ACL SETUSER ' . ($dsn->sentinelUser ?? Options::PREFIX) . ' reset on >PASSWORD ' . \implode(' ', self::ofSentinel()));
        }
    }

    /** @return non-empty-list<string> the same, on a sentinel: the last two are the doctor's own */
    public static function ofSentinel(): array
    {
        return ['+sentinel|get-master-addr-by-name', '+sentinel|master', '+sentinel|replicas'];
    }
}
