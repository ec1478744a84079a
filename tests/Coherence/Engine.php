<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\RedisServer;

/** The truth tier of the experiment: one SQLite directory, one Redis or one Memcached, and how it can suffer. */
final class Engine
{
    public const NAMES = ['sqlite', 'redis', 'memcached'];

    private ?RedisServer $redis = null;
    private ?MemcachedServer $memcached = null;
    private ?string $snapshot = null;

    public function __construct(public readonly string $name, private readonly string $directory)
    {
        if ($name === 'redis') {
            $this->redis = new RedisServer(save: true);
        } elseif ($name === 'memcached') {
            $this->memcached = new MemcachedServer();
        }
    }

    public static function isAvailable(string $name): bool
    {
        return match ($name) {
            'redis' => \extension_loaded('redis') && RedisServer::program() !== null,
            'memcached' => \extension_loaded('memcached') && MemcachedServer::installed(),
            default => \extension_loaded('pdo_sqlite'),
        };
    }

    public function dsn(): string
    {
        return match (true) {
            $this->redis !== null => 'redis://' . $this->redis->socket,
            $this->memcached !== null => 'memcached://' . $this->memcached->address[0],
            default => 'sqlite://' . $this->directory . '/truth',
        };
    }

    /** @return list<string> what restart() can do to it */
    public function restarts(): array
    {
        return match (true) {
            $this->redis !== null => ['with its data', 'without its data', 'from an old snapshot'],
            $this->memcached !== null => ['without its data'],
            default => [],
        };
    }

    /** Keeps what it holds now, for a restart from an old snapshot. */
    public function keep(): void
    {
        if ($this->redis !== null) {
            $this->redis->command('SAVE');
            $this->snapshot = (string) \file_get_contents($this->redis->dir . '/dump.rdb');
        }
    }

    public function restart(string $how): void
    {
        if ($this->redis === null) {
            $this->memcached?->restart();
        } elseif ($how === 'from an old snapshot' && $this->snapshot !== null) {
            $this->redis->kill();
            \file_put_contents($this->redis->dir . '/dump.rdb', $this->snapshot);
            $this->redis->start();
        } else {
            $this->redis->restart($how !== 'without its data');
        }
    }

    public function stop(): void
    {
        $this->redis?->kill();
        $this->memcached?->end();
    }
}
