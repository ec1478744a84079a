<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Cache;
use Larder\Store\Change;
use Larder\Store\Memcached\MemcachedStore;
use Larder\Tests\Support\MemcachedRelay;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** Counters and locks over Memcached, whatever becomes of those who change them. */
final class MemcachedAtomicTest extends TestCase
{
    use MemcachedSteps;

    /**
     * @param list<string> $step
     */
    #[DataProvider('steps')]
    public function testACounterOutlivesAProcessThatIsKilledWhileItCounts(array $step, bool $slot, bool $record): void
    {
        $store = $this->store();
        $five = self::put($store, 'n', '5');
        [$pid] = $this->stopAt($step, static fn(MemcachedStore $own): array => $own->write([self::swap('n', '6', $five->position, self::DEAD)]));
        $this->kill($pid);
        $this->age();
        $this->heal();
        $view = $this->store()->read(['n']);
        self::assertSame($record ? '6' : '5', ($view->records['n'] ?? null)?->body);
        $next = $store->write([self::swap('n', '7', $view->records['n']->position ?? 0)])[0];
        self::assertTrue($next->done);
        self::assertGreaterThanOrEqual($next->position, $this->store()->read(['n'])->at, 'The log goes on.');
    }

    /**
     * @param list<string> $step
     */
    #[DataProvider('steps')]
    public function testAProcessThatWasGivenUpWhileItCountsDoesSoOnce(array $step, bool $slot, bool $record): void
    {
        $store = $this->store();
        $five = self::put($store, 'n', '5');
        [$pid, $file] = $this->stopAt($step, static fn(MemcachedStore $own): array => $own->write([self::swap('n', '6', $five->position, self::DEAD)]));
        $this->age();
        $this->heal();
        $other = $store->write([self::swap('n', '6 by another', $five->position, self::B)])[0];
        self::assertSame(!$record, $other->done);
        self::assertSame($record, $this->goOn($pid, $file)[0]->done, 'One of the two has counted.');
        self::assertSame($record ? '6' : '6 by another', ($this->store()->read(['n'])->records['n'] ?? null)?->body);
    }

    public function testALockStandsThoughSomebodyDiedWhoWantedIt(): void
    {
        foreach ([['incr ', 'add ', 'gets '], ['incr ', 'add ', 'cas ']] as $step) {
            $store = $this->store();
            $at = $store->read(['lock'])->at;
            $taken = $store->write([self::swap('lock', 'held', $at)])[0];
            self::assertTrue($taken->done);
            // Both had seen that it is free.
            [$pid] = $this->stopAt($step, static fn(MemcachedStore $own): array => $own->write([self::swap('lock', 'mine', $at, self::DEAD)]));
            $this->kill($pid);
            $this->age();
            $this->heal();
            self::assertSame('held', ($this->store()->read(['lock'])->records['lock'] ?? null)?->body);
            self::put($store, 'lock', null);
            $this->relay?->end();
        }
        $this->relay = null;
    }

    public function testWhatIsLeftStandingKeepsItsEnd(): void
    {
        $store = $this->store();
        $ends = $store->now() + 3_600_000;
        foreach (['never' => 0, 'in an hour' => $ends] as $key => $expiry) {
            $put = $store->write([new Change($key, '5', self::A, expiry: $expiry)])[0];
            [$pid] = $this->stopAt(['incr ', 'add ', 'cas '], static fn(MemcachedStore $own): array
                => $own->write([self::swap($key, '6', $put->position, self::DEAD, 60)]));
            $this->kill($pid);
            $this->age();
            $this->heal();
            $left = $this->left($key);
            $expiry === 0 ? self::assertSame(-1, $left) : self::assertTrue($left > 3500 && $left < 3700, "It ends in $left seconds.");
            $this->relay?->end();
        }
        $this->relay = null;
    }

    public function testAWriterWhoseClockIsFiveSecondsOffIsNotGivenUp(): void
    {
        foreach ([-5500, 5500, -90_000, 90_000] as $off) {
            $store = $this->store();
            $five = self::put($store, 'n', '5');
            [$pid, $file] = $this->stopAt(
                ['incr ', 'add ', 'cas '],
                static fn(MemcachedStore $own): array => $own->write([self::swap('n', '6', $five->position, self::DEAD)]),
                static fn(string $bytes): string => self::shifted($bytes, $off),
            );
            for ($i = 0; $i < 3; $i++) {
                $this->store()->read(['n']);
                $this->store()->since('', 0, '');
            }
            $top = $this->top();
            self::assertTrue($this->goOn($pid, $file)[0]->done);
            self::assertSame($top, $this->top(), 'At the first try: nobody had given it up.');
            $this->relay?->end();
        }
        $this->relay = null;
    }

