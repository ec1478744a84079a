<?php

declare(strict_types=1);

namespace Larder\Tests\Driver\Redis;

use Larder\Counter;
use Larder\Counter\CounterFailure;
use Larder\Driver\Redis\Eviction;
use Larder\Lock\LockFailure;
use Larder\Lock\Locks;
use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Larder\RateLimiter;
use Larder\RateLimiter\RateLimiterFailure;
use Larder\Session\SessionFailure;
use Larder\Session\SessionHandler;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\StrictEndpoint;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Everything that must stay refuses a server that evicts, whenever that begins. */
#[CoversClass(Eviction::class)]
#[Group('slow')]
final class EvictionTest extends TestCase
{
    /** @return iterable<string, array{\Closure(string): \Closure(): mixed, class-string<\RuntimeException>, bool}> what keeps something over one connection, what it throws, and whether that lasts without an expiry */
    public static function doors(): iterable
    {
        foreach (['redis', 'predis', 'redis+single'] as $scheme) {
            yield "queue, $scheme" => [static function (string $address) use ($scheme): \Closure {
                $queue = Queue::open("$scheme://$address", 'mail');

                return static fn(): string => $queue->push('body');
            }, QueueFailure::class, true];
            yield "queue with a key, $scheme" => [static function (string $address) use ($scheme): \Closure {
                $queue = Queue::open("$scheme://$address", 'mail');

                return static fn(): string => $queue->push('body', key: \bin2hex(\random_bytes(8)));
            }, QueueFailure::class, true];
            yield "counter, $scheme" => [static function (string $address) use ($scheme): \Closure {
                $counter = Counter::open("$scheme://$address", 'views');

                return static fn(): int => $counter->add();
            }, CounterFailure::class, true];
            yield "locks, $scheme" => [static function (string $address) use ($scheme): \Closure {
                $locks = Locks::open("$scheme://$address");

                return static fn(): ?bool => $locks->acquire('k')?->release();
            }, LockFailure::class, false];
            yield "sessions, $scheme" => [static function (string $address) use ($scheme): \Closure {
                $sessions = SessionHandler::over("$scheme://$address");

                return static fn(): bool => $sessions->read('mh3k4qdmr6p2') !== 'x' && $sessions->close();
            }, SessionFailure::class, false];
            yield "rate limiter, $scheme" => [static function (string $address) use ($scheme): \Closure {
                $limiter = RateLimiter::open("$scheme://$address");

                return static fn(): int => $limiter->fixedWindow('k', 1_000_000, 600)->remaining;
            }, RateLimiterFailure::class, false];
        }
    }

    // Seen to fail: each look where a connection begins, and none later; and without any.
    /**
     * @param \Closure(string): \Closure(): mixed $open
     * @param class-string<\RuntimeException>    $failure
     */
    #[DataProvider('doors')]
    public function testAPolicyThatChangesIsNoticedByAnOpenConnection(\Closure $open, string $failure, bool $isLasting): void
    {
        RedisServer::demand();
        $config = ['maxmemory' => '100mb', 'maxmemory-policy' => 'noeviction'];
        $isSingle = \str_ends_with((string) $this->dataName(), 'redis+single');
        $server = $isSingle ? StrictEndpoint::server($config) : new RedisServer(config: $config);
        $single = $isSingle ? new StrictEndpoint($server) : null;
        $address = $single === null ? $server->socket : "127.0.0.1:$single->port";
        $keep = $open($address);
        $keep();
        foreach (['allkeys-lru', 'volatile-lru', 'allkeys-random'] as $policy) {
            $server->command('CONFIG', 'SET', 'maxmemory-policy', $policy);
            if ($isLasting && $policy === 'volatile-lru') {
                $keep();
                continue;
            }
            $thrown = null;
            $before = [];
            Wait::until(static function () use ($keep, $server, &$thrown, &$before): bool {
                $before = self::content($server);
                try {
                    $keep();
                } catch (\RuntimeException $thrown) {
                    return true;
                }

                return false;
            }, $policy);
            \assert($thrown instanceof \RuntimeException);
            self::assertSame($failure, $thrown::class);
            self::assertStringContainsString('maxmemory-policy', $thrown->getMessage());
            self::assertStringContainsString('set noeviction', $thrown->getMessage());
            self::assertSame($before, self::content($server), 'It has kept nothing there.');
            $server->command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
            $keep();
        }
        $server->command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
        try {
            $open($address)();
            // The queue looks once a second, whoever pushes.
            self::assertSame(QueueFailure::class, $failure);
        } catch (\RuntimeException $thrown) {
            self::assertSame($failure, $thrown::class, 'a new connection');
        }
        $server->command('CONFIG', 'SET', 'maxmemory', '0');
        $open($address)();
        self::assertSame([], $single?->refused() ?? []);
    }

    /** @return iterable<string, array{array<string, string>, ?string, ?string}> */
    public static function tellings(): iterable
    {
        yield 'no limit' => [['maxmemory' => '0', 'maxmemory_policy' => 'allkeys-lru'], null, null];
        yield 'no policy' => [['maxmemory' => '1000'], 'does not tell', 'does not tell'];
        yield 'nothing' => [[], 'does not tell', 'does not tell'];
        yield 'a policy alone' => [['maxmemory_policy' => 'noeviction'], null, null];
        yield 'what expires' => [['maxmemory_policy' => 'volatile-lru'], 'set noeviction, or', null];
        yield 'anything' => [['maxmemory' => '1000', 'maxmemory_policy' => 'allkeys-lfu'], 'set noeviction, or', 'set noeviction or a volatile policy'];
    }

    // Seen to fail: an unknown policy that is believed.
    /** @param array<string, string> $memory */
    #[DataProvider('tellings')]
    public function testASingleEndpointIsJudgedByWhatItTells(array $memory, ?string $ofAny, ?string $ofLasting): void
    {
        foreach ([[Eviction::OF_ANY, $ofAny], [Eviction::OF_LASTING, $ofLasting]] as [$look, $part]) {
            $refusal = Eviction::refusal($look, $memory);
            $part === null ? self::assertNull($refusal) : self::assertStringContainsString($part, (string) $refusal);
        }
    }

    /** @return array<string, mixed> what is kept, by key */
    private static function content(RedisServer $server): array
    {
        $content = [];
        foreach ((array) $server->command('KEYS', '*') as $key) {
            $content[(string) $key] = $server->command('DUMP', (string) $key);
        }
        \ksort($content);

        return $content;
    }
}
