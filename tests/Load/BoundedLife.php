<?php

declare(strict_types=1);

namespace Larder\Tests\Load;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;

/**
 * What the bounded life costs where it matters: keys whose values differ each time they are computed, asked for by
 * two servers at once. The very same requests go to plain Redis, where the last writer wins.
 *
 * A server here is a PHP process and what it has forked, with an APCu of their own; both stand before one real Redis,
 * which they name differently (socket, port), so that they share no lock file either.
 */
final class BoundedLife
{
    /** Seconds that a value takes to be computed, and that it lives. */
    public const COMPUTATION = 0.2;
    public const LIFE = 3600;

    private const SERVERS = 2;

    /** Runs in each server's first process: forks the others and prints what each did, a line of JSON each. */
    private const SERVER = <<<'PHP'
        $setting = json_decode($argv[1], true, 512, JSON_THROW_ON_ERROR);
        set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new ErrorException($message, 0, $level, $file, $line);
        });
        $children = [];
        for ($i = 0; $i < $setting['processes']; $i++) {
            $child = pcntl_fork();
            if ($child === 0) {
                mt_srand(getmypid());
                $driver = new Larder\Tests\Load\Driver(
                    ['larder' => new Larder\Tests\Load\LarderSide($setting['options']), 'plain' => new Larder\Tests\Load\PlainSide($setting['socket'])],
                    $setting['keys'],
                    $setting['rate'],
                );
                $did = $driver->run($setting['start'], $setting['seconds'], $i === 0 ? $setting['flush'] : null);
                file_put_contents('php://stdout', json_encode($did, JSON_THROW_ON_ERROR) . "\n");
                exit(0);
            }
            $children[] = $child;
        }
        foreach ($children as $child) {
            pcntl_waitpid($child, $status);
        }
        PHP;

    /**
     * @param float   $rate      gets a second of each key, from all servers together
     * @param int     $processes a server
     * @param ?string $near      'apcu' or null
     * @param ?float  $flush     seconds after the start at which everything is flushed, on both sides
     */
    public function __construct(
        private readonly float $seconds,
        private readonly int $keys = 50,
        private readonly float $rate = 100.0,
        private readonly int $processes = 2,
        private readonly ?string $near = null,
        private readonly ?float $flush = null,
    ) {}

    /** @return array<string, array<string, int|float>> by side: gets, misses, sets, and what became of the values */
    public function run(): array
    {
        $redis = new RedisServer();
        $keys = [];
        for ($i = 0; $i < $this->keys; $i++) {
            $keys[] = "remote answer $i";
        }
        $servers = [];
        $start = \microtime(true) + 1.0;
        foreach (['redis://' . $redis->socket, 'redis://127.0.0.1:' . $redis->port] as $i => $dsn) {
            $setting = [
                'options' => ['far' => $dsn, 'near' => $this->near, 'timeout' => 2.0],
                'socket' => $redis->socket,
                'keys' => $keys,
                'rate' => $this->rate / self::SERVERS / $this->processes,
                'processes' => $this->processes,
                'start' => $start,
                'seconds' => $this->seconds,
                'flush' => $i === 0 ? $this->flush : null,
            ];
            $servers[] = Process::snippet(self::SERVER, [\json_encode($setting, \JSON_THROW_ON_ERROR)]);
        }
        $sum = [];
        foreach ($servers as $server) {
            for ($i = 0; $i < $this->processes; $i++) {
                $line = $server->line($this->seconds + 60.0);
                if ($line === null) {
                    throw new \RuntimeException('A server ended: ' . $server->errors());
                }
                /** @var array<string, array<string, int|float>> $did */
                $did = \json_decode($line, true, 512, \JSON_THROW_ON_ERROR);
                foreach ($did as $side => $counts) {
                    foreach ($counts as $name => $count) {
                        $sum[$side][$name] = $name === 'latest' ? \max($sum[$side][$name] ?? 0, $count) : ($sum[$side][$name] ?? 0) + $count;
                    }
                }
            }
            $server->wait();
        }
        $redis->kill();

        return $sum;
    }

    /** @param array<string, int|float> $did */
    public static function hitRatio(array $did): float
    {
        return 100 * (1 - $did['misses'] / \max(1, $did['gets']));
    }
}
