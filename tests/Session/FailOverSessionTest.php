<?php

declare(strict_types=1);

namespace Larder\Tests\Session;

use Larder\Driver\Redis\Shards;
use Larder\Session\RedisEngine;
use Larder\Session\SessionFailure;
use Larder\Session\SessionHandler;
use Larder\Tests\Support\RedisCluster;
use Larder\Tests\Support\RedisSentinels;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** What a fail-over does to sessions: what a replica has stays, with its lock. Calls may throw meanwhile. */
#[CoversClass(RedisEngine::class)]
#[Group('slow')]
final class FailOverSessionTest extends TestCase
{
    private const ID = 'mh3k4qdmr6p2e9s8t1v5x7z0ab';

    protected function setUp(): void
    {
        RedisServer::demand();
    }

    public function testAFailOverBySentinelKeepsSessionsAndTheirLocks(): void
    {
        $sentinels = new RedisSentinels();
        try {
            $open = static fn(): SessionHandler => SessionHandler::over($sentinels->dsn('replicas=1&wait=0.1&timeout=2'));
            // By a plan, and then without one: its process is killed.
            foreach ([$sentinels->failOver(...), $sentinels->killPrimary(...)] as $failOver) {
                $this->outlives($open, static function () use ($sentinels, $failOver): void {
                    // One replica has each write, and the other one may be promoted.
                    $sentinels->awaitReplicas();
                    $failOver();
                });
            }
        } finally {
            $sentinels->stop();
        }
    }

    // Seen to fail: a lock that ends soon.
    public function testAFailOverInAClusterKeepsSessionsAndTheirLocks(): void
    {
        $cluster = new RedisCluster(replicas: true);
        try {
            $tag = \trim(Shards::tag(\hash('sha256', self::ID)), '{}');
            $this->outlives(static fn(): SessionHandler => SessionHandler::over($cluster->dsn('wait=0.1&timeout=2')), static function () use ($cluster, $tag): void {
                $old = $cluster->owner($tag);
                $replica = $cluster->replica($old);
                self::assertNotNull($replica);
                // Who takes over has no replica left, so that "replicas" would refuse all that follows.
                Wait::until(static fn(): bool => $replica->command('DBSIZE') === 2, 'the session and its lock at the replica');
                $old->kill();
                Wait::until(static fn(): bool => \str_contains((string) $replica->command('INFO', 'replication'), 'role:master'), 'the replica to take over');
            });
        } finally {
            $cluster->stop();
        }
    }

    /**
     * @param \Closure(): SessionHandler $open     a request
     * @param \Closure(): void           $failOver
     */
    private function outlives(\Closure $open, \Closure $failOver): void
    {
        $data = \bin2hex(\random_bytes(4));
        $first = $open();
        self::done(static fn() => $first->read(self::ID));
        self::assertTrue($first->write(self::ID, $data));
        $first->close();
        $holder = $open();
        self::assertSame($data, $holder->read(self::ID));
        $failOver();

        $said = '';
        Wait::until(static function () use ($open, &$said): bool {
            try {
                $open()->read(self::ID);
                $said = 'It was given to two.';

                return true;
            } catch (SessionFailure $failure) {
                return \str_contains($said = $failure->getMessage(), 'Another request has had this session');
            }
        }, 'the new primary');
        self::assertStringContainsString('Another request has had this session', $said, 'Its lock has come along.');
        // A call may meet the old server still. Then the request reads again, and has its own session at once.
        self::writeAgain($holder, $data);
        $next = $open();
        self::assertSame("$data, and more", self::done(static fn(): string => $next->read(self::ID)));
        $next->close();
    }

    private static function writeAgain(SessionHandler $holder, string $data): void
    {
        try {
            $holder->write(self::ID, "$data, and more");
        } catch (SessionFailure) {
            self::assertContains(self::done(static fn(): string => $holder->read(self::ID)), [$data, "$data, and more"]);
            self::done(static fn(): bool => $holder->write(self::ID, "$data, and more"));
        }
        $holder->close();
    }

    /**
     * What a call gives, once the servers let it.
     *
     * @template T
     *
     * @param \Closure(): T $call
     *
     * @return T
     */
    private static function done(\Closure $call): mixed
    {
        $result = null;
        Wait::until(static function () use ($call, &$result): bool {
            try {
                $result = $call();

                return true;
            } catch (SessionFailure) {
                return false;
            }
        }, 'the session');

        return $result;
    }
}
