<?php

declare(strict_types=1);

namespace Larder\Tests\Console;

use Larder\Cache;
use Larder\Console\Application;
use Larder\Console\Doctor\RedisFingerprints;
use Larder\Console\Doctor\RedisNode;
use Larder\Console\Doctor\RedisNodes;
use Larder\Console\Doctor\RedisServers;
use Larder\Lab\Service\Place;
use Larder\Lab\Service\Program;
use Larder\Tests\Config\Child;
use Larder\Tests\Support\RedisCluster;
use Larder\Tests\Support\RedisSentinels;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\ShiftedClock;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Console\Tester\ApplicationTester;

/** What `larder doctor` says of several servers, each of them a real one. */
#[CoversClass(RedisServers::class)]
#[CoversClass(RedisNodes::class)]
#[CoversClass(RedisNode::class)]
#[CoversClass(RedisFingerprints::class)]
final class RedisServersTest extends TestCase
{
    protected function setUp(): void
    {
        RedisServer::demand();
    }

    public function testALineSaysWhatAServerIs(): void
    {
        $primary = new RedisServer(config: ['maxmemory' => '10mb', 'maxmemory-policy' => 'allkeys-lru', 'repl-diskless-sync-delay' => '0']);
        $replica = new RedisServer(config: ['replicaof' => "127.0.0.1 $primary->port"]);
        Wait::until(static fn(): bool => \str_contains((string) $primary->command('INFO', 'replication'), 'state=online'), 'the replica');
        $said = self::doctor("redis://127.0.0.1:$primary->port");
        self::assertMatchesRegularExpression("/^127.0.0.1:$primary->port  primary, (Redis|Valkey) [\\d.]+, ping [\\d.]+ (us|ms), clock [+-]0.0 s, 10.00M allkeys-lru, no AOF, .+, 1 replica \\([\\d.]+ K?i?B behind\\)$/", self::one($said, 'ok', 'node 1'));
        self::assertSame([], self::all($said, 'persistence'), 'What evicts holds a cache alone.');
        $primary->command('CONFIG', 'SET', 'maxmemory', '0');
        self::assertStringContainsString("127.0.0.1:$primary->port", self::one(self::doctor("redis://127.0.0.1:$primary->port"), 'warn', 'persistence'));
        $primary->command('CONFIG', 'SET', 'appendonly', 'yes');
        self::assertSame([], self::all(self::doctor("redis://$primary->socket"), 'persistence'));
        $said = self::doctor("redis://127.0.0.1:$replica->port");
        self::assertStringContainsString('is a replica, which takes no write', self::one($said, 'fail', 'role'));
        self::assertStringContainsString("of 127.0.0.1:$primary->port", self::one($said, 'ok', 'node 1'));
        $primary->command('CONFIG', 'SET', 'maxmemory-policy', 'volatile-ttl');
        self::assertStringContainsString('volatile-ttl', self::one(self::doctor("redis://$primary->socket"), 'warn', 'eviction'));
        $primary->kill();
        Wait::until(static fn(): bool => \str_contains((string) $replica->command('INFO', 'replication'), 'master_link_status:down'), 'the link to break');
        self::assertStringContainsString("127.0.0.1:$replica->port has no link", self::one(self::doctor("redis://127.0.0.1:$replica->port"), 'warn', 'replica link'));
    }

    public function testADiskThatTakesNothing(): void
    {
        $server = new RedisServer(config: ['maxmemory' => '10mb', 'maxmemory-policy' => 'allkeys-lru']);
        // In the place of the snapshot's file.
        \mkdir("$server->dir/dump.rdb");
        $server->command('BGSAVE');
        Wait::until(static fn(): bool => \str_contains($server->info('persistence'), 'rdb_last_bgsave_status:err'), 'the snapshot to fail');
        self::assertStringContainsString($server->socket, self::one(self::doctor("redis://$server->socket"), 'fail', 'persistence'));
    }

