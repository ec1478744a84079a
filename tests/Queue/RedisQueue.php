<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\Queue;
use Larder\Tests\Contract\QueueContract;
use Larder\Tests\Contract\QueueProcesses;
use Larder\Tests\Support\RedisServer;

/** The contract over a Redis or Valkey server, which all tests of a class share, emptied for each. */
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
    }

    protected static function server(): RedisServer
    {
        return self::$server ??= static::start();
    }

    protected function queue(string $name = 'mail', array $options = []): Queue
    {
        return Queue::open(['dsn' => static::scheme() . '://' . self::server()->socket] + $options, $name);
    }
}
