<?php

declare(strict_types=1);

namespace Larder\Tests\Lock;

use Larder\Lock\Lock;
use Larder\Lock\LockFailure;
use Larder\Lock\Locks;
use Larder\Session\SessionHandler;
use Larder\Tests\Support\RedisSentinels;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** What locks and sessions promise of servers that are restarted, replaced and killed, in large numbers. */
#[Group('long')]
final class StayTest extends TestCase
{
    private const MANY = 10_000;
    private const RESTARTS = 200;

    protected function setUp(): void
    {
        RedisServer::demand();
    }

    public function testManyLocksAndSessionsOutliveCleanRestarts(): void
    {
        $server = new RedisServer(appendOnly: true);
        $dsn = "redis://$server->socket";
        $held = self::acquire($dsn, self::MANY);
        self::writeSessions($dsn, self::MANY);
        for ($i = 0; $i < 3; $i++) {
            $server->restart(keepData: true);
        }
        self::assertSame([self::MANY, 0], self::look($dsn, $held));
        self::assertSame(self::MANY, self::readSessions($dsn, self::MANY));
    }

    public function testManyLocksAndSessionsOutliveAPlannedFailOver(): void
    {
        $sentinels = new RedisSentinels();
        try {
            // As many as there are: any of them may be promoted.
            $dsn = $sentinels->dsn('replicas=2');
            $held = self::acquire($dsn, self::MANY);
            self::writeSessions($dsn, self::MANY);
            $old = $sentinels->primary();
            $sentinels->failOver();
            self::assertNotSame($old, $sentinels->primary());
            Wait::until(static function () use ($dsn): bool {
                try {
                    return Locks::open($dsn)->acquire('ready', 0.001) !== null;
                } catch (LockFailure) {
                    return false;
                }
            }, 'the new primary with its replica');
            self::assertSame([self::MANY, 0], self::look($dsn, $held));
            self::assertSame(self::MANY, self::readSessions($dsn, self::MANY));
        } finally {
            $sentinels->stop();
        }
    }

    public function testNoRestartGrantsALockTwice(): void
    {
        $server = new RedisServer(appendOnly: true);
        $dsn = "redis://$server->socket";
        $held = [];
        for ($restart = 0; $restart < self::RESTARTS; $restart++) {
            $locks = Locks::open($dsn);
            foreach (\range(0, 4) as $i) {
                $lock = $locks->acquire("$restart $i", 3_600);
                self::assertNotNull($lock);
                $held["$restart $i"] = $lock;
            }
            $server->restart(keepData: true);
            foreach (\array_rand($held, \min(50, \count($held))) as $name) {
                self::assertNull(Locks::open($dsn)->acquire((string) $name), (string) $name);
            }
        }
        self::assertSame([5 * self::RESTARTS, 0], self::look($dsn, $held));
    }

    /** Twenty primaries are killed, each while it grants. */
    public function testNoGrantThatAReplicaHasIsLostWithItsPrimary(): void
    {
        $acknowledged = 0;
        for ($round = 0; $round < 20; $round++) {
            $primary = new RedisServer(config: ['repl-diskless-sync-delay' => '0']);
            $replica = new RedisServer(config: ['replicaof' => "127.0.0.1 $primary->port"]);
            $locks = Locks::open(['dsn' => "redis://$primary->socket", 'replicas' => 1, 'timeout' => 5]);
            Wait::until(static fn(): bool => $locks->acquire('first', 0.001) !== null, 'the replica');
            $killer = \pcntl_fork();
            if ($killer === 0) {
                \usleep(\random_int(1_000_000, 2_000_000));
                \posix_kill($primary->pid(), \SIGKILL);
                \posix_kill(\posix_getpid(), \SIGKILL);
            }
            $held = [];
            try {
                while (true) {
                    $lock = $locks->acquire('lock ' . \count($held), 3_600);
                    if ($lock === null) {
                        break;
                    }
                    $held[$lock->name] = $lock;
                }
            } catch (LockFailure) {
                // The primary is dead.
            }
            \pcntl_waitpid($killer, $status);
            $primary->kill();
            $replica->command('REPLICAOF', 'NO', 'ONE');
            self::assertSame([\count($held), 0], self::look("redis://$replica->socket", $held));
            $acknowledged += \count($held);
            $replica->kill();
        }
        \fwrite(\STDERR, "$acknowledged grants acknowledged, none lost\n");
        self::assertGreaterThan(20_000, $acknowledged);
    }

    /** @return array<array-key, Lock> by name */
    private static function acquire(string $dsn, int $count): array
    {
        $locks = Locks::open($dsn);
        $held = [];
        for ($i = 0; $i < $count; $i++) {
            $lock = $locks->acquire("lock $i", 3_600);
            self::assertNotNull($lock);
            $held["lock $i"] = $lock;
        }

        return $held;
    }

    /**
     * @param array<array-key, Lock> $held by name
     *
     * @return array{int, int} how many are still their owners', and how many are granted a second time
     */
    private static function look(string $dsn, array $held): array
    {
        $locks = Locks::open(\explode('?', $dsn)[0]);
        $kept = $twice = 0;
        foreach ($held as $name => $lock) {
            $kept += (int) ($locks->held((string) $name, $lock->owner)?->fence === $lock->fence);
            $twice += (int) ($locks->acquire((string) $name) !== null);
        }

        return [$kept, $twice];
    }

    private static function writeSessions(string $dsn, int $count): void
    {
        $handler = SessionHandler::over($dsn);
        for ($i = 0; $i < $count; $i++) {
            $handler->read("session$i");
            self::assertTrue($handler->write("session$i", "data $i"));
            $handler->close();
        }
    }

    private static function readSessions(string $dsn, int $count): int
    {
        $handler = SessionHandler::over($dsn);
        $good = 0;
        for ($i = 0; $i < $count; $i++) {
            $good += (int) ($handler->read("session$i") === "data $i");
            $handler->close();
        }

        return $good;
    }
}
