<?php

declare(strict_types=1);

namespace Larder\Counter;

use Larder\Driver\Redis\RedisConnection;
use Larder\System\Failure;

/** A counter in Redis or Valkey, under a key without an expiry. */
final class RedisEngine implements Engine
{
    private const PREFIX = 'larder:counter:';

    public function __construct(private readonly RedisConnection $connection, private readonly string $name) {}

    public function add(int $by): int
    {
        $value = $this->ask('INCRBY', $by);
        if ($value === $by && $by !== 0 && $this->mayForget()) {
            $this->ask('DECRBY', $by);
            throw new CounterFailure('This Redis evicts keys when its memory is full, and a counter must stay. Set its maxmemory-policy to noeviction or to one that begins with "volatile-", or use another server.');
        }

        return $value;
    }

    public function value(): int
    {
        return $this->ask('INCRBY', 0);
    }

    public function reset(): void
    {
        $this->ask('SET', 0);
    }

    /** Whether the server evicts keys without an expiry; asked where a counter begins, as one does that was evicted. */
    private function mayForget(): bool
    {
        try {
            $memory = $this->connection->info('memory');
        } catch (Failure $failure) {
            throw new CounterFailure($failure->getMessage(), 0, $failure);
        }

        return ($memory['maxmemory'] ?? '0') !== '0' && \str_starts_with($memory['maxmemory_policy'] ?? '', 'allkeys-');
    }

    private function ask(string $command, int $number): int
    {
        $reply = $this->run($command, self::PREFIX . $this->name, (string) $number);

        return \is_int($reply) ? $reply : 0;
    }

    private function run(string $command, string $key, string ...$arguments): mixed
    {
        try {
            return $this->connection->call([\array_values([$command, $key, ...$arguments])])[0];
        } catch (Failure $failure) {
            if (\str_contains($failure->getMessage(), 'would overflow')) {
                throw CounterOverflow::of($this->name, (int) ($arguments[0] ?? 0));
            }
            throw new CounterFailure($failure->getMessage(), 0, $failure);
        }
    }
}
