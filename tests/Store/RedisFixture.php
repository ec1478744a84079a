<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Driver\Redis\Endpoint;
use Larder\Driver\Redis\PhpRedisConnection;
use Larder\Driver\Redis\PredisConnection;
use Larder\Driver\Redis\RedisConnection;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Redis\RedisStore;
use Larder\Store\Redis\Watermark;
use Larder\System\Failure;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\TestCase;

/** What the tests of the Redis engine beyond the contract have in common: a server a test, both connections. */
abstract class RedisFixture extends TestCase
{
    protected const A = 'aaaaaaaaaaaa';
    protected const B = 'bbbbbbbbbbbb';

    protected RedisServer $server;

    /** @return iterable<string, array{class-string<RedisConnection>}> */
    public static function connections(): iterable
    {
        if (\extension_loaded('redis')) {
            yield 'phpredis' => [PhpRedisConnection::class];
        }
        yield 'Predis' => [PredisConnection::class];
    }

    protected function setUp(): void
    {
        RedisServer::demand();
        // Engines may not let a notice or warning out, also not a silenced one.
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        if (RedisServer::program() !== null) {
            \restore_error_handler();
        }
        unset($this->server);
    }

    /**
     * @param class-string<RedisConnection> $connection
     * @param ?string                       $mark       the file of a watermark
     */
    protected function store(string $connection, ?Endpoint $endpoint = null, string $prefix = 'larder', ?string $mark = null): RedisStore
    {
        return new RedisStore(new $connection($endpoint ?? $this->server->socketEndpoint()), $prefix, mark: $mark === null ? null : new Watermark($mark, 2.0));
    }

    protected static function put(RedisStore $store, string $key, ?string $body, string $writer = self::A): ChangeResult
    {
        return $store->write([new Change($key, $body, $writer, kind: $body === null ? 'd' : 's')])[0];
    }

    protected static function body(RedisStore $store, string $key): ?string
    {
        return ($store->read([$key])->records[$key] ?? null)?->body;
    }

    protected static function failure(\Closure $work): Failure
    {
        try {
            $work();
        } catch (Failure $e) {
            return $e;
        }
        self::fail('No StoreFailure.');
    }

    /** Scripts the server has run so far. */
    protected function scripts(): int
    {
        $info = $this->server->command('INFO', 'commandstats');
        self::assertIsString($info);

        return (int) (\preg_match('/cmdstat_evalsha:calls=(\d+)/', $info, $m) ? $m[1] : 0);
    }
}
