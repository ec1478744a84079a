<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Cache;
use Larder\Config\InvalidConfiguration;
use Larder\Counter;
use Larder\Counter\CounterFailure;
use Larder\Lock\LockFailure;
use Larder\Lock\Locks;
use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Larder\RateLimiter;
use Larder\RateLimiter\RateLimiterFailure;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;
use Psr\Log\AbstractLogger;

/** The option "credentials": a closure that a program brings along, and that may fail. */
final class RedisCredentialsTest extends TestCase
{
    private RedisServer $server;

    protected function setUp(): void
    {
        RedisServer::demand();
        $this->server = new RedisServer(config: ['requirepass' => 'hunter-2']);
    }

    // Seen to fail: Endpoint::ask() that lets the closure's exception through, and one that takes anything for a password.
    #[TestWith(['redis', 'throws'])]
    #[TestWith(['redis', 'nonsense'])]
    #[TestWith(['predis', 'throws'])]
    #[TestWith(['predis', 'nonsense'])]
    public function testACacheLosesNoInvalidationWhereTheyCannotBeHad(string $scheme, string $how): void
    {
        $told = [null, 'hunter-2'];
        $dsn = "$scheme://127.0.0.1:{$this->server->port}";
        $log = new class extends AbstractLogger {
            public string $all = '';

            public function log($level, string|\Stringable $message, array $context = []): void
            {
                $this->all .= "$message\n";
            }
        };
        $credentials = static function () use (&$told): mixed {
            return $told ?? throw new \DomainException('hunter-3');
        };
        $open = static fn(): Cache => Cache::open(['dsn' => $dsn, 'near' => 'none', 'logger' => $log, 'credentials' => $credentials]);
        $cache = $open();
        self::assertTrue($cache->set('k', 'old'));
        // Idle for as long as one asks before the next use whether the connection still stands.
        \usleep(1_200_000);
        $this->server->command('CLIENT', 'KILL', 'TYPE', 'normal');
        $told = $how === 'throws' ? null : [1, 2];
        self::assertFalse($cache->delete('k'));
        $down = $open();
        self::assertFalse($down->set('l', 'new'));
        self::assertNull($down->get('m'));
        self::assertSame(42, $down->remember('n', static fn(): int => 42));
        self::assertFalse($down->increment('o'));
        $down->refresh();
        self::assertStringContainsString('the closure of the option "credentials"', $log->all);
        self::assertStringNotContainsString('hunter', $log->all);
        self::assertNull(Cache::open(['dsn' => $dsn, 'near' => 'none', 'credentials' => static fn(): string => 'hunter-2'])->get('k'));
    }

    // Seen to fail: RedisConnection::connectTo() that does not look at the answer.
    #[TestWith(['redis'])]
    #[TestWith(['predis'])]
    public function testAServerThatForgetsIsRefusedOnRequest(string $scheme): void
    {
        $source = fn(RedisServer $server): array => ['dsn' => "$scheme://:hunter-2@127.0.0.1:$server->port", 'persist' => 'required'];
        $calls = [
            CounterFailure::class => static fn(array $from) => Counter::open($from)->add(),
            LockFailure::class => static fn(array $from) => Locks::open($from)->acquire('k'),
            RateLimiterFailure::class => static fn(array $from) => RateLimiter::open($from)->fixedWindow('k', 1, 1),
            QueueFailure::class => static fn(array $from) => Queue::open($from, 'mail')->push('x'),
        ];
        foreach ($calls as $class => $call) {
            try {
                $call($source($this->server));
                self::fail($class);
            } catch (CounterFailure|LockFailure|RateLimiterFailure|QueueFailure $failure) {
                self::assertInstanceOf($class, $failure);
                self::assertStringContainsString('set appendonly yes', $failure->getMessage());
            }
        }
        $keeps = new RedisServer(config: ['requirepass' => 'hunter-2'], appendOnly: true);
        foreach ($calls as $class => $call) {
            self::assertNotNull($call($source($keeps)), $class);
        }
        $this->expectException(InvalidConfiguration::class);
        $this->expectExceptionMessage('persist');
        Locks::open(['dsn' => 'redis://h', 'persist' => 'yes']);
    }

    public function testQueuesCountersAndLocksTakeThem(): void
    {
        $dsn = "redis://127.0.0.1:{$this->server->port}";
        $source = static fn(\Closure $credentials): array => ['dsn' => $dsn, 'credentials' => $credentials];
        $good = $source(static fn(): array => ['default', 'hunter-2']);
        self::assertSame(1, Counter::open($good)->add());
        self::assertNotNull(Locks::open($good)->acquire('k'));
        Queue::open($good, 'mail')->push('x');
        self::assertSame('x', Queue::open($good, 'mail')->pop()?->body);
        foreach ([$good, ['dsn' => "redis://default:hunter-2@127.0.0.1:{$this->server->port}"]] as $from) {
            foreach ([Counter::open($from), Locks::open($from), RateLimiter::open($from), Queue::open(['secret' => 'hunter-3'] + $from, 'mail')] as $object) {
                self::assertStringNotContainsString('hunter', \print_r($object, true), $object::class);
            }
        }
        $bad = $source(static fn(): array => []);
        foreach ([CounterFailure::class => static fn() => Counter::open($bad)->add(), QueueFailure::class => static fn() => Queue::open($bad, 'mail')->push('x')] as $class => $call) {
            try {
                $call();
                self::fail('There is no password.');
            } catch (CounterFailure|QueueFailure $failure) {
                self::assertInstanceOf($class, $failure);
                self::assertStringContainsString('must return [user or null, password]', $failure->getMessage());
            }
        }
        $this->expectException(InvalidConfiguration::class);
        $this->expectExceptionMessage('SQLite asks for none');
        Counter::open(['dsn' => 'sqlite:///nowhere', 'credentials' => static fn(): string => 'x']);
    }
}
