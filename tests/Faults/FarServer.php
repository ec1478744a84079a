<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Assert;

/** A real server that a test may kill, stop and bring back, and how a Cache is opened over it. */
final class FarServer
{
    public readonly string $dsn;

    private function __construct(private readonly RedisServer|MemcachedServer $server, string $dsn)
    {
        $this->dsn = $dsn;
    }

    public static function start(string $scheme): self
    {
        if ($scheme === 'memcached') {
            if (!MemcachedServer::installed()) {
                Assert::markTestSkipped('There is no memcached.');
            }
            $server = new MemcachedServer();

            return new self($server, 'memcached://' . $server->address[0]);
        }
        RedisServer::demand();
        $server = new RedisServer();

        return new self($server, $scheme . '://' . $server->socket);
    }

    /** @return array<string, mixed> for Cache::open() */
    public function options(float $timeout = FaultCase::TIMEOUT): array
    {
        // No near tier, which may be there by itself: it would go on answering what it had before the server was lost.
        return ['far' => $this->dsn, 'near' => 'none', 'timeout' => $timeout];
    }

    public function redis(): RedisServer
    {
        return $this->server instanceof RedisServer ? $this->server : throw new \LogicException('It is a memcached.');
    }

    public function socket(): string
    {
        return $this->server instanceof RedisServer ? $this->server->socket : $this->server->address[0];
    }

    /** Nothing listens there any more. */
    public function kill(): void
    {
        $this->server instanceof RedisServer ? $this->server->kill() : $this->server->stop();
    }

    public function back(): void
    {
        if ($this->server instanceof MemcachedServer && \file_exists($this->server->address[0])) {
            \unlink($this->server->address[0]);
        }
        $this->server->start();
    }

    /** It takes connections and commands and answers nothing. */
    public function hang(): void
    {
        $this->server->pause();
    }

    public function resume(): void
    {
        $this->server->resume();
    }

    public function end(): void
    {
        $this->server instanceof RedisServer ? $this->server->kill() : $this->server->end();
    }
}
