<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

use Larder\System\Failure;

/**
 * Spreads names that have nothing to do with each other over the nodes of a cluster, by few slots and so by few connections. A
 * single server has one connection for all.
 */
final class Shards
{
    public const COUNT = 16;

    /** @var array<string, RedisConnection> */
    private array $connections = [];

    /**
     * @param \Closure(string): RedisConnection $connect  gives the connection for a hash tag, without its braces
     * @param bool                              $hasSlots whether tags may lie on different servers
     * @param float                             $timeout  seconds of a call
     * @param int                               $replicas see areCopied()
     * @param class-string<\RuntimeException>   $as       what is thrown where a server cannot be reached, or refuses
     */
    public function __construct(
        private readonly \Closure $connect,
        private readonly bool $hasSlots,
        private readonly float $timeout,
        private readonly int $replicas,
        private readonly string $as,
    ) {}

    /** The hash tag of a name's keys, with its braces. */
    public static function tag(string $name): string
    {
        return '{' . \crc32($name) % self::COUNT . '}';
    }

    /** Whether two names' keys certainly lie on one server. */
    public function areTogether(string $name, string $other): bool
    {
        return !$this->hasSlots || self::tag($name) === self::tag($other);
    }

    /**
     * The tags of all keys.
     *
     * @return non-empty-array<string, string> what call() takes => the tags there, as a pattern of SCAN
     */
    public function tags(): array
    {
        if (!$this->hasSlots) {
            return ['{0}' => '{*}'];
        }
        $tags = \array_map(static fn(int $shard): string => '{' . $shard . '}', \range(0, self::COUNT - 1));

        return \array_combine($tags, $tags);
    }

    /**
     * @param non-empty-list<string> $command about keys with this tag
     *
     * @return mixed null: the server does not know the script
     */
    public function call(string $tag, #[\SensitiveParameter] array $command): mixed
    {
        return $this->with($tag, static fn(RedisConnection $connection): mixed => $connection->call([$command])[0]);
    }

    /**
     * Some names of keys that match a pattern of SCAN.
     *
     * @return array{string, list<string>} the next cursor ('0': there are no more), and names
     */
    public function scan(string $tag, string $cursor, string $pattern): array
    {
        return $this->with($tag, static fn(RedisConnection $connection): array => $connection->page($connection->call([['SCAN', $cursor, 'MATCH', $pattern, 'COUNT', '1000']])[0]));
    }

    /**
     * @template T
     *
     * @param \Closure(RedisConnection): T $work
     *
     * @return T
     */
    private function with(string $tag, \Closure $work): mixed
    {
        $connection = $this->connections[$this->hasSlots ? $tag : ''] ??= ($this->connect)(\substr($tag, 1, -1));
        $connection->begin();
        try {
            return $work($connection);
        } catch (Failure $failure) {
            throw new $this->as($failure->getMessage(), 0, $failure);
        }
    }

    /**
     * Runs a script, and sends it where the server does not know it.
     *
     * @param non-empty-list<string> $keys with this tag
     */
    public function script(string $tag, string $script, array $keys, #[\SensitiveParameter] string ...$arguments): mixed
    {
        return $this->with($tag, static fn(RedisConnection $connection): mixed => $connection->script($script, $keys, \array_values($arguments)));
    }

    /**
     * Runs a script that keeps something, unless the server evicts: RedisConnection::keep().
     *
     * @param non-empty-list<string> $keys with this tag
     */
    public function keep(string $tag, string $script, array $keys, #[\SensitiveParameter] string ...$arguments): mixed
    {
        return $this->with($tag, static fn(RedisConnection $connection): mixed => $connection->keep(Eviction::OF_ANY, $script, $keys, \array_values($arguments)));
    }

    /**
     * Whether as many replicas as asked for have what was written last. Waits for them for half of a call's time, on the connection
     * that has written: on a new one, WAIT would count replicas that may lack it.
     */
    public function areCopied(string $tag): bool
    {
        if ($this->replicas === 0) {
            return true;
        }
        $command = ['WAIT', (string) $this->replicas, (string) (int) ($this->timeout * 500)];
        $copies = $this->with($tag, static fn(RedisConnection $connection): mixed => $connection->ask($command, $connection->number()));

        return \is_int($copies) && $copies >= $this->replicas;
    }
}