    public function testEachNodeOfAClusterIsAsked(): void
    {
        $cluster = new RedisCluster(replicas: true);
        try {
            // Two names are enough: the nodes know the others. One of them twice.
            $dsn = (string) \preg_replace('~@([^,?]+),([^,?]+)[^?]*~', '@$1,$2,' . '127.1:' . $cluster->nodes[0]->port, $cluster->dsn());
            $said = self::doctor($dsn);
            self::assertSame(['node 1', 'node 2', 'node 3', 'node 4', 'node 5', 'node 6'], \array_values(\array_filter(\array_column($said, 'subject'), static fn(string $subject): bool => \str_starts_with($subject, 'node '))));
            self::assertStringContainsString('primary', self::one($said, 'ok', 'node 3'));
            self::assertStringContainsString('replica', self::one($said, 'ok', 'node 4'));
            foreach (['replicas', 'replica link', 'slots', 'role', 'clock', 'versions', 'eviction'] as $subject) {
                self::assertSame([], self::all($said, $subject), $subject);
            }
            self::assertStringContainsString('cluster-node-timeout', self::one($said, 'note', 'cut off'));
            $replica = $cluster->replica($cluster->nodes[1]) ?? self::fail('It has none.');
            $cluster->nodes[2]->command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
            // No node tells the others that it has lost one. The one that has it is the first, or the others would learn of it again.
            $primaries = [$cluster->nodes[2], $cluster->nodes[0], $cluster->nodes[1]];
            Wait::until(static function () use ($primaries): bool {
                $having = \array_filter($primaries, static fn(RedisServer $node): bool => \str_contains((string) $node->command('CLUSTER', 'INFO'), 'cluster_slots_assigned:16384'));
                foreach ($having as $node) {
                    $node->command('CLUSTER', 'DELSLOTS', '16383');
                }

                return $having === [];
            }, 'all to forget a slot');
            $replica->kill();
            Wait::until(static fn(): bool => \str_contains((string) $cluster->nodes[1]->command('INFO', 'replication'), 'connected_slaves:0'), 'the primary to notice');
            $said = self::doctor($cluster->dsn());
            self::assertStringContainsString("127.0.0.1:{$cluster->nodes[1]->port} has none", self::one($said, 'warn', 'replicas'));
            self::assertNotSame([], \array_filter($said, static fn(array $finding): bool => $finding['level'] === 'warn' && \str_starts_with($finding['text'], "127.0.0.1:$replica->port") && \str_contains($finding['text'], 'does not answer')));
            self::assertStringContainsString('allkeys-lru', self::one($said, 'warn', 'eviction'));
            self::assertStringContainsString("1 of the cluster's slots", self::one($said, 'fail', 'slots'));
            foreach ($primaries as $primary) {
                // Nobody is left who could elect another.
                $primary->kill();
            }
            self::assertSame('none of them is a primary', self::one(self::doctor($cluster->dsn()), 'fail', 'role'));
        } finally {
            $cluster->stop();
        }
    }

    public function testEachSentinelIsAsked(): void
    {
        $sentinels = new RedisSentinels();
        try {
            $said = self::doctor($sentinels->dsn());
            self::assertSame('3 of 3 agree', self::one($said, 'ok', 'sentinels'));
            self::assertSame('ACL SETUSER larder reset on >PASSWORD +sentinel|get-master-addr-by-name +sentinel|master +sentinel|replicas', self::one($said, 'note', 'acl sentinel'));
            self::assertStringContainsString('replica', self::one($said, 'ok', 'node 3'));
            self::assertStringContainsString("127.0.0.1:{$sentinels->servers[0]->port}", self::one($said, 'warn', 'cut off'));
            foreach ($sentinels->servers as $server) {
                $server->command('CONFIG', 'SET', 'min-replicas-to-write', '1');
            }
            $port = Place::freePort();
            $said = self::doctor(\str_replace(":{$sentinels->ports[0]}", ":$port", $sentinels->dsn()));
            self::assertSame([], self::all($said, 'cut off'));
            self::assertStringContainsString("127.0.0.1:$port", self::one($said, 'warn', 'sentinel'));
            self::assertSame('2 of 3 agree', self::one($said, 'warn', 'sentinels'));
            RedisServer::ask("tcp://127.0.0.1:{$sentinels->ports[2]}", null, 'SENTINEL', 'REMOVE', 'shop');
            RedisServer::ask("tcp://127.0.0.1:{$sentinels->ports[2]}", null, 'SENTINEL', 'MONITOR', 'shop', '127.0.0.1', '1', '2');
            self::assertStringContainsString('names another primary, 127.0.0.1:1', self::one(self::doctor($sentinels->dsn()), 'warn', 'sentinel'));
        } finally {
            $sentinels->stop();
        }
    }

