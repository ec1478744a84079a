<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\Driver\Redis\Endpoint;
use Larder\Lab\Service\Place;

/**
 * A single endpoint as providers and proxies run them (ElastiCache Serverless, Envoy), stricter than any of them, in a process
 * of its own before a real server that is a cluster of one node.
 *
 * It shows one virtual node, hides run id and role, and refuses SELECT, CONFIG, MEMORY, KEYS, more than 1,000 keys or 3,999
 * arguments. Each script gets "#!lua", and a user who may touch the declared keys only, and use no INFO, SCAN or MEMORY: so the
 * server itself refuses what it should not do, and tells in its ACL LOG.
 */
final class StrictEndpoint
{
    public readonly int $port;

    private readonly TemporaryDirectory $directory;
    private readonly Process $process;

    public function __construct(private RedisServer $server)
    {
        $this->directory = new TemporaryDirectory('larder-endpoint');
        $this->port = Place::freePort();
        $this->lead($server);
        $this->forget(0);
        $this->process = Process::php(__DIR__ . '/strict-endpoint.php', [(string) $this->port, $this->directory->path]);
        $this->process->expect('ready');
    }

    /**
     * A server for behind it.
     *
     * @param array<string, string> $config
     */
    public static function server(array $config = [], bool $appendOnly = false): RedisServer
    {
        $server = new RedisServer(config: $config + ['cluster-enabled' => 'yes', 'cluster-port' => (string) Place::freePort(), 'acllog-max-len' => '1000'], appendOnly: $appendOnly);
        $server->command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
        self::await($server);

        return $server;
    }

    public static function await(RedisServer $server): void
    {
        Wait::until(static fn(): bool => \str_contains((string) $server->command('CLUSTER', 'INFO'), 'cluster_state:ok'), 'the cluster of one');
    }

    /** Gives a server what another one has at one moment, as a replica has it that got no more. */
    public static function copy(RedisServer $from, RedisServer $to): void
    {
        $to->command('FLUSHALL');
        $dumps = (array) $from->command('EVAL', "local all = redis.call('KEYS', '*') for i, key in ipairs(all) do all[i] = {key, redis.call('DUMP', key), tostring(math.max(0, redis.call('PTTL', key)))} end return all", '0');
        foreach ($dumps as $dump) {
            \assert(\is_array($dump));
            [$key, $value, $left] = $dump;
            $to->command('RESTORE', $key, $left, $value);
        }
    }

    /** Leads to another server from now on, in the middle of its clients' connections. */
    public function lead(RedisServer $server): void
    {
        $this->server = $server;
        $this->write('target', (string) $server->port);
    }

    /** @param int $oneIn one in how many calls of a known script is answered by NOSCRIPT; 0: none */
    public function forget(int $oneIn): void
    {
        $this->write('forgets', (string) $oneIn);
    }

    public function endpoint(float $timeout = 5.0): Endpoint
    {
        return new Endpoint('127.0.0.1', $this->port, timeout: $timeout, isSingle: true);
    }

    /** @param string $options as in a query */
    public function dsn(string $options = 'timeout=5'): string
    {
        return "redis+single://127.0.0.1:$this->port?$options";
    }

    /** @return list<string> what was refused since the last call, but for NOSCRIPT and sums that do not fit; and what scripts have tried in vain */
    public function refused(): array
    {
        $file = $this->directory->file('refused');
        $refused = \is_file($file) ? \file($file, \FILE_IGNORE_NEW_LINES) ?: [] : [];
        $refused === [] || \unlink($file);
        foreach ((array) $this->server->command('ACL', 'LOG') as $entry) {
            \assert(\is_array($entry));
            // reason, context, object
            $refused[] = "script: $entry[3] $entry[7]";
        }
        $this->server->command('ACL', 'LOG', 'RESET');

        return $refused;
    }

    public function pid(): int
    {
        return $this->process->pid;
    }

    private function write(string $name, string $text): void
    {
        $file = $this->directory->file($name);
        \file_put_contents("$file.new", $text);
        \rename("$file.new", $file);
    }
}
