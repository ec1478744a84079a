<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Driver\Redis\RedisConnection;
use Larder\Store\Redis\RedisStore;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;

/**
 * Signal handlers that come at any step of a call, and use the cache. (Handlers that throw are in RedisFailureTest, at a
 * step where PHP 8.2 survives it: thrown at any step they end it in a segmentation fault, also in a script of ten lines.)
 */
#[Group('slow')]
final class RedisReentrancyTest extends RedisFixture
{
    use Forks;

    protected const FORKS = true;

    /** Signals, and calls that they come into. */
    private const MANY = 3_000;

    protected function tearDown(): void
    {
        \pcntl_async_signals(false);
        \pcntl_signal(\SIGUSR1, \SIG_IGN);
        $this->endChildren();
        \pcntl_signal(\SIGUSR1, \SIG_DFL);
        parent::tearDown();
    }

    /** @return iterable<string, array{class-string<RedisConnection>, string}> */
    public static function handlers(): iterable
    {
        foreach (self::connections() as $name => [$connection]) {
            foreach (['the same store', 'another store'] as $handler) {
                yield "$name, $handler" => [$connection, $handler];
            }
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('handlers')]
    public function testNoCallGetsTheReplyOfAnother(string $connection, string $handler): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection);
        $other = $this->store($connection);
        for ($i = 0; $i < 10; $i++) {
            self::put($store, "k$i", "v$i");
        }
        $wrong = [];
        $inside = 0;
        $use = static function (RedisStore $store) use (&$wrong, &$inside): void {
            $key = $inside++ % 10;
            $body = self::body($store, "k$key");
            if ($body !== "v$key") {
                $wrong[] = [$key, $body];
            }
            self::put($store, 'from the handler', "$key");
        };
        // Within a call, and not within itself.
        $armed = $hasCome = false;
        \pcntl_async_signals(true);
        \pcntl_signal(\SIGUSR1, static function () use ($handler, $store, $other, $use, &$armed, &$hasCome): void {
            $hasCome = true;
            if (!$armed) {
                return;
            }
            $armed = false;
            $use($handler === 'the same store' ? $store : $other);
        });
        $parent = (int) \getmypid();
        $this->fork(static function () use ($parent): void {
            for ($i = 0; $i < self::MANY * 10; $i++) {
                \usleep(\random_int(30, 300));
                if (\posix_getppid() !== $parent || !\posix_kill($parent, \SIGUSR1)) {
                    return;
                }
            }
        });
        // The child may begin later than all of the calls take.
        $this->await(static function () use (&$hasCome): bool {
            return $hasCome;
        });
        for ($i = 0; $i < self::MANY; $i++) {
            $key = $i % 10;
            $armed = true;
            $body = self::body($store, "k$key");
            $i % 3 === 0 && self::put($store, "k$key", "v$key");
            $armed = false;
            if ($body !== "v$key") {
                $wrong[] = [$key, $body];
            }
        }
        \pcntl_signal(\SIGUSR1, \SIG_IGN);
        self::assertSame([], $wrong);
        self::assertGreaterThan(0, $inside);
        for ($i = 0; $i < 10; $i++) {
            self::assertSame("v$i", self::body($store, "k$i"));
            self::assertSame("v$i", self::body($other, "k$i"));
        }
        // PHP's own handlers are as they were: this class's throws.
        $this->expectException(\ErrorException::class);
        \trigger_error('heard');
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAConnectionLeftInTheMiddleOfACommandIsNotUsedAgain(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection);
        self::put($store, 'k', 'v');
        self::put($store, 'l', 'w');
        $raw = new $connection($this->server->socketEndpoint());
        $first = $raw->ready();
        // As one that was left before it could close itself: two exceptions, one after the other.
        (new \ReflectionProperty(RedisConnection::class, 'busy'))->setValue($raw, true);
        self::assertNotSame($first, $raw->ready());
        self::assertSame($first + 1, $raw->ready());
        $clients = $this->server->command('CLIENT', 'LIST');
        self::assertIsString($clients);
        self::assertSame(3, \substr_count($clients, 'id='), 'The store, this one, and who asks: the one left is closed.');
    }
}