    public function testAReplicaThatStandsStillIsLate(): void
    {
        $primary = new RedisServer(config: ['repl-diskless-sync-delay' => '0']);
        $replica = new RedisServer(config: ['replicaof' => "127.0.0.1 $primary->port"]);
        Wait::until(static fn(): bool => \str_contains((string) $primary->command('INFO', 'replication'), 'state=online'), 'the replica');
        self::assertSame([], self::all(self::doctor("redis://$primary->socket"), 'replica lag'));
        $replica->pause();
        $primary->command('SET', 'large', \str_repeat('x', 2 << 20));
        self::assertStringContainsString("127.0.0.1:$replica->port", self::one(self::doctor("redis://$primary->socket"), 'warn', 'replica lag'));
        $replica->resume();
    }

    public function testClocksThatDiffer(): void
    {
        ShiftedClock::demand();
        $server = new RedisServer();
        $child = Child::run([\PHP_BINARY, \dirname(__DIR__, 2) . '/bin/larder', 'doctor', '--json', "--dsn=redis://127.0.0.1:$server->port"], ShiftedClock::environment('-90') + ['DONT_FAKE_MONOTONIC' => '1']);
        ShiftedClock::forget($child->pid);
        self::assertMatchesRegularExpression("/^that of 127.0.0.1:$server->port is (90.0|89.9) s ahead of this/", self::one(self::findings($child->output), 'warn', 'clock'));
    }

    public function testAServerThatIsFarAway(): void
    {
        $server = new RedisServer();
        $directory = new TemporaryDirectory();
        $proxy = new Program('the delaying proxy', [\PHP_BINARY, '-n', \dirname(__DIR__, 2) . '/lab/Service/proxy.php', "tcp://127.0.0.1:$server->port", '10000000', '100000000', $directory->file('port')], $directory->path);
        $proxy->start();
        $proxy->await(static fn(): bool => \file_exists($directory->file('port')));
        $port = (int) \file_get_contents($directory->file('port'));
        self::assertStringContainsString("127.0.0.1:$port", self::one(self::doctor("redis://127.0.0.1:$port?timeout=5"), 'warn', 'latency'));
        $proxy->stop();
    }

    /** By a copy of the program that calls itself by another version. */
    public function testVersionsThatDiffer(): void
    {
        $program = (string) RedisServer::program();
        $bytes = (string) \file_get_contents($program);
        self::assertSame(1, \preg_match('/v=(\d+\.\d+\.\d+)/', (string) \shell_exec(\escapeshellarg($program) . ' --version'), $version));
        $directory = new TemporaryDirectory();
        $one = new RedisServer(config: $config = ['cluster-enabled' => 'yes', 'cluster-port' => (string) Place::freePort()]);
        if (\str_starts_with($bytes, '#!')) {
            // A script that starts it: this machine's own is another one.
            \putenv('LARDER_REDIS');
        } else {
            $directory->write('server', \str_replace($version[1], \strrev($version[1]), $bytes));
            \chmod($directory->file('server'), 0o755);
            \putenv('LARDER_REDIS=' . $directory->file('server'));
        }
        try {
            $other = new RedisServer(config: ['cluster-port' => (string) Place::freePort()] + $config);
        } finally {
            \putenv('LARDER_REDIS' . (\str_starts_with($bytes, '#!') ? "=$program" : ''));
        }
        self::assertStringContainsString(' ' . $version[1], self::one(self::doctor("redis+cluster://127.0.0.1:$one->port,127.0.0.1:$other->port"), 'warn', 'versions'));
        self::assertSame([], self::all(self::doctor("redis+cluster://127.0.0.1:$one->port"), 'versions'));
    }