    public function testAWriterThatDiedBeforeItSaidWhatForKeepsNobodyFromCounting(): void
    {
        $store = $this->store();
        self::put($store, 'f:g', 'm', self::A, 'm');
        $five = self::put($store, 'n', '5');
        foreach ([['n', $five->position], ['new', $five->position]] as [$key, $limit]) {
            [$pid] = $this->stopAt(['incr ', 'add '], static fn(MemcachedStore $own): mixed => self::put($own, 'any', 'v', self::DEAD));
            $this->kill($pid);
            $this->relay?->end();
            $store = $this->store();
            $outcome = $store->write([self::swap($key, '6', $limit, guards: ['f:g' => $five->position])])[0];
            // Whether the key was changed by whoever died cannot be known where there was nothing.
            $outcome = $key === 'new' && !$outcome->done
                ? $store->write([self::swap($key, '6', $store->read([$key])->at, guards: ['f:g' => $store->read([$key])->at])])[0]
                : $outcome;
            self::assertTrue($outcome->done, "$key: the first to come closes the gap.");
        }
        $this->relay = null;
    }

    /** @return iterable<string, array{bool, list<string>, bool}> whether the marker is there before; the step; whether its writer dies */
    public static function markersUnderWay(): iterable
    {
        foreach ([false, true] as $there) {
            foreach ([['incr ', 'add ', 'gets '], ['incr ', 'add ', 'cas ']] as $step) {
                foreach ([false, true] as $dies) {
                    yield ($there ? 'moved' : 'made') . ', before ' . \end($step) . ($dies ? 'never comes' : '') => [$there, $step, $dies];
                }
            }
        }
    }

    /**
     * The writer of the marker is also the one that counts: a call comes inside another, or after one that an exception has
     * ended. The marker may yet get a position above the counter's.
     *
     * @param list<string> $step
     */
    #[DataProvider('markersUnderWay')]
    public function testNothingIsCountedUnderAMarkerOfTheSameWriterUnderWay(bool $there, array $step, bool $dies): void
    {
        $store = $this->store();
        $there && self::put($store, 'f:g', 'm', self::B, 'm');
        $at = $store->read(['f:g', 'n'])->at;
        $marker = $there ? new Change('f:g', 'm', self::A, kind: 'm') : new Change('f:g', 'c', self::A, $at, kind: 'c', strict: true);
        [$pid, $file] = $this->stopAt($step, static fn(MemcachedStore $own): array => $own->write([$marker]));
        self::assertFalse($store->write([self::swap('n', '1', $at, guards: ['f:g' => $at])])[0]->done);
        if ($dies) {
            $this->kill($pid);
            $this->age();
            $this->heal();
            self::assertArrayNotHasKey('f:g', $this->store()->read(['f:g'])->records);
            self::put($store, 'f:g', 'c', self::B, 'c');
        } else {
            self::assertTrue($this->goOn($pid, $file)[0]->done);
        }
        $at = $store->read(['f:g', 'n'])->at;
        $counted = $store->write([self::swap('n', '1', $at, guards: ['f:g' => $at])])[0];
        self::assertTrue($counted->done);
        self::assertLessThan($counted->position, $this->store()->read(['f:g'])->records['f:g']->position ?? \PHP_INT_MAX);
    }

    /** Whoever makes it will give it a position above the counter's. */
    public function testNothingIsCountedUnderAMarkerThatIsNotThere(): void
    {
        $store = $this->store();
        $at = $store->read(['f:g', 'n'])->at;
        self::assertFalse($store->write([self::swap('n', '1', $at, guards: ['f:g' => $at])])[0]->done);
        $at = self::put($store, 'f:g', 'c', self::B, 'c')->position;
        self::assertTrue($store->write([self::swap('n', '1', $at, guards: ['f:g' => $at])])[0]->done);
    }

