<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Change;
use Larder\Store\Memcached\Item;
use Larder\Store\Memcached\MemcachedStore;
use Larder\Store\Memcached\ServerClock;
use Larder\Tests\Support\MemcachedServer;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** The server's clock, and what its clients make of it. */
final class MemcachedClockTest extends TestCase
{
    use MemcachedSteps;

    private const SECOND = 1_000_000_000;

    public function testItCostsNoRoundTripAfterTheFirstCall(): void
    {
        $server = new MemcachedServer(options: ['-vv']);
        try {
            foreach (['read', 'since'] as $first) {
                $store = new MemcachedStore([$server->address], $this->prefix, 5.0);
                $first === 'read' ? $store->read(['k']) : $store->since('', 0, '');
                $before = \strlen($server->log());
                $now = $store->now();
                self::assertLessThan(5000, \abs($now - (int) (\microtime(true) * 1000)));
                self::assertSame($before, \strlen($server->log()), 'Nothing was sent.');
            }
        } finally {
            $server->end();
        }
    }

    public function testItIsTheServersAlsoWhereAClientsTimeOfDayIsOff(): void
    {
        $first = $this->store();
        $first->read(['k']);
        $own = new ServerClock();
        foreach ([0, 90, -90] as $off) {
            // Who reads that the epoch began 90 s apart from what he has himself is 90 s apart from who began it.
            $own->enter(\str_repeat('a', 12) . \sprintf('%04x', 0x8000 + $off * 300));
            $sent = \hrtime(true);
            $seconds = 1_000_000;
            $own->read($seconds, $sent, $sent);
            $now = $own->now() ?? 0;
            self::assertGreaterThanOrEqual($seconds * 1000, $now);
            self::assertLessThan(($seconds + 60) * 1000, $now);
        }
    }

    public function testClientsWhoseClocksAgreeAgreeOnTheServers(): void
    {
        $stores = [];
        for ($i = 0; $i < 4; $i++) {
            $stores[] = $store = $this->store();
            $store->read(['k']);
            \usleep(260_000);
        }
        $this->assertEventually(static function () use ($stores): bool {
            $now = \array_map(static fn(MemcachedStore $store): int => $store->now(), $stores);

            return \max($now) - \min($now) <= 20;
        });
    }

    /** @return iterable<string, array{float}> */
    public static function phases(): iterable
    {
        foreach ([0.0, 0.001, 0.3, 0.5, 0.999] as $phase) {
            yield "$phase of a second" => [$phase];
        }
    }

    /** A server that has counted up to some second keeps what is to live for so long at least so long, by any clock. */
    #[DataProvider('phases')]
    public function testWhatIsToLiveIsNotForgottenBeforeItsTime(float $phase): void
    {
        foreach ([1, 999, 1000, 1001, 1999, 10_000, 3_600_000] as $life) {
            $exptime = Item::exptime(5_000_000 + $life, 5_000_000);
            // It ends when the server counts the second in which it was stored, and so many more.
            $lives = ($exptime - $phase) * 1000;
            self::assertGreaterThanOrEqual($life, $lives);
            self::assertLessThanOrEqual($life + 2000, $lives);
        }
        $month = 31 * 86_400_000;
        $now = 1_700_000_000_000;
        $ends = Item::exptime($now + $month, $now);
        // The client's clock may be behind the server's by a second.
        self::assertGreaterThanOrEqual($now + 1000 + $month, $ends * 1000);
        self::assertLessThanOrEqual($now + $month + 2000, $ends * 1000);
    }

    public function testALockThatTheServerHoldsStandsForWhoeverIsAhead(): void
    {
        $clock = new ServerClock();
        $clock->read(1000, \hrtime(true), \hrtime(true));
        $now = $clock->now() ?? 0;
        $clock->stands(0);
        $clock->stands($now + 10_000);
        self::assertGreaterThanOrEqual($now, $clock->now());
        $clock->stands($now - 700);
        self::assertLessThan($now - 700, $clock->now());
    }

    public function testOnlyWhatMustNotEndTooEarlySetsTheClockBack(): void
    {
        $store = $this->store();
        $reader = $this->store();
        foreach (['lock' => [true, true], 'lease' => [false, false], 'value' => [true, false]] as $key => [$logged, $atomic]) {
            $reader->read(['any']);
            $ends = $store->now() + 600;
            self::assertTrue($store->write([new Change(
                $key,
                'v',
                self::A,
                $logged ? $store->read([$key])->at : 0,
                $ends,
                logged: $logged,
                strict: $atomic,
                atomic: $atomic,
            )])[0]->done);
            $record = null;
            $this->assertEventually(static function () use ($reader, $ends): bool {
                return $reader->now() >= $ends;
            });
            $there = isset($reader->read([$key])->records[$key]);
            if ($there && ($atomic || !$logged)) {
                self::assertLessThan($ends, $reader->now(), "$key: it is there, so it is not over.");
            }
            $this->assertEventually(fn(): bool => !isset($this->store()->read([$key])->records[$key]));
        }
    }

    public function testWhatIsOverWhenItIsStoredIsNotThere(): void
    {
        $store = $this->store();
        foreach ([true, false] as $logged) {
            $key = $logged ? 'k' : 'l';
            self::put($store, $key, 'old');
            $change = new Change($key, 'v', self::A, expiry: $store->now() - 1, logged: $logged);
            self::assertTrue($store->write([$change])[0]->done);
            self::assertSame([], $this->store()->read([$key])->records);
        }
    }

    /** Releases before 1.6, and servers that only speak as memcached does. */
    public function testAServerThatDoesNotKnowMgIsAskedOtherwise(): void
    {
        foreach (['ERROR', "HD t-1"] as $answer) {
            [$pid, $file] = $this->stopAt(
                ['gets ', 'stats'],
                static function (MemcachedStore $own): array {
                    $own->read(['k']);

                    return [$own->now(), \microtime(true), $own->write([new Change('k', 'v', self::A, expiry: $own->now() + 60_000)])[0]->done];
                },
                $answer === 'ERROR'
                    ? static fn(string $bytes): string => \str_replace('mg ', 'xx ', $bytes)
                    // As an older release of this library stores the head: without an end.
                    : static fn(string $bytes): string => (string) \preg_replace('/^((?:add|cas) \S+:head 0) \d+/m', '$1 0', $bytes),
            );
            $answered = $this->goOn($pid, $file);
            self::assertIsArray($answered);
            [$now, $time, $done] = $answered;
            self::assertTrue($done);
            self::assertLessThan(5000, \abs($now - (int) ($time * 1000)));
            $this->relay?->end();
            $this->prefix .= 'x';
        }
        $this->relay = null;
    }

    /** @param \Closure(): bool $holds */
    private function assertEventually(\Closure $holds): void
    {
        for ($end = \hrtime(true) + 20 * self::SECOND; !$holds();) {
            self::assertLessThan($end, \hrtime(true), 'It never comes true.');
            \usleep(20_000);
        }
    }
}