    public function testAnotherSecretIsNoticedAndNoneIsTold(): void
    {
        $server = new RedisServer();
        $dsn = "redis://$server->socket?secret=";
        self::assertSame([], self::all(self::doctor($dsn . 'hunter-2'), 'secret'));
        self::assertSame([], self::all(self::doctor($dsn . 'hunter-2'), 'secret'), 'the same server again');
        $note = (string) $server->command('GET', 'larder:doctor');
        self::assertStringNotContainsString('hunter', $note);
        self::assertLessThan(100, \strlen($note));
        $told = self::one(self::doctor($dsn . 'hunter-3'), 'fail', 'secret');
        self::assertStringContainsString('is not that of ' . \php_uname('n') . ' (another, ', $told);
        self::assertStringNotContainsString('hunter', $told);
        // As from another server.
        $server->command('SET', 'larder:doctor', (string) \json_encode(["web\e[2J-2" => \json_decode($note, true)[\php_uname('n')], 'bad' => 1]));
        self::assertStringContainsString('the same as on web\x1b[2J-2', self::one(self::doctor($dsn . 'hunter-2'), 'ok', 'secret'), 'no control character reaches a terminal');
        self::assertMatchesRegularExpression('/^this server has none, unlike .*web\\\\x1b\[2J-2 \(another, /', self::one(self::doctor("redis://$server->socket"), 'fail', 'secret'));
        $server->command('SET', 'larder:doctor', 'nonsense');
        self::assertSame([], self::all(self::doctor($dsn . 'hunter-2'), 'secret'));
        self::assertGreaterThan(2_500_000_000, $server->command('PTTL', 'larder:doctor'));
        self::assertTrue(Cache::open("redis://$server->socket")->flush());
    }

    public function testAnotherPrefixIsNoticed(): void
    {
        $server = new RedisServer();
        self::assertSame([], self::all(self::doctor("redis://$server->socket?prefix=shop"), 'other prefixes'));
        self::assertStringStartsWith('shop: another cache', self::one(self::doctor("redis://$server->socket?prefix=shop2"), 'note', 'other prefixes'));
    }

    /** @return list<array{level: string, subject: string, text: string}> */
    private static function doctor(string $dsn): array
    {
        $application = new Application();
        $application->setAutoExit(false);
        $tester = new ApplicationTester($application);
        $tester->run(['command' => 'doctor', '--dsn' => $dsn, '--json' => true], ['capture_stderr_separately' => true]);

        return self::findings($tester->getDisplay());
    }

    /** @return list<array{level: string, subject: string, text: string}> */
    private static function findings(string $json): array
    {
        $document = \json_decode($json, true, flags: \JSON_THROW_ON_ERROR);
        self::assertIsArray($document);
        self::assertIsArray($document['findings']);

        /** @var list<array{level: string, subject: string, text: string}> */
        return $document['findings'];
    }

    /**
     * @param list<array{level: string, subject: string, text: string}> $said
     *
     * @return list<string>
     */
    private static function all(array $said, string $subject): array
    {
        return \array_column(\array_filter($said, static fn(array $finding): bool => $finding['subject'] === $subject), 'text');
    }

    /** @param list<array{level: string, subject: string, text: string}> $said */
    private static function one(array $said, string $level, string $subject): string
    {
        $found = \array_values(\array_filter($said, static fn(array $finding): bool => $finding['subject'] === $subject));
        self::assertSame([$level], \array_column($found, 'level'), "$subject: " . \json_encode($found));

        return $found[0]['text'];
    }
}
