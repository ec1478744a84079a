<?php

declare(strict_types=1);

namespace Larder\Tests\Counter;

use Larder\Config\Dsn;
use Larder\Console\Doctor\RedisUser;
use Larder\Counter;
use Larder\Counter\CounterFailure;
use Larder\Counter\RedisEngine;
use Larder\Driver\Redis\Eviction;
use Larder\Tests\Support\RedisServer;

class RedisCounterTest extends CounterContract
{
    protected const SCHEME = 'redis';

    private RedisServer $server;

    protected function setUp(): void
    {
        if (RedisServer::program() === null) {
            self::markTestSkipped('Needs redis-server or valkey-server.');
        }
        $this->server = new RedisServer(appendOnly: true, config: ['appendfsync' => 'always']);
    }

    protected function tearDown(): void
    {
        isset($this->server) && $this->server->isRunning() && self::assertSame([], $this->server->refusals());
    }

    protected function dsn(): string
    {
        return static::SCHEME . '://' . $this->server->permit(RedisUser::rules(Dsn::parse('redis://h'), '', 'counters')) . $this->server->socket;
    }

    // Seen to fail with another script.
    public function testTheHashIsThatOfTheScript(): void
    {
        self::assertSame(\sha1(Eviction::OF_LASTING . RedisEngine::ADD), RedisEngine::HASH);
    }

    public function testAServerThatIsDownIsSaid(): void
    {
        $counter = Counter::open($this->dsn() . '?timeout=0.5', 'views');
        self::assertSame(7, $counter->add(7));
        $this->server->pause();
        $this->assertFails($counter);
        $this->server->kill();
        $this->assertFails($counter);
        $this->server->start();
        // The one that got no answer may have been counted.
        self::assertContains($counter->value(), [7, 8]);
    }

    public function testARestartKeepsIt(): void
    {
        $counter = $this->counter();
        $counter->add(7);
        $this->server->restart(true);
        self::assertSame(8, $this->counter()->add());
    }

    public function testAServerThatMayEvictItIsRefused(): void
    {
        $this->server->command('CONFIG', 'SET', 'maxmemory', '100mb');
        $this->server->command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
        $counter = $this->counter();
        try {
            $counter->add(5);
            self::fail('It may forget.');
        } catch (CounterFailure $failure) {
            self::assertStringContainsString('maxmemory-policy', $failure->getMessage());
        }
        $this->server->command('CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru');
        self::assertSame(5, $counter->add(5));
    }

    public function testAKeyThatHoldsSomethingElseIsSaid(): void
    {
        $this->server->command('LPUSH', 'larder:counter:views', 'x');
        $this->expectException(CounterFailure::class);
        $this->expectExceptionMessage('WRONGTYPE');
        $this->counter()->add();
    }

    private function assertFails(Counter $counter): void
    {
        try {
            $counter->add();
            self::fail('Nobody has counted it.');
        } catch (CounterFailure $failure) {
            self::assertStringContainsString($this->server->socket, $failure->getMessage());
        }
    }
}
