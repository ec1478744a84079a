<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

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
     */
    public function __construct(private readonly \Closure $connect, private readonly bool $hasSlots) {}

    /** The hash tag of a name's keys, with its braces. */
    public static function tag(string $name): string
    {
        return '{' . \crc32($name) % self::COUNT . '}';
    }

    /**
     * The tags of all keys.
     *
     * @return non-empty-array<string, string> what connection() takes => the tags there, as a pattern of SCAN
     */
    public function tags(): array
    {
        if (!$this->hasSlots) {
            return ['{0}' => '{*}'];
        }
        $tags = \array_map(static fn(int $shard): string => '{' . $shard . '}', \range(0, self::COUNT - 1));

        return \array_combine($tags, $tags);
    }

    /** The connection to the server that has the keys with this tag. */
    public function connection(string $tag): RedisConnection
    {
        return $this->connections[$this->hasSlots ? $tag : ''] ??= ($this->connect)(\substr($tag, 1, -1));
    }
}
