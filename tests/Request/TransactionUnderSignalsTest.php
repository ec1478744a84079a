<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Tests\Support\HookedStore;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** A transaction is over when its call is, even if a signal's handler throws where it begins or ends. */
#[CoversNothing]
#[RequiresPhpExtension('pcntl')]
final class TransactionUnderSignalsTest extends TestCase
{
    private HookedStore $store;

    protected function setUp(): void
    {
        $this->store = new HookedStore();
        \pcntl_async_signals(true);
        \pcntl_signal(\SIGUSR1, static fn() => throw new \DomainException('time is up'));
    }

    protected function tearDown(): void
    {
        \pcntl_signal(\SIGUSR1, \SIG_DFL);
        \pcntl_async_signals(false);
    }

    #[TestWith(['since'])]
    #[TestWith(['write'])]
    public function testTheHandlerThrowsWhereTheCacheIsAsked(string $moment): void
    {
        $cache = $this->store->cache(lazy: true);
        $this->store->before = function (string $call) use ($moment): void {
            if ($call === $moment) {
                $this->store->before = null;
                \posix_kill(\posix_getpid(), \SIGUSR1);
            }
        };
        $this->throws(static fn() => $cache->transaction(static fn() => $cache->set('k', 'inside')));
        $this->isOver($cache);
    }

    public function testTheHandlerThrowsInsideIt(): void
    {
        $cache = $this->store->cache();
        $this->throws(static fn() => $cache->transaction(static function () use ($cache): void {
            $cache->set('k', 'inside');
            \posix_kill(\posix_getpid(), \SIGUSR1);
        }));
        self::assertNull($this->store->cache()->get('k'));
        $this->isOver($cache);
    }

    public function testTheHandlerThrowsWhereItIsBegunAlone(): void
    {
        $cache = $this->store->cache(lazy: true);
        $this->store->before = function (): void {
            $this->store->before = null;
            \posix_kill(\posix_getpid(), \SIGUSR1);
        };
        $this->throws($cache->begin(...));
        $this->isOver($cache);
    }

    /** @param \Closure(): mixed $call */
    private function throws(\Closure $call): void
    {
        try {
            $call();
            self::fail('The handler has thrown.');
        } catch (\DomainException) {
        }
    }

    private function isOver(Cache $cache): void
    {
        self::assertTrue($cache->set('after', 1));
        self::assertSame(1, $this->store->cache()->get('after'));
        self::assertTrue($cache->transaction(static fn(): bool => $cache->set('after', 2)));
        self::assertSame(2, $this->store->cache()->get('after'));
    }
}
