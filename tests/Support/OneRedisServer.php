<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

/** For tests of a server that fails: each has one of its own, and any warning of PHP's is an error. */
trait OneRedisServer
{
    private RedisServer $server;

    protected function setUp(): void
    {
        RedisServer::demand();
        $this->server = new RedisServer();
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        if (isset($this->server)) {
            \restore_error_handler();
            unset($this->server);
        }
    }
}
