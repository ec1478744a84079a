<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\RedisCluster;
use Larder\Tests\Support\RedisSentinels;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\StrictEndpoint;
use Larder\Tests\Support\Wait;

/** The truth tier of the experiment: a directory, a Redis or a Memcached, and how it can suffer. */
final class Engine
{
    public const NAMES = ['sqlite', 'redis', 'memcached'];

    /** `small` ones evict anything, `full` ones refuse what is new. */
    public const ALL = [...self::NAMES, 'file', 'predis', 'redis-small', 'redis-full', 'memcached-small', 'sentinel', 'cluster', 'single'];

    /** What a Redis needs for its log, and a little more. */
    private const FEW = '2500kb';

    private ?RedisServer $redis = null;
    private ?MemcachedServer $memcached = null;
    private ?RedisSentinels $sentinels = null;
    private ?RedisCluster $cluster = null;
    private ?StrictEndpoint $single = null;

    /** @var list<RedisServer> behind the single endpoint: the one that it leads to, and the one that takes over */
    private array $behind = [];
    private ?string $snapshot = null;
    private bool $isMounted = false;
    private ?RedisServer $paused = null;

    /** @param bool $isSmall a directory lies on a file system of its own, where there is the right to mount one: see fill() */
    public function __construct(public readonly string $name, private readonly string $directory, bool $isSmall = false)
    {
        if ($isSmall && ($name === 'sqlite' || $name === 'file') && \posix_geteuid() === 0) {
            \mkdir($this->place(), 0o700);
            \exec('mount -t tmpfs -o size=16m,mode=0700 larder ' . \escapeshellarg($this->place()) . ' 2>&1', $said, $status);
            $this->isMounted = $status === 0;
        } elseif ($name === 'sentinel') {
            $this->sentinels = new RedisSentinels(['min-replicas-to-write' => '1', 'min-replicas-max-lag' => '1']);
        } elseif ($name === 'cluster') {
            $this->cluster = new RedisCluster(replicas: true);
        } elseif ($name === 'single') {
            $this->behind = [StrictEndpoint::server(), StrictEndpoint::server()];
            $this->single = new StrictEndpoint($this->behind[0]);
            $this->single->forget(20);
        } elseif (\str_contains($name, 'redis')) {
            $this->redis = new RedisServer(save: true, config: match ($name) {
                'redis-small' => ['maxmemory' => self::FEW, 'maxmemory-policy' => 'allkeys-random'],
                'redis-full' => ['maxmemory' => self::FEW, 'maxmemory-policy' => 'noeviction'],
                default => [],
            });
        } elseif (\str_contains($name, 'memcached')) {
            $this->memcached = new MemcachedServer($name === 'memcached' ? 64 : 4);
        }
    }

    public static function isAvailable(string $name): bool
    {
        return match ($name) {
            'redis', 'redis-small', 'redis-full' => \extension_loaded('redis') && RedisServer::program() !== null,
            'predis', 'sentinel', 'cluster', 'single' => RedisServer::program() !== null,
            'memcached', 'memcached-small' => \extension_loaded('memcached') && MemcachedServer::installed(),
            'file' => true,
            default => \extension_loaded('pdo_sqlite'),
        };
    }

    public function dsn(): string
    {
        return match (true) {
            $this->sentinels !== null => $this->sentinels->dsn('timeout=1', Door::PREFIX, Door::COUNTERS),
            $this->cluster !== null => $this->cluster->dsn('timeout=1', Door::PREFIX, Door::COUNTERS),
            $this->single !== null => $this->single->dsn('timeout=3'),
            $this->redis !== null => ($this->name === 'predis' ? 'predis://' : 'redis://') . $this->redis->socket,
            $this->memcached !== null => 'memcached://' . $this->memcached->address[0],
            default => $this->name . '://' . $this->place(),
        };
    }

    /** Whether its disk can be full. */
    public function canFill(): bool
    {
        return $this->isMounted;
    }

    /** Its disk is full. */
    public function fill(): void
    {
        // By another process: what a child has inherited is not gone before the child is.
        \exec('dd if=/dev/zero of=' . \escapeshellarg($this->place() . '/ballast') . ' bs=4k 2>/dev/null');
    }

    /** Its disk has room again. */
    public function free(): void
    {
        \unlink($this->place() . '/ballast');
    }

    /** @return list<string> what restart() can do to it */
    public function restarts(): array
    {
        return match (true) {
            $this->redis !== null => ['with its data', 'without its data', 'from an old snapshot'],
            $this->memcached !== null => ['without its data'],
            $this->sentinels !== null => ['fail-over', 'killed'],
            $this->cluster !== null => ['fail-over', 'killed', 'moved'],
            $this->single !== null => ['by an older one', 'by an empty one'],
            default => [],
        };
    }

    /** It may lose any record at any time. */
    public function forgets(): bool
    {
        return \str_ends_with($this->name, '-small');
    }

    /** All that it holds goes, and it runs on. */
    public function empty(): void
    {
        $this->redis?->command('FLUSHALL');
        $this->tell('FLUSHALL');
        $this->memcached?->talk('flush_all');
    }

    public function hasScripts(): bool
    {
        return $this->isServer() && $this->memcached === null;
    }

