<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Config\Dsn;
use Larder\Console\Doctor\RedisUser;
use Larder\Queue\Queue;
use Larder\Tests\Contract\QueueContract;
use Larder\Tests\Contract\QueueProcesses;
use Larder\Tests\Support\RedisServer;

/** The contract over a Redis or Valkey server, which all tests of a class share, emptied for each; as the user of `larder doctor`. */
abstract class RedisQueue extends QueueContract
{
    use QueueProcesses;

    private static ?RedisServer $server = null;

    abstract protected static function scheme(): string;

    /** A server as its owner may have configured it. */
    protected static function start(): RedisServer
    {
        return new RedisServer();
    }

    public static function tearDownAfterClass(): void
    {
        self::$server = null;
    }

    protected function setUp(): void
    {
        RedisServer::demand();
        parent::setUp();
        self::server()->command('FLUSHALL');
    }

    protected function tearDown(): void
    {
        RedisServer::program() === null || parent::tearDown();
        self::$server?->isRunning() === true && self::assertSame([], self::$server->refusals());
    }

    public function testTheTimesOfARateAreFewAndASetClockHoldsUpNobody(): void
    {
        $queue = $this->queue();
        $queue->pushMany(\range(1, 40));
        $times = 'larder:queue:{mail}:h:3600000';
        $limited = $queue->atMost(5, 3_600);
        $shift = static function (int $milliseconds) use ($times): void {
            $all = (array) self::server()->command('LRANGE', $times, '0', '-1');
            self::assertCount(5, $all);
            foreach ($all as $i => $time) {
                self::server()->command('LSET', $times, (string) $i, (string) ((int) $time + $milliseconds));
            }
        };
        self::assertCount(5, $limited->popMany(9));
        self::assertGreaterThan(3_590_000, self::server()->command('PTTL', $times));
        for ($i = 0; $i < 3; $i++) {
            $shift(-3_600_000);
            self::assertCount(5, $limited->popMany(9));
        }
        $shift(3_600_000);
        self::assertCount(5, $limited->popMany(9), 'The clock was set back.');
        $shift(0);
        self::assertNull($limited->pop());
    }

    protected static function server(): RedisServer
    {
        return self::$server ??= static::start();
    }

    protected function queue(string $name = 'mail', array $options = []): Queue
    {
        return Queue::open(['dsn' => static::scheme() . '://' . self::server()->permit(RedisUser::rules(Dsn::parse('redis://h'), '', 'queues')) . self::server()->socket] + $options, $name);
    }
}
