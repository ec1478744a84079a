<?php

declare(strict_types=1);

namespace Larder\Counter;

use Larder\Driver\Redis\Eviction;
use Larder\Driver\Redis\RedisConnection;
use Larder\System\Failure;

/** A counter in Redis or Valkey, under a key without an expiry. */
final class RedisEngine implements Engine
{
    private const PREFIX = 'larder:counter:';

    public const ADD = <<<'LUA'
        redis.call('INCRBY', KEYS[1], ARGV[1])
        -- As a text: a number of Lua has 53 bits.
        return redis.call('GET', KEYS[1])
        LUA;

    /** sha1() of Eviction::OF_LASTING and ADD: see RedisConnection::script(). */
    public const HASH = '4432ad638ae3b4fe72aeaa7197b7c1174b4715f4';

    public function __construct(private readonly RedisConnection $connection, private readonly string $name) {}

    public function add(int $by): int
    {
        $key = self::PREFIX . $this->name;

        return $this->number($by, fn(): mixed => $this->connection->keep(Eviction::OF_LASTING, self::ADD, [$key], [(string) $by], ['INCRBY', $key, (string) $by], self::HASH));
    }

    public function value(): int
    {
        return $this->ask('INCRBY', 0);
    }

    public function reset(): void
    {
        $this->ask('SET', 0);
    }

    private function ask(string $command, int $number): int
    {
        return $this->number($number, fn(): mixed => $this->connection->call([[$command, self::PREFIX . $this->name, (string) $number]])[0]);
    }

    /** @param \Closure(): mixed $call */
    private function number(int $by, \Closure $call): int
    {
        try {
            $reply = $call();
        } catch (Failure $failure) {
            if (\str_contains($failure->getMessage(), 'would overflow')) {
                throw CounterOverflow::of($this->name, $by);
            }
            throw new CounterFailure($failure->getMessage(), 0, $failure);
        }

        return \is_int($reply) || \is_string($reply) ? (int) $reply : 0;
    }
}