    /** Its writer was stopped for so long that others have settled its slot, and have counted since. */
    public function testAMarkerThatWasMadeStaysWhereItIs(): void
    {
        $store = $this->store();
        $at = $store->read(['f:g', 'n'])->at;
        [$pid, $file] = $this->stopAt(['incr ', 'add ', 'cas ', 'cas '], static fn(MemcachedStore $own): array
            => $own->write([new Change('f:g', 'c', self::DEAD, $at, kind: 'c', strict: true)]));
        $this->age();
        $this->heal();
        $at = $this->store()->read(['f:g'])->at;
        $counted = $store->write([self::swap('n', '1', $at, guards: ['f:g' => $at])])[0];
        self::assertTrue($counted->done);
        $made = $this->goOn($pid, $file)[0];
        self::assertTrue($made->done);
        $marker = $this->store()->read(['f:g'])->records['f:g'] ?? null;
        self::assertSame($made->position, $marker?->position);
        self::assertLessThan($counted->position, $made->position);
        self::assertGreaterThanOrEqual($counted->position, $this->store()->read(['any'])->at, 'The log goes on.');
    }

    /** @return iterable<string, array{bool}> */
    public static function ends(): iterable
    {
        yield 'dies' => [true];
        yield 'goes on' => [false];
    }

    /** It has missed the marker that another process makes before its own position. */
    #[DataProvider('ends')]
    public function testWhatAMarkerCoversOutlivesAProcessThatStopsWhileItMakesItAnew(bool $dies): void
    {
        self::assertNotNull(self::$server);
        $open = fn(string $socket): Cache => Cache::open(['dsn' => "memcached://$socket", 'prefix' => $this->prefix, 'near' => 'none', 'timeout' => 60.0]);
        $relay = $this->relay = new MemcachedRelay(self::$server->address);
        [$pid, $file] = $this->fork(static fn(): mixed => $open($relay->address[0])->get('n'));
        $relay->until('incr ');
        $cache = $open(self::$server->address[0]);
        self::assertSame(1, $cache->increment('n'));
        $relay->until('add ');
        $relay->until('gets ');
        $dies && $this->kill($pid);
        $this->age();
        $this->heal();
        self::assertSame(2, $cache->increment('n'));
        $dies || self::assertNull($this->goOn($pid, $file), 'It had looked before.');
        self::assertSame(3, $open(self::$server->address[0])->increment('n'));
    }

    public function testAnAtomicRecordStaysWhereTheNewOneHasNoRoom(): void
    {
        $store = $this->store();
        $five = self::put($store, 'n', '5');
        // Larger than half of what the server has.
        $outcome = $store->write([self::swap('n', \str_repeat('x', 40_000_000), $five->position)])[0];
        self::assertSame([false, -1], [$outcome->done, $outcome->position]);
        self::assertSame('5', ($this->store()->read(['n'])->records['n'] ?? null)?->body);
    }

    /** @param array<string, int> $guards */
    private static function swap(string $key, string $body, int $limit, string $writer = self::A, int $ttl = 0, array $guards = []): Change
    {
        return new Change($key, $body, $writer, $limit, $ttl === 0 ? 0 : (int) (\microtime(true) * 1000) + $ttl * 1000, $guards, strict: true, atomic: true);
    }

    /** What a client says whose clock is so many milliseconds off. */
    private static function shifted(string $bytes, int $off): string
    {
        return (string) \preg_replace_callback(
            '/^((?:add|cas) \S+:j:\d+ 0 \d+ \d+(?: \d+)?\r\n.{17})(.{8})/ms',
            static fn(array $found): string => $found[1] . \pack('J', (\unpack('J', $found[2])[1] ?? 0) + $off),
            $bytes,
        );
    }

    private function top(): int
    {
        $socket = $this->socket();
        $epoch = \explode(' ', self::get($socket, $this->prefix . ':head') ?? '')[0];
        $top = (int) self::get($socket, "$this->prefix:$epoch:a");
        \fclose($socket);

        return $top;
    }

    /** Seconds that the server will keep a record; -1 for ever. */
    private function left(string $key): int
    {
        $socket = $this->socket();
        $epoch = \explode(' ', self::get($socket, $this->prefix . ':head') ?? '')[0];
        $name = "$this->prefix:$epoch:" . (\str_contains($key, ' ') ? 'h:' . \hash('sha256', $key) : "r:$key");
        \fwrite($socket, "mg $name t\r\n");
        $line = (string) \fgets($socket);
        \fclose($socket);

        return \sscanf($line, 'HD t%d')[0] ?? 0;
    }
}
