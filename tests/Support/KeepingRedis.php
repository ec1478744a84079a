<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use PHPUnit\Framework\Attributes\Before;

/** For the rules of what must not be forgotten, over a Redis of the test's own, which keeps what it was told. */
trait KeepingRedis
{
    private ?RedisServer $server = null;

    #[Before]
    protected function demandRedis(): void
    {
        RedisServer::demand();
    }

    protected function server(): RedisServer
    {
        return $this->server ??= new RedisServer(config: ['repl-diskless-sync-delay' => '0'], appendOnly: true);
    }

    protected function dsn(): string
    {
        return static::SCHEME . '://' . $this->server()->socket;
    }
}
