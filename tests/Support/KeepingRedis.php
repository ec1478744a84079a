<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\Config\Dsn;
use Larder\Console\Doctor\RedisUser;
use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\Attributes\Before;

/**
 * For the rules of what must not be forgotten, over a Redis of the test's own, which keeps what it was told. Each is tested as
 * the user that `larder doctor` advises, who may do no more than is needed, and must be refused nothing.
 */
trait KeepingRedis
{
    private ?RedisServer $server = null;

    #[Before]
    protected function demandRedis(): void
    {
        RedisServer::demand();
    }

    #[After]
    protected function nothingWasRefused(): void
    {
        $this->server?->isRunning() === true && self::assertSame([], $this->server->refusals());
    }

    protected function server(): RedisServer
    {
        return $this->server ??= new RedisServer(config: ['repl-diskless-sync-delay' => '0'], appendOnly: true);
    }

    protected function dsn(): string
    {
        return static::SCHEME . '://' . $this->server()->permit(RedisUser::rules(Dsn::parse('redis://h'), '', static::DOOR)) . $this->server()->socket;
    }
}
