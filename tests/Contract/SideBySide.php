<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Store\Change;
use Larder\Store\Store;
use Larder\System\Failure;

/**
 * Two store objects of one engine in one process, one of them in the middle of a write: the part of StoreContract for
 * engines with a lock. A call inside another one (of a destructor, a signal handler) meets its own process there, so it
 * must not wait for it.
 */
trait SideBySide
{
    /** Runs $work while the store object holds its lock, as in the middle of a write. */
    abstract protected function whileItWrites(Store $store, \Closure $work): void;

    /** One more store object over the same data, that waits for a minute. */
    abstract protected function patient(): Store;

    public function testWhileOneStoreObjectWritesAnotherReadsAndIsToldAtOnceThatItCannotWrite(): void
    {
        $store = $this->store();
        $before = self::put($store, 'k', 'v');
        $other = $this->patient();
        foreach ([$other, $this->patient()] as $second) {
            $this->whileItWrites($store, static function () use ($second, $before): void {
                $view = $second->read(['k', 'absent']);
                self::assertSame('v', $view->records['k']->body);
                self::assertTrue($second->since($view->epoch, $before->position, '')->complete);
                $start = \microtime(true);
                $failed = false;
                try {
                    $second->write([new Change('k', 'w', self::B)]);
                } catch (Failure) {
                    $failed = true;
                }
                self::assertTrue($failed);
                self::assertLessThan(30, \microtime(true) - $start);
                $second->tidy();
                self::assertSame('v', self::record($second, 'k')?->body);
            });
            self::assertTrue(self::attempt($second, new Change('k', 'v', self::B))->done, 'Once the first one is done it can.');
            self::assertTrue(self::attempt($store, new Change('k', 'v', self::A))->done);
        }
    }

    public function testOnlyTheHolderItselfIsToldSo(): void
    {
        if (!static::FORKS) {
            self::markTestSkipped('One process.');
        }
        $store = $this->store();
        self::put($store, 'k', 'v');
        $this->whileItWrites($store, function (): void {
            // A child of the holder is another process: it waits, and gets the lock when it is free.
            [$child] = $this->fork(fn() => self::put($this->patient(), 'k', 'child'));
            \usleep(20_000);
            self::assertSame(0, \pcntl_waitpid($child, $status, \WNOHANG), 'It waits.');
        });
        $this->await(fn(): bool => self::record($this->store(), 'k')?->body === 'child');
    }
}
