<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Cache;
use Larder\Counter;
use Larder\Driver\Redis\Shards;
use Larder\Lock\Locks;
use Larder\Queue\Queue;
use Larder\Tests\Faults\Lines;
use Larder\Tests\Support\RedisCluster;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

/** A cache in one slot of a Redis Cluster. */
#[CoversNothing]
final class RedisClusterTest extends TestCase
{
    private RedisCluster $cluster;

    protected function setUp(): void
    {
        RedisServer::demand();
    }

    protected function tearDown(): void
    {
        if (isset($this->cluster)) {
            try {
                self::assertSame([], $this->cluster->refusals(), 'the user of larder doctor may do all this');
            } finally {
                $this->cluster->stop();
            }
        }
    }

    public function testAllKeysOfACacheAreInOneSlot(): void
    {
        $this->cluster = new RedisCluster();
        foreach (['a', 'b', 'c', 'd', 'e'] as $prefix) {
            $cache = $this->open("prefix=$prefix");
            self::assertTrue($cache->set('k', 'v', tags: ['t']));
            self::assertTrue($cache->setMultiple(\array_fill_keys(\array_map(static fn(int $i): string => "k$i", \range(1, 300)), 'v')));
            self::assertTrue($cache->group('g')->set('large', \str_repeat('x', 5_000)));
            self::assertSame(3, $cache->increment('count', 3));
            self::assertSame('computed', $cache->remember('r', static fn(): string => 'computed'));
            self::assertTrue($cache->delete('k1'));
            self::assertTrue($cache->group('other')->flush());
            $cache->writeFills();
            $other = $this->open("prefix=$prefix");
            self::assertSame(['v', null, 'v'], [$other->get('k'), $other->get('k1'), $other->get('k300')]);
            self::assertSame(5_000, \strlen((string) $other->group('g')->get('large')));
            self::assertTrue($other->invalidateTags('t'));
            self::assertNull($this->open("prefix=$prefix")->get('k'));
            self::assertGreaterThan(300, $other->stats()['far']['entries']);
        }
    }

    public function testASteadyRequestOpensOneConnectionAndAsksForNoMap(): void
    {
        $this->cluster = new RedisCluster();
        $this->open()->set('k', 'v');
        $count = fn(): array => \array_map(static fn(RedisServer $node): array => [
            $node->number('stats', 'total_connections_received'), self::calls($node, 'cluster|slots') + self::calls($node, 'cluster|keyslot'),
        ], $this->cluster->nodes);
        $before = $count();
        for ($i = 0; $i < 10; $i++) {
            $cache = $this->open();
            self::assertSame('v', $cache->get('k'));
            unset($cache);
        }
        $after = $count();
        $connections = $maps = 0;
        foreach ($after as $i => [$connected, $asked]) {
            // One for the command that counts.
            $connections += $connected - $before[$i][0] - 3;
            $maps += $asked - $before[$i][1];
        }
        self::assertSame(0, $maps);
        self::assertLessThanOrEqual(10, $connections);
    }

    public function testASlotThatMovesIsFoundAtOnce(): void
    {
        $this->cluster = new RedisCluster();
        $cache = $this->open();
        $cache->set('k', 'old');
        $open = $this->open();
        self::assertSame('old', $open->get('k'));
        for ($round = 0; $round < 3; $round++) {
            $this->cluster->move('larder');
            // Both keep a connection to the node that had it.
            self::assertTrue($cache->delete('k'));
            self::assertNull($this->open()->get('k'));
            $open->refresh();
            self::assertNull($open->get('k'));
            $cache->refresh();
            self::assertTrue($cache->set('k', "round $round"));
            self::assertSame("round $round", $this->open()->get('k'));
        }
    }

    public function testAReplicaTakesOver(): void
    {
        $this->cluster = new RedisCluster(replicas: true);
        $living = $this->open();
        $living->set('k', 'old');
        $living->set('l', 'old');
        $owner = $this->cluster->owner('larder');
        Wait::until(static fn(): bool => $owner->command('WAIT', '1', '100') === 1, 'the replica to have it');
        $living->delete('l');
        $owner->kill();
        $failed = $this->open();
        self::assertNull($failed->get('k'), 'nothing answers yet');
        self::assertFalse($failed->delete('k'));
        $begun = \hrtime(true);
        Wait::until(fn(): bool => $this->open()->set('new', 'v'), 'the replica to take over');
        $fresh = $this->open();
        self::assertSame('v', $fresh->get('new'));
        self::assertNull($fresh->get('k'), 'deleted while nobody answered');
        self::assertNull($fresh->get('l'), 'the replica may not have had that');
        $living->refresh();
        $living->internals()->retry();
        self::assertTrue($living->set('k', 'newer'));
        self::assertSame('newer', $this->open()->get('k'));
        self::assertLessThan(30e9, \hrtime(true) - $begun);
    }

