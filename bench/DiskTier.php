<?php

declare(strict_types=1);

namespace Larder\Bench;

use Larder\Cache;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;

/**
 * First gets and sets of short values in SQLite, against phpredis on a Unix socket with a server of its own.
 *
 * A set's sample ends when another process has read the last value that was set, so that nothing counts as written
 * which only its writer can see.
 */
final readonly class DiskTier
{
    private const KEYS = 2_000;

    public function __construct(private Harness $harness) {}

    public function run(): string
    {
        if (!\extension_loaded('redis') || RedisServer::program() === null) {
            return "Disk tier: left out, it needs phpredis and redis-server (bin/setup installs them).\n\n";
        }
        $server = new RedisServer();
        $redis = new \Redis();
        $redis->connect($server->socket);
        $directory = new TemporaryDirectory('larder-b');
        $cache = Cache::open('sqlite://' . $directory->path);

        return $this->gets($redis, $cache) . $this->sets($redis, $cache, $server->socket, $directory->path);
    }

    private function gets(\Redis $redis, Cache $cache): string
    {
        $keys = [];
        for ($i = 0; $i < self::KEYS; ++$i) {
            $keys[] = $key = 'read:' . $i;
            $redis->set($key, Values::short($i));
            $cache->set($key, Values::short($i));
        }

        return $this->harness->compare(
            \sprintf('Disk tier (SQLite), first get of %d keys: short value', self::KEYS),
            new Side('phpredis, Unix socket', static function () use ($redis, $keys): void {
                foreach ($keys as $key) {
                    $redis->get($key);
                }
            }, null, static fn(): bool => self::all($keys, $redis->get(...)), self::KEYS),
            new Side('Cache::get', static function () use ($cache, $keys): void {
                foreach ($keys as $key) {
                    $cache->get($key);
                }
            }, static fn() => $cache->refresh(), static function () use ($cache, $keys): bool {
                $cache->refresh();

                return self::all($keys, $cache->get(...));
            }, self::KEYS),
        )->table([2 => 1 / 8]);
    }

    private function sets(\Redis $redis, Cache $cache, string $socket, string $directory): string
    {
        $redisReader = Process::snippet('
            $redis = new Redis();
            $redis->connect($argv[1]);
            while (($key = fgets(STDIN)) !== false) {
                echo $redis->get(trim($key)), "\n";
            }', [$socket]);
        $cacheReader = Process::snippet('
            $cache = Larder\Cache::open("sqlite://" . $argv[1]);
            while (($key = fgets(STDIN)) !== false) {
                $cache->refresh();
                echo $cache->get(trim($key)), "\n";
            }', [$directory]);

        return $this->harness->compare(
            \sprintf('Disk tier (SQLite), set of %d short values until another process has read the last', self::KEYS),
            $this->setting('phpredis, Unix socket', $redis->set(...), $redisReader),
            $this->setting('Cache::set', $cache->set(...), $cacheReader, static fn() => $cache->refresh()),
        )->table([2 => 1 / 4]);
    }

    /**
     * @param \Closure(string, string): mixed $set
     * @param ?\Closure(): mixed              $prepare
     */
    private function setting(string $name, \Closure $set, Process $reader, ?\Closure $prepare = null): Side
    {
        $number = 10_000_000;
        $run = static function (int $times) use ($set, $reader, &$number): void {
            $key = $value = '';
            for ($i = 0; $i < $times; ++$i) {
                $key = 'write:' . $i;
                $value = 'value ' . ++$number;
                $set($key, $value);
            }
            $reader->write($key . "\n");
            if ($reader->line() !== $value) {
                throw new \RuntimeException('The other process did not read what was set: ' . $reader->errors());
            }
        };

        return new Side($name, $run, $prepare, static function () use ($run): bool {
            for ($i = 0; $i < 20; ++$i) {
                $run(1 + $i);
            }

            return true;
        }, self::KEYS);
    }

    /**
     * @param list<string>             $keys
     * @param \Closure(string): mixed  $get
     */
    private static function all(array $keys, \Closure $get): bool
    {
        foreach ($keys as $i => $key) {
            if ($get($key) !== Values::short($i)) {
                return false;
            }
        }

        return true;
    }
}