    /** Redis forgets the scripts that it was sent. */
    public function forgetScripts(): void
    {
        $this->redis?->command('SCRIPT', 'FLUSH');
        $this->tell('SCRIPT', 'FLUSH');
    }

    /** It keeps its connections and answers nothing. */
    public function pause(): void
    {
        $this->redis?->pause();
        $this->memcached?->pause();
        if ($this->settle()) {
            $this->paused = $this->primary();
            $this->paused?->pause();
        }
    }

    public function resume(Incidents $incidents): void
    {
        $this->redis?->resume();
        $this->memcached?->resume();
        $paused = $this->paused;
        $this->paused = null;
        $paused === null || $this->single !== null ? $paused?->resume() : $incidents->overlap(function () use ($paused): bool {
            $paused->resume();
            $this->settle() || throw new \RuntimeException('The servers do not agree on a primary.');

            return $this->primary() !== $paused;
        });
    }

    public function isServer(): bool
    {
        return $this->redis !== null || $this->memcached !== null || $this->sentinels !== null || $this->cluster !== null || $this->single !== null;
    }

    /** Keeps what it holds now, for a restart from an old snapshot. */
    public function keep(): void
    {
        if ($this->redis !== null) {
            $this->redis->command('SAVE');
            $this->snapshot = (string) \file_get_contents($this->redis->dir . '/dump.rdb');
        } elseif ($this->single !== null) {
            // As a replica that has got no more than this, when it takes over.
            StrictEndpoint::copy(...$this->behind);
        }
    }

    /** @return ?array{int, int} when another server took over: as failOver() */
    public function restart(string $how): ?array
    {
        if ($this->sentinels !== null || $this->cluster !== null) {
            return $this->failOver($how);
        }
        if ($this->single !== null) {
            $this->behind = \array_reverse($this->behind);
            $how === 'by an empty one' && $this->behind[0]->command('FLUSHALL');
            $this->single->lead($this->behind[0]);
        } elseif ($this->redis === null) {
            $this->memcached?->restart();
        } elseif ($how === 'from an old snapshot' && $this->snapshot !== null) {
            $this->redis->kill();
            \file_put_contents($this->redis->dir . '/dump.rdb', $this->snapshot);
            $this->redis->start();
        } else {
            $this->redis->restart($how !== 'without its data');
        }

        return null;
    }

    public function stop(): void
    {
        $this->redis?->kill();
        $this->memcached?->end();
        $this->sentinels?->stop();
        $this->cluster?->stop();
        \array_map(static fn(RedisServer $server) => $server->kill(), $this->behind);
        if ($this->isMounted) {
            \exec('umount -l ' . \escapeshellarg($this->place()));
            $this->isMounted = false;
        }
    }

    /**
     * The server that may be written to, of several.
     *
     * @param ?RedisServer $silent which cannot be asked
     */
    private function primary(?RedisServer $silent = null): ?RedisServer
    {
        try {
            return $this->behind[0] ?? $this->sentinels?->primary($silent) ?? $this->cluster?->owner(Door::PREFIX, $silent);
        } catch (\Exception) {
            // There is none now.
            return null;
        }
    }

    private function tell(string ...$command): void
    {
        try {
            $this->primary()?->command(...$command);
        } catch (\Exception) {
            // It has no replica now, or has just been demoted.
        }
    }

    /** Whether all of several servers have done with the fail-over before. */
    private function settle(): bool
    {
        try {
            $this->sentinels?->settle();
            $this->cluster?->settle(Door::PREFIX);

            return true;
        } catch (\Exception) {
            return false;
        }
    }

    /**
     * Another server takes over; the old one comes back as its replica.
     *
     * @return ?array{int, int} when it was not seen yet, and when it was (hrtime); null: that is not known
     */
    private function failOver(string $how): ?array
    {
        if (!$this->settle()) {
            return null;
        }
        $old = $this->primary();
        $turn = null;
        $last = 0;
        $others = function () use ($old, &$turn, &$last): bool {
            $now = \hrtime(true);
            $new = $this->primary($old);
            if ($new === null || $new === $old) {
                $last = $now;

                return false;
            }
            $turn = $last === 0 ? null : [$last, \hrtime(true)];

            return true;
        };
        try {
            if ($how === 'moved') {
                $this->cluster?->move(Door::PREFIX);
            } elseif ($how === 'killed') {
                $old?->kill();
                Wait::until($others, 'another primary', 20.0);
            } elseif ($this->sentinels !== null) {
                $this->sentinels->ask('SENTINEL', 'FAILOVER', RedisSentinels::MASTER);
                Wait::until($others, 'the fail-over', 10.0);
            } elseif (($replica = $this->cluster?->replica($old)) !== null) {
                $replica->command('CLUSTER', 'FAILOVER');
                // A slot that is moved in the middle of it has two owners for a moment, whatever its user does.
                Wait::until($others, 'the fail-over', 5.0);
            }
        } catch (\Exception) {
            // Too early: the servers have not yet done with the one before.
        }
        $old === null || $old->isRunning() || $old->start();

        return $turn;
    }

    private function place(): string
    {
        return $this->directory . '/truth';
    }
}