    public function testANodeThatWasDemotedIsLeft(): void
    {
        $this->cluster = new RedisCluster(replicas: true);
        $living = $this->open();
        $living->set('k', 'old');
        $owner = $this->cluster->owner('larder');
        $replica = null;
        foreach ($this->cluster->nodes as $node) {
            if (\str_contains((string) $node->command('INFO', 'replication'), "master_port:$owner->port\r")) {
                $replica = $node;
            }
        }
        self::assertNotNull($replica);
        $replica->command('CLUSTER', 'FAILOVER');
        Wait::until(fn(): bool => \str_contains((string) $owner->command('INFO', 'replication'), 'role:slave'), 'the owner to be demoted');
        $this->open()->set('k', 'new');
        $living->refresh();
        // The process has changed something shortly before, so it may have begun anew.
        self::assertContains($living->get('k'), ['new', null]);
        self::assertTrue($living->set('k', 'newer'));
        self::assertSame('newer', $this->open()->get('k'));
    }

    public function testQueuesCountersAndLocksGoWithTheirSlots(): void
    {
        $this->cluster = new RedisCluster();
        $queues = $counters = $held = [];
        $locks = Locks::open($this->cluster->dsn());
        foreach (['mail', 'pictures', 'orders', 'x'] as $name) {
            $queues[$name] = Queue::open($this->cluster->dsn(), $name);
            $counters[$name] = Counter::open($this->cluster->dsn(), $name);
            $queues[$name]->push("to $name");
            self::assertSame(1, $counters[$name]->add());
            $held[$name] = $locks->acquire($name);
        }
        foreach (\array_keys($queues) as $name) {
            $this->cluster->move($name);
        }
        $this->cluster->move(':mail');
        $this->cluster->move(\substr(Shards::tag('mail'), 1, -1));
        // Many names need few connections.
        for ($i = 0; $i < 100; $i++) {
            self::assertNotNull($locks->acquire("many $i"));
        }
        foreach ($this->cluster->nodes as $node) {
            self::assertLessThan(60, $node->connections());
        }
        $locks->clear();
        self::assertNotNull($locks->acquire('many 1'));
        foreach ($queues as $name => $_) {
            $held[$name] = $locks->acquire($name);
        }
        // The braces say what decides the slot (redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec, "Hash tags").
        foreach (['}', '{', '{}', '}}', '}x', '{}x', '{a}b', "\0"] as $name) {
            self::assertNotNull($locks->acquire($name), $name);
            self::assertNull(Locks::open($this->cluster->dsn())->acquire($name), $name);
            self::assertSame(1, Counter::open($this->cluster->dsn(), $name)->add(), $name);
            self::assertSame(2, Counter::open($this->cluster->dsn(), $name)->add(), $name);
        }
        foreach (['mail', 'pictures', 'orders', 'x'] as $name) {
            $queues[$name]->push('another');
            self::assertNull($locks->acquire($name));
            self::assertNull(Locks::open($this->cluster->dsn())->acquire($name));
            self::assertTrue($held[$name]?->release());
            self::assertGreaterThan($held[$name]->fence, $locks->acquire($name)?->fence);
            self::assertSame(2, $counters[$name]->add());
            self::assertSame(3, Counter::open($this->cluster->dsn(), $name)->add());
            $queue = Queue::open($this->cluster->dsn(), $name);
            $bodies = [];
            while (($message = $queue->pop()) !== null) {
                $bodies[] = $message->body;
                self::assertTrue($message->ack());
            }
            self::assertSame(["to $name", 'another'], $bodies);
        }
    }

    public function testItSaysWhatItCannotReach(): void
    {
        $logger = new Lines();
        $cache = Cache::open(['dsn' => 'redis+cluster://127.0.0.1:1,127.0.0.1:2', 'near' => 'none', 'logger' => $logger]);
        self::assertNull($cache->get('k'));
        self::assertFalse($cache->set('k', 'v'));
        self::assertMatchesRegularExpression('/none of 127.0.0.1:1, 127.0.0.1:2 tells where the primary is: Redis at 127.0.0.1:\d: no connection/', \implode("\n", $logger->lines));
    }

    private function open(string $options = ''): Cache
    {
        return Cache::open(['dsn' => $this->cluster->dsn($options . ($options === '' ? '' : '&') . 'timeout=2'), 'near' => 'none']);
    }

    private static function calls(RedisServer $node, string $command): int
    {
        return \preg_match('/^cmdstat_' . \preg_quote($command, '/') . ':calls=(\d+)/m', (string) $node->command('INFO', 'commandstats'), $found) === 1 ? (int) $found[1] : 0;
    }
}
