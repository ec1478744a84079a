<?php

declare(strict_types=1);

namespace Larder\Tests\Lock;

use Larder\Driver\Redis\Shards;
use Larder\Lock\LockFailure;
use Larder\Lock\Locks;
use Larder\Tests\Support\KeepingRedis;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\Wait;

abstract class RedisLocksRules extends LocksRules
{
    use KeepingRedis;

    protected const SCHEME = 'redis';
    protected const DOOR = 'locks';

    protected function open(array $options = []): Locks
    {
        return Locks::open(['dsn' => $this->dsn()] + $options);
    }

    public function testACleanRestartKeepsIt(): void
    {
        $lock = $this->open()->acquire('k', 600);
        self::assertNotNull($lock);
        $this->server?->restart(keepData: true);
        self::assertNull($this->open()->acquire('k'));
        self::assertNotNull($this->open()->held('k', $lock->owner));
    }

    public function testAServerThatEvictsIsRefused(): void
    {
        $this->server = new RedisServer(config: ['maxmemory' => '10mb', 'maxmemory-policy' => 'allkeys-lru']);
        for ($i = 0; $i < 2; $i++) {
            try {
                $this->open()->acquire('k');
                self::fail('It would forget.');
            } catch (LockFailure $failure) {
                self::assertStringContainsString('maxmemory-policy', $failure->getMessage());
            }
        }
    }

    public function testWithoutItsReplicasItIsNotGranted(): void
    {
        $locks = $this->open(['replicas' => 1, 'timeout' => 1]);
        self::assertNull($locks->acquire('k'));
        self::assertNotNull($this->open()->acquire('k'), 'it was given back');
        \assert($this->server !== null);
        $replica = new RedisServer(config: ['replicaof' => "127.0.0.1 {$this->server->port}"]);
        Wait::until(fn(): bool => \str_contains((string) $this->server?->command('INFO', 'replication'), 'state=online'), 'the replica');
        $lock = null;
        Wait::until(static function () use ($locks, &$lock): bool {
            return ($lock = $locks->acquire('l')) !== null;
        }, 'the grant');
        self::assertSame(1, $replica->command('EXISTS', 'larder:lock:' . Shards::tag('l') . ':l'));
    }

    // Seen to fail: RedisEngine::refresh() without isCopied().
    public function testWithoutItsReplicasARefreshIsNotBelieved(): void
    {
        $lock = $this->open()->acquire('k', 600);
        self::assertNotNull($lock);
        $there = $this->open(['replicas' => 1, 'timeout' => 1])->held('k', $lock->owner);
        self::assertNotNull($there);
        $this->expectException(LockFailure::class);
        $this->expectExceptionMessage('replicas');
        $there->refresh();
    }

    // Seen to fail: Locks::acquire() that does not look at the time.
    public function testALockThatHasEndedBeforeItsReplicasHadItIsNotGranted(): void
    {
        $locks = $this->open(['replicas' => 1, 'timeout' => 20]);
        \assert($this->server !== null);
        $replica = new RedisServer(config: ['replicaof' => "127.0.0.1 {$this->server->port}"]);
        Wait::until(static fn(): bool => $locks->acquire(\bin2hex(\random_bytes(4))) !== null, 'the replica');
        $replica->pause();
        $later = new Process(['sh', '-c', 'sleep 0.5; kill -CONT ' . $replica->pid()]);
        self::assertNull($locks->acquire('k', 0.2));
        $later->wait();
        self::assertNotNull($locks->acquire('k', 30));
    }

    // Seen to fail: Endpoint::ask() that lets the closure's exception through.
    public function testCredentialsThatCannotBeHadAreSaid(): void
    {
        $locks = $this->open(['credentials' => static fn(): array => throw new \DomainException('hunter-2')]);
        try {
            $locks->acquire('k');
            self::fail('Nobody can tell the password.');
        } catch (LockFailure $failure) {
            self::assertStringContainsString('"credentials" threw DomainException', $failure->getMessage());
            self::assertStringNotContainsString('hunter-2', (string) $failure);
        }
    }

    public function testAServerThatIsAwayIsSaid(): void
    {
        $locks = $this->open();
        $this->server?->stop();
        $this->expectException(LockFailure::class);
        $locks->acquire('k');
    }
}
