<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Config\InvalidConfiguration;
use Larder\Counter;
use Larder\Queue\Message;
use Larder\Queue\Queue;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\TestCase;

/** What a request leaves on a connection that php-fpm keeps must not reach the next one. */
final class PersistentConnectionTest extends TestCase
{
    private RedisServer $redis;
    private FpmServer $fpm;
    private \Redis $client;
    private string $dsn;

    protected function setUp(): void
    {
        if (RedisServer::program() === null || !FpmServer::isAvailable() || !\extension_loaded('redis')) {
            self::markTestSkipped('Needs redis-server or valkey-server, php-fpm and the extension redis.');
        }
        $this->redis = new RedisServer();
        $this->dsn = "redis://{$this->redis->socket}";
        // phpredis asks whether a connection answers, before it hands it on; an owner may switch that off.
        $this->fpm = new FpmServer(1, ini: ['memory_limit' => '26M', 'redis.pconnect.echo_check_liveness' => 0, 'display_errors' => 0]);
        $this->client = new \Redis();
        $this->client->connect($this->redis->socket);
    }

    /** @return string what the script printed */
    private function request(string $code): string
    {
        return $this->fpm->request($this->fpm->script(\md5($code) . '.php', \strtr($code, [
            '{queue}' => "Larder\\Queue\\Queue::open('{$this->dsn}?persistent=1', 'mail')",
            '{counter}' => "Larder\\Counter::open('{$this->dsn}?persistent=1', 'hits')",
            '{redis}' => "\$r = new Redis(); \$r->pconnect('{$this->redis->socket}', 0)",
        ])))->body;
    }

    /** @return list<int> the server's numbers of the web server's connections */
    private function connections(): array
    {
        $list = $this->client->client('list');
        self::assertIsArray($list);
        $own = $this->client->rawCommand('CLIENT', 'ID');

        return \array_values(\array_filter(\array_map(\intval(...), \array_column($list, 'id')), static fn(int $id): bool => $id !== $own));
    }

    public function testTheNextRequestUsesTheSameConnection(): void
    {
        self::assertMatchesRegularExpression('/^mail-/', $this->request('echo {queue}->push("one");'));
        $connections = $this->connections();
        self::assertCount(1, $connections);
        self::assertMatchesRegularExpression('/^mail-/', $this->request('echo {queue}->push("two");'));
        self::assertSame('1', $this->request('echo {counter}->add();'));
        self::assertSame($connections, $this->connections());
        self::assertSame([2, 1], [Queue::open($this->dsn, 'mail')->size(), Counter::open($this->dsn, 'hits')->value()]);
    }

    public function testAnotherProgramsDatabaseIsNotTheQueues(): void
    {
        $this->request('{redis}; $r->select(3); $r->watch("k"); $r->client("setname", "other");');
        $connections = $this->connections();
        $this->request('{queue}->push("one");');
        self::assertSame($connections, $this->connections());
        self::assertSame(1, Queue::open($this->dsn, 'mail')->size());
    }

    /** Of two replies to one command phpredis reads the first. */
    public function testAReplyThatAnotherProgramHasNotReadReachesNobody(): void
    {
        $this->request('{redis}; $r->rawCommand("SUBSCRIBE", "a", "b");');
        self::assertCount(1, $this->connections());
        $this->pushes();
    }

    /** It has no memory for the reply that it reads. */
    public function testARequestThatDiesInTheMiddleOfAReplyLeavesNoConnection(): void
    {
        Queue::open("$this->dsn?timeout=30", 'mail')->push(\str_repeat('large ', 3_000_000));
        $this->request('{queue}->push("first");');
        self::assertCount(1, $this->connections());
        $pid = $this->request('echo getmypid();');
        self::assertSame('', $this->request('$held = str_repeat(".", 14_000_000); {queue}->pop(); echo "alive";'));
        self::assertSame($pid, $this->request('echo getmypid();'));
        self::assertSame([], $this->connections());
        $this->pushes();
    }

    private function pushes(): void
    {
        [$id, $count] = \explode(' ', $this->request('echo {queue}->push("second"), " ", {counter}->add();')) + ['', ''];
        self::assertSame(['1', 1], [$count, Counter::open($this->dsn, 'hits')->value()]);
        self::assertContains($id, \array_map(static fn(Message $message): string => $message->id, Queue::open($this->dsn, 'mail')->popMany(9)));
    }

    public function testAKilledWorkersWaitIsOver(): void
    {
        $this->request('{queue}->push("first"); {queue}->pop()->ack();');
        $connection = $this->fpm->connect();
        $connection->send($this->fpm->script('wait.php', "file_put_contents('{$this->fpm->directory}/pid', getmypid()); Larder\\Queue\\Queue::open('{$this->dsn}?persistent=1', 'mail')->pop(60, 30.0);"));
        while (($this->client->info('clients')['blocked_clients'] ?? 0) < 1) {
            \usleep(2_000);
        }
        \posix_kill((int) \file_get_contents("{$this->fpm->directory}/pid"), \SIGKILL);
        $connection->close();
        self::assertMatchesRegularExpression('/^mail-\S+ second$/', $this->request('echo {queue}->push("second"), " ", {queue}->pop()->body;'));
        self::assertSame(0, $this->client->info('clients')['blocked_clients']);
    }

    public function testOthersThanPhpredisRefuseTheOption(): void
    {
        foreach ([static fn() => Queue::open('sqlite:///tmp/queue?persistent=1'), static fn() => Queue::open('predis://localhost?persistent=1'), static fn() => Counter::open('sqlite:///tmp/counters?persistent=1', 'hits')] as $open) {
            try {
                $open();
                self::fail('It took the option.');
            } catch (InvalidConfiguration $refusal) {
                self::assertStringContainsString('"persistent"', $refusal->getMessage());
            }
        }
    }
}
