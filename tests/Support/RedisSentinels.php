<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\Config\Dsn;
use Larder\Config\Options;
use Larder\Console\Doctor\RedisUser;
use Larder\Lab\Service\Place;
use Larder\Lab\Service\Program;
use Predis\PredisException;

/** A Redis with two replicas, watched by three sentinels. */
final class RedisSentinels
{
    public const MASTER = 'shop';
    private const SENTINELS = 3;

    /** @var list<RedisServer> */
    public array $servers = [];

    /** @var list<int> */
    public array $ports = [];

    /** @var list<Program> */
    private array $sentinels = [];

    private readonly TemporaryDirectory $directory;

    /** @param array<string, string> $config of the servers */
    public function __construct(array $config = [], private readonly ?string $password = null)
    {
        $config += ['repl-diskless-sync-delay' => '0'] + ($password === null ? [] : ['requirepass' => $password, 'masterauth' => $password]);
        $this->directory = new TemporaryDirectory('larder-sentinels');
        $this->servers[] = $master = new RedisServer(config: $config);
        for ($i = 0; $i < 2; $i++) {
            $this->servers[] = new RedisServer(config: $config + ['replicaof' => "127.0.0.1 $master->port"]);
        }
        for ($i = 0; $i < self::SENTINELS; $i++) {
            $this->ports[] = $port = Place::freePort();
            $file = $this->directory->file("$i.conf");
            \file_put_contents($file, "port $port\nbind 127.0.0.1\ndir {$this->directory->path}\nsentinel monitor " . self::MASTER . " 127.0.0.1 $master->port 2\n"
                . 'sentinel down-after-milliseconds ' . self::MASTER . " 400\nsentinel failover-timeout " . self::MASTER . " 2000\n"
                . ($password === null ? 'user ' . RedisServer::USER . ' on >' . RedisServer::PASSWORD . ' ' . \implode(' ', RedisUser::ofSentinel()) . "\n" : 'sentinel auth-pass ' . self::MASTER . " $password\nrequirepass $password\nsentinel sentinel-pass $password\n"));
            $this->sentinels[] = $sentinel = new Program("sentinel $i", [(string) RedisServer::program(), $file, '--sentinel'], $this->directory->path);
            $sentinel->start();
        }
        $this->settle();
    }

    /**
     * For users who may do what `larder doctor` says that all doors need, and nothing else; or by the password.
     *
     * @param string $options as in a query
     */
    public function dsn(string $options = '', string ...$prefixes): string
    {
        $user = ":$this->password@";
        $query = ["sentinel_password=$this->password"];
        if ($this->password === null) {
            $rules = \array_merge(...\array_map(static fn(string $prefix): array => RedisUser::all(Dsn::parse('redis+sentinel://h/' . self::MASTER), $prefix), [Options::PREFIX, ...\array_values($prefixes)]));
            foreach ($this->servers as $server) {
                $user = $server->permit(\array_values(\array_unique($rules)));
            }
            $query = ['sentinel_user=' . RedisServer::USER, 'sentinel_password=' . RedisServer::PASSWORD];
        }
        $options === '' || $query[] = $options;

        return "redis+sentinel://$user" . \implode(',', \array_map(static fn(int $port): string => "127.0.0.1:$port", $this->ports)) . '/' . self::MASTER . '?' . \implode('&', $query);
    }

    /** @param ?RedisServer $silent which cannot be asked */
    public function primary(?RedisServer $silent = null): RedisServer
    {
        foreach ($this->servers as $server) {
            if ($server !== $silent && self::isPrimary($server)) {
                return $server;
            }
        }
        throw new \LogicException('There is none.');
    }

    /** Lets Sentinel give the name to another server, and waits until every sentinel has heard of it. */
    public function failOver(): void
    {
        $old = $this->primary();
        Wait::until(function () use ($old): bool {
            try {
                // One of them: several would each promote a replica of its own choice, and then disagree for long.
                RedisServer::ask("tcp://127.0.0.1:{$this->ports[0]}", $this->password, 'SENTINEL', 'FAILOVER', self::MASTER);

                return true;
            } catch (\RuntimeException) {
                // Too early, or one is under way.
                return !self::isPrimary($old);
            }
        }, 'the fail-over to begin');
        $this->awaitSuccessor($old);
        $this->settle();
    }

    /** Kills the primary, and waits for another. */
    public function killPrimary(): void
    {
        $old = $this->primary();
        $old->kill();
        $this->awaitSuccessor($old);
    }

    /** Waits until each replica that runs has what the primary has: Sentinel may promote any of them. */
    public function awaitReplicas(): void
    {
        $primary = $this->primary();
        $sent = self::offset($primary, 'master');
        foreach ($this->servers as $server) {
            $server === $primary || !$server->isRunning() || Wait::until(static fn(): bool => self::offset($server, 'slave') >= $sent, 'a replica');
        }
    }

    private static function offset(RedisServer $server, string $role): int
    {
        return (int) (\preg_match("/^{$role}_repl_offset:(\d+)/m", $server->info('replication'), $found) === 1 ? $found[1] : -1);
    }

    private function awaitSuccessor(RedisServer $old): void
    {
        Wait::until(fn(): bool => !self::isPrimary($old) && \array_filter($this->servers, self::isPrimary(...)) !== [], 'another primary');
    }

    /**
     * Waits until all sentinels name the same living primary.
     *
     * Where only the one that led a fail-over has heard of its result and the new primary then stops, no majority
     * ever calls it down: Sentinel finds no other primary.
     */
    public function settle(): void
    {
        Wait::until(fn(): bool => $this->agree(), 'the sentinels');
    }

    private static function isPrimary(RedisServer $server): bool
    {
        try {
            return $server->isRunning() && \str_contains((string) $server->command('INFO', 'replication'), 'role:master');
        } catch (PredisException) {
            // Sentinel closes all connections to one that it demotes.
            return false;
        }
    }

    /** @return list<string> RedisServer::refusals() of those that run */
    public function refusals(): array
    {
        return \array_merge(...\array_map(self::refusalsOf(...), \array_values($this->servers)));
    }

    /** @return list<string> */
    private static function refusalsOf(RedisServer $server): array
    {
        $refusals = [];
        Wait::until(static function () use ($server, &$refusals): bool {
            try {
                $refusals = $server->isRunning() ? $server->refusals() : [];

                return true;
            } catch (PredisException) {
                // Sentinel closes all connections to one that it demotes: also to a former primary that has just come back.
                return false;
            }
        }, 'an answer');

        return $refusals;
    }

    public function stop(): void
    {
        foreach ($this->sentinels as $sentinel) {
            $sentinel->kill();
        }
        foreach ($this->servers as $server) {
            $server->stop();
        }
    }

    /** @return list<mixed> what each sentinel answers */
    public function ask(string ...$command): array
    {
        return \array_map(fn(int $port): mixed => RedisServer::ask("tcp://127.0.0.1:$port", $this->password, ...$command), $this->ports);
    }

    private function agree(): bool
    {
        try {
            $primary = $this->primary()->port;
            foreach ($this->ask('SENTINEL', 'MASTERS') as $masters) {
                $text = (string) \json_encode($masters);
                if (!\str_contains($text, "\"port\",\"$primary\"") || !\str_contains($text, '"num-slaves","2"') || !\str_contains($text, '"num-other-sentinels","2"') || !\str_contains($text, '"flags","master"')) {
                    return false;
                }
            }

            return true;
        } catch (\Exception) {
            return false;
        }
    }
}
