<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Memcached\MemcachedStore;
use Larder\Store\Record;
use Larder\System\Failure;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** A memcached that restarts, hangs, forgets, refuses, or is not there; and values beyond what one item holds. */
final class MemcachedFaultsTest extends TestCase
{
    use Forks;

    protected const FORKS = true;

    private const A = 'aaaaaaaaaaaa';
    private const B = 'bbbbbbbbbbbb';

    private ?MemcachedServer $server = null;

    protected function setUp(): void
    {
        if (!MemcachedServer::installed()) {
            self::markTestSkipped('memcached is not installed.');
        }
        // No notice may get out, silenced or not.
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
        $this->endChildren();
        $this->server?->end();
    }

    public function testARestartBeginsANewEpochInWhichAllIsCold(): void
    {
        foreach ([false, true] as $tcp) {
            $this->server?->end();
            $this->server = new MemcachedServer(tcp: $tcp);
            $store = $this->store();
            self::put($store, 'k', 'before');
            $view = $store->read(['k']);
            $seen = $store->since('', 0, '');
            $lease = self::put($store, 'l', 'held', logged: false);
            $this->server->restart();
            // The instance goes on by itself, though its socket was closed.
            $after = $store->read(['k']);
            self::assertNotSame($view->epoch, $after->epoch);
            self::assertSame([], $after->records);
            $changes = $store->since($seen->epoch, $seen->end, $seen->token);
            self::assertSame([false, $after->epoch], [$changes->complete, $changes->epoch]);
            foreach (['k', 'other'] as $key) {
                $outcome = $store->write([new Change($key, 'v', self::A, $view->at)])[0];
                self::assertSame([false, -1], [$outcome->done, $outcome->position], 'A position of another epoch says nothing.');
                $outcome = $this->store()->write([new Change($key, 'v', self::A, $view->at)])[0];
                self::assertSame([false, -1], [$outcome->done, $outcome->position]);
            }
            self::assertGreaterThan($view->at, $after->at);
            self::put($store, 'k', 'own');
            $outcome = $store->write([new Change('k', 'v', self::A, $view->at)])[0];
            self::assertSame([false, -1], [$outcome->done, $outcome->position], 'Also where the last change was an own one.');
            self::assertGreaterThan($lease->position, self::put($store, 'l', 'held', logged: false)->position);
        }
    }

    public function testTheFirstCallAfterARestartMayBeAWrite(): void
    {
        $this->server = new MemcachedServer();
        $store = $this->store();
        self::put($store, 'k', 'before');
        $epoch = $store->read(['k'])->epoch;
        $this->server->restart();
        self::put($store, 'k', 'after');
        self::assertNotSame($epoch, $store->read(['k'])->epoch);
        self::assertSame('after', ($this->store()->read(['k'])->records['k'] ?? null)?->body);
        $this->server->restart();
        self::put($store, 'l', 'held', logged: false);
        self::assertSame('held', ($this->store()->read(['l'])->records['l'] ?? null)?->body);
    }

    public function testNoServerIsAFailureAtOnce(): void
    {
        $this->server = new MemcachedServer();
        $store = $this->store();
        self::put($store, 'k', 'v');
        $this->server->stop();
        foreach ([$store, $this->store(), new MemcachedStore([['127.0.0.1', 1]], 'p', 0.3)] as $gone) {
            self::assertFails($gone);
        }
        $this->server->restart();
        self::put($store, 'k', 'v');
    }

    public function testAHangingServerIsAFailureAfterTheTimeout(): void
    {
        foreach ([false, true] as $tcp) {
            $this->server?->end();
            $this->server = new MemcachedServer(tcp: $tcp);
            // By a patient one: 0.1 s is not always enough for a machine that is busy.
            self::put($this->store(), 'k', 'v');
            $store = $this->store(0.1);
            self::assertSame('v', Wait::answer(static fn(): ?string => ($store->read(['k'])->records['k'] ?? null)?->body));
            $this->server->pause();
            foreach ([$store, $this->store(0.1)] as $hanging) {
                $begun = \microtime(true);
                self::assertFails($hanging);
                // Six calls of 0.1 s each.
                self::assertGreaterThan(0.3, \microtime(true) - $begun);
                self::assertLessThan(5, \microtime(true) - $begun);
            }
            $this->server->resume();
            // Late answers to what was given up are nobody's.
            self::assertSame('v', Wait::answer(static fn(): ?string => ($store->read(['k'])->records['k'] ?? null)?->body));
            self::put($this->store(), 'k', 'w');
            self::assertSame('w', ($this->store()->read(['k'])->records['k'] ?? null)?->body);
        }
    }

    /** @return iterable<string, array{string, int}> what a program at Memcached's address answers, and how often */
    public static function nonsense(): iterable
    {
        yield 'a line without an end' => [\str_repeat('x', 8192), \PHP_INT_MAX];
        yield 'a size below zero' => ["EN\r\nVALUE k 0 -5 1\r\n\r\nEND\r\n", 1];
        yield 'a size beyond 64 bits' => ["EN\r\nVALUE k 0 99999999999999999999 1\r\nx\r\nEND\r\n", 1];
    }

    #[DataProvider('nonsense')]
    public function testAServerThatAnswersNonsenseIsAFailure(string $answer, int $times): void
    {
        $program = Process::snippet(<<<'PHP'
            $listener = stream_socket_server('tcp://127.0.0.1:0');
            echo substr(strrchr(stream_socket_get_name($listener, false), ':'), 1), "\n";
            while ($client = stream_socket_accept($listener, 60)) {
                fread($client, 65536);
                for ($i = 0; $i < $argv[2] && @fwrite($client, $argv[1]); $i++);
                fread($client, 65536);
            }
            PHP, [$answer, (string) $times]);
        $store = new MemcachedStore([['127.0.0.1', (int) $program->line()]], 'p', 0.3);
        $before = \memory_get_peak_usage();
        self::assertFails($store);
        self::assertLessThan($before + (8 << 20), \memory_get_peak_usage());
    }

    /** @return iterable<string, array{string}> */
    public static function essentials(): iterable
    {
        yield 'head' => ['p:head'];
        yield 'counter' => ['p:E:a'];
    }

    #[DataProvider('essentials')]
    public function testWithoutHeadOrCounterANewEpochBegins(string $name): void
    {
        $this->server = new MemcachedServer();
        $store = $this->store();
        $old = self::put($store, 'k', 'old');
        $view = $this->store()->read(['k']);
        $this->forget(\str_replace('E', $view->epoch, $name));
        self::put($store, 'k', 'new', self::B);
        foreach ([$store, $this->store()] as $any) {
            $now = $any->read(['k']);
            self::assertNotSame($view->epoch, $now->epoch);
            self::assertSame('new', ($now->records['k'] ?? null)?->body);
            self::assertFalse($any->since($view->epoch, $view->at, '')->complete);
            self::assertFalse($any->write([new Change('k', 'late', self::A, $old->position)])[0]->done);
        }
    }

    /** Written by another release, whose layout is another one. */
    public function testAHeadOfAnotherLayoutGivesWayToANewEpoch(): void
    {
        $this->server = new MemcachedServer();
        $store = $this->store();
        self::put($store, 'k', 'old');
        $epoch = $store->read(['k'])->epoch;
        $head = "$epoch 5 5 another";
        self::assertSame('STORED', $this->server->talk('set p:head 0 0 ' . \strlen($head) . "\r\n$head"));
        foreach ([$store, $this->store()] as $any) {
            $view = $any->read(['k']);
            self::assertNotSame($epoch, $view->epoch);
            self::assertArrayNotHasKey('k', $view->records);
            self::assertFalse($any->since($epoch, 5, '')->complete);
        }
        self::put($store, 'k', 'new', self::B);
        self::assertSame('new', ($this->store()->read(['k'])->records['k'] ?? null)?->body);
    }

    public function testALostSlotMakesTheLogIncompleteAndAnUnknownKeyAConflict(): void
    {
        $this->server = new MemcachedServer();
        $store = $this->store();
        $start = $store->since('', 0, '');
        $known = self::put($store, 'known', 'v', self::B);
        self::put($store, 'gone', null, self::B);
        self::put($store, 'k', 'v', self::B);
        self::assertTrue($store->since($start->epoch, $start->end, '')->complete);
        $this->forget("p:$start->epoch:j:$known->position");
        foreach ([$store, $this->store()] as $any) {
            $changes = $any->since($start->epoch, $start->end, '');
            self::assertSame([false, []], [$changes->complete, $changes->list]);
            self::assertTrue($any->since($start->epoch, $known->position, '')->complete);
        }
        $unknown = $this->store()->write([new Change('never', 'v', self::A, $start->end)])[0];
        self::assertSame([false, -1], [$unknown->done, $unknown->position]);
        self::assertTrue($store->write([new Change('nor this', 'v', self::B, $start->end)])[0]->done, 'Who has made it knows it.');
        self::assertTrue($store->write([new Change('never', 'v', self::A, $known->position)])[0]->done, 'After the lost slot all is known.');
        self::assertTrue($store->write([new Change('known', 'v', self::A, $known->position)])[0]->done, 'A record knows by itself.');
    }

    public function testTheLogIsKnownForSomeThousandPositionsAndNotLonger(): void
    {
        $this->server = new MemcachedServer();
        $store = $this->store();
        $start = $store->since('', 0, '');
        $batches = static function (int $count) use ($store): int {
            for ($i = 0, $last = 0; $i < $count; $i++) {
                $changes = [];
                for ($n = 0; $n < 60; $n++) {
                    $changes[] = new Change("k$n", 'v', self::B);
                }
                $last = $store->write($changes)[59]->position;
            }

            return $last;
        };
        $batches(60);
        $changes = $this->store()->since($start->epoch, $start->end, '');
        self::assertTrue($changes->complete);
        self::assertCount(3600, $changes->list);
        $middle = $batches(5);
        self::assertTrue($store->write([new Change('never', 'v', self::A, $start->end)])[0]->done);
        $batches(10);
        self::assertFalse($this->store()->since($start->epoch, $start->end, '')->complete);
        self::assertTrue($this->store()->since($start->epoch, $middle, '')->complete);
        $outcome = $this->store()->write([new Change('nor this', 'v', self::A, $start->end)])[0];
        self::assertSame([false, -1], [$outcome->done, $outcome->position]);
        self::assertSame('END', $this->server->talk("get p:$start->epoch:j:" . ($start->end + 60)), 'What is too old has gone.');
        self::assertNotSame('END', $this->server->talk("get p:$start->epoch:j:$middle"));
    }

    public function testOwnChangesNeverCountAlsoAroundOneBySomebodyElse(): void
    {
        $this->server = new MemcachedServer();
        $store = $this->store();
        $at = $store->read(['k'])->at;
        foreach (['before' => 500, 'after' => 5500] as $when => $count) {
            for ($i = 0; $i < $count; $i++) {
                $outcome = $store->write([new Change("$when$i", null, self::A, $at, kind: 'd')])[0];
                self::assertTrue($outcome->done, "$when: $i");
            }
            if ($when === 'before') {
                self::put($this->store(), 'k', null, self::B);
                $store->read(['k']);
            }
        }
        self::assertFalse($store->write([new Change('k', 'v', self::A, $at)])[0]->done, 'That one counts.');
    }

    public function testOfWhatAServerCannotHoldNothingIsSaidToBeStored(): void
    {
        $this->server = new MemcachedServer(8);
        foreach ([100, 30, 6, 4, 3, 2] as $megabytes) {
            $body = \str_repeat(\random_bytes(1 << 10), $megabytes << 10);
            foreach ([true, false] as $logged) {
                $key = "$megabytes " . (int) $logged;
                $done = $this->store()->write([new Change($key, $body, self::A, logged: $logged)])[0]->done;
                $found = $this->store()->read([$key])->records[$key] ?? null;
                self::assertTrue($found?->body === ($done ? $body : null), "$megabytes MB");
                self::assertTrue($megabytes < 5 || !$done);
            }
        }
    }

    /** @return iterable<string, array{\Closure(MemcachedServer, string): mixed}> */
    public static function endings(): iterable
    {
        yield 'flush_all' => [static fn(MemcachedServer $server): mixed => $server->talk('flush_all')];
        yield 'the head is evicted' => [static fn(MemcachedServer $server): mixed => $server->talk('delete p:head')];
        yield 'a restart' => [static fn(MemcachedServer $server): mixed => $server->restart()];
    }

    /** @param \Closure(MemcachedServer, string): mixed $end */
    #[DataProvider('endings')]
    public function testTheEndOfAnEpochIsNoticedByTheNextReadOrWrite(\Closure $end): void
    {
        $this->server = new MemcachedServer();
        foreach ([false, true] as $write) {
            $store = $this->store();
            self::put($store, 'k', 'old');
            $view = $store->read(['k']);
            $end($this->server, $view->epoch);
            if (!$write) {
                self::assertNotSame($view->epoch, $store->read(['k'])->epoch);
            }
            foreach ([true, false] as $logged) {
                $key = $logged ? 'k' : 'l';
                $outcome = $store->write([new Change($key, 'of the old epoch', self::A, $logged ? $view->at : 0, logged: $logged, epoch: $view->epoch)])[0];
                self::assertSame([false, -1], [$outcome->done, $outcome->position]);
            }
            self::assertSame([], $this->store()->read(['k', 'l'])->records);
            self::assertNotSame($view->epoch, $store->since($view->epoch, $view->at, '')->epoch);
        }
    }

    public function testTwoStoresOfOneProcessGoOnSideBySide(): void
    {
        $this->server = new MemcachedServer(options: ['-vv']);
        [$one, $two] = [$this->store(), $this->store()];
        for ($i = 0; $i < 20; $i++) {
            self::put($one, 'k', "one $i");
            self::put($two, 'l', "two $i");
            self::assertSame("one $i", ($two->read(['k'])->records['k'] ?? null)?->body);
            self::assertSame("two $i", ($one->read(['l'])->records['l'] ?? null)?->body);
        }
        // One more is the test's, which asked whether it is there.
        self::assertSame(3, \preg_match_all('/new auto-negotiating client connection/', $this->server->log()), 'Each has a socket of its own.');
    }

    public function testAConnectionLeftInTheMiddleOfACommandIsNotUsedAgain(): void
    {
        $this->server = new MemcachedServer();
        $server = $this->server;
        $store = $this->store();
        self::put($store, 'k', 'right');
        self::put($store, 'l', 'wrong');
        $handlers = [\pcntl_async_signals(true), \pcntl_signal_get_handler(\SIGALRM)];
        \pcntl_signal(\SIGALRM, static function () use ($server): never {
            $server->resume();
            throw new \LogicException('from a signal handler');
        });
        try {
            // It has the command, and answers when nobody waits any more.
            $server->pause();
            \pcntl_alarm(1);
            try {
                $store->read(['l']);
                self::fail('The handler threw.');
            } catch (\LogicException|Failure) {
                $server->resume();
            }
            self::assertSame('right', ($store->read(['k'])->records['k'] ?? null)?->body);
            self::assertSame(['k'], \array_keys($store->read(['k'])->records));
        } finally {
            \pcntl_alarm(0);
            \pcntl_signal(\SIGALRM, $handlers[1]);
            \pcntl_async_signals($handlers[0]);
        }
    }

    public function testLargeBodiesAreStoredInParts(): void
    {
        $this->server = new MemcachedServer();
        $store = $this->store();
        $key = \str_repeat("large\0", 10_000);
        $body = \random_bytes(3_000_000);
        $first = self::put($store, $key, $body);
        self::assertTrue($body === ($this->store()->read([$key])->records[$key] ?? null)?->body);
        $more = \random_bytes(1_500_000);
        $other = self::put($store, $key, $more, self::B);
        self::assertSame([$first->position, self::A], [$other->previous, $other->writer]);
        $outcome = $store->write([new Change($key, \random_bytes(1_200_000), self::A, $first->position)])[0];
        self::assertTrue(!$outcome->done && $outcome->record?->body === $more);
        $all = MemcachedServer::all($this->store(), 1);
        self::assertTrue(\array_keys($all) === [$key] && $all[$key]->body === $more);
        self::put($store, 'lease', $body, logged: false);
        self::assertTrue($body === ($this->store()->read(['lease'])->records['lease'] ?? null)?->body);
        self::put($store, $key, null);
        self::put($store, 'lease', null, logged: false);
        self::assertLessThan(1_000_000, $store->stats()['bytes'], 'Old parts do not stay.');
    }

    public function testAMissingPartIsAMiss(): void
    {
        $this->server = new MemcachedServer(options: ['-vv']);
        $store = $this->store();
        $position = self::put($store, 'k', \random_bytes(2_000_000))->position;
        self::put($store, 'other', 'v');
        $epoch = $store->read(['other'])->epoch;
        \preg_match_all("/ set (p:$epoch:p:[0-9a-f]+:2) /", $this->server->log(), $names);
        self::assertCount(1, $names[1]);
        $this->forget($names[1][0]);
        self::assertSame(['other'], \array_keys($this->store()->read(['k', 'other'])->records));
        $outcome = $store->write([new Change('k', 'v', self::B, $position - 1)])[0];
        self::assertSame([false, $position, null], [$outcome->done, $outcome->position, $outcome->record]);
        self::assertTrue($store->write([new Change('k', 'v', self::B, $position)])[0]->done);
    }

    public function testWhatTheServerRefusesIsSaidAndTheOldRecordGoes(): void
    {
        // Bytes for 1.6.18 (Debian bookworm), kilobytes for 1.6.38 (trixie).
        $half = \version_compare(\explode(' ', (string) \exec('memcached --version'))[1] ?? '', '1.6.18', '<=') ? '131072' : '128';
        $this->server = new MemcachedServer(options: ['-I', '256k', '-o', "slab_chunk_max=$half"]);
        $store = $this->store();
        $start = $store->since('', 0, '');
        foreach ([300_000, 2_000_000] as $size) {
            $old = self::put($store, 'k', 'old');
            $outcome = $store->write([new Change('k', \random_bytes($size), self::A, $old->position)])[0];
            self::assertSame([false, -1], [$outcome->done, $outcome->position]);
            self::assertArrayNotHasKey('k', $this->store()->read(['k'])->records);
            $changes = $this->store()->since($start->epoch, $old->position, '');
            self::assertContains('k', \array_column($changes->list, 0));
            self::assertGreaterThan($old->position, $changes->end);
            self::put($store, 'l', 'old', logged: false);
            self::assertFalse($store->write([new Change('l', \random_bytes($size), self::A, logged: false)])[0]->done);
            self::assertArrayNotHasKey('l', $this->store()->read(['l'])->records);
        }
    }

    public function testAServerWithoutRoomNeverKeepsTheOlderOfTwo(): void
    {
        foreach ([[], ['-M']] as $options) {
            $this->server?->end();
            $this->server = new MemcachedServer(4, options: $options);
            $store = $this->store();
            $failed = 0;
            for ($i = 0; $i < 300; $i++) {
                $key = 'k' . $i % 40;
                try {
                    $outcome = $store->write([new Change($key, "$i " . \str_repeat('x', ($i * 7919) % 300_000), self::A)])[0];
                } catch (Failure) {
                    // Nothing is known then: the caller has to keep the invalidation itself.
                    $failed++;
                    continue;
                }
                $record = $this->store()->read([$key])->records[$key] ?? null;
                $failed += $record === null ? 1 : 0;
                self::assertTrue($record === null || (int) $record->body === $i, 'An older value than the last one written.');
                self::assertTrue($outcome->done || $record === null);
            }
            self::assertGreaterThan(0, 300 - $failed);
        }
    }

    public function testAChildNeverUsesItsParentsSocket(): void
    {
        $this->server = new MemcachedServer(options: ['-vv']);
        $store = $this->store();
        self::put($store, 'k', 'v');
        $before = \preg_match_all('/new auto-negotiating client connection/', $this->server->log());
        $this->inProcesses(2, static function (int $i) use ($store): string {
            self::put($store, "child$i", 'v');
            unset($store);

            return '';
        });
        self::put($store, 'k', 'w');
        $log = $this->server->log();
        self::assertSame($before + 2, \preg_match_all('/new auto-negotiating client connection/', $log), 'One for each child, none more for the parent.');
        self::assertStringNotContainsString('quit', $log);
    }

    public function testPrefixesAreApart(): void
    {
        $this->server = new MemcachedServer();
        $prefixes = ['', 'a', 'a:head', "a b\n", \str_repeat('p', 300), \str_repeat('p', 299) . 'q', '~x'];
        $stores = \array_map($this->store(...), \array_fill(0, \count($prefixes), 5.0), $prefixes);
        foreach ($stores as $i => $store) {
            self::put($store, 'k', "v$i");
        }
        foreach ($stores as $i => $store) {
            self::assertSame("v$i", ($store->read(['k'])->records['k'] ?? null)?->body);
            self::assertSame(['k' => "v$i"], \array_map(static fn(Record $record): string => $record->body, MemcachedServer::all($store, 1)));
        }
    }

    private function store(float $timeout = 5.0, string $prefix = 'p'): MemcachedStore
    {
        self::assertNotNull($this->server);

        return new MemcachedStore([$this->server->address], $prefix, $timeout);
    }

    private static function put(MemcachedStore $store, string $key, ?string $body, string $writer = self::A, bool $logged = true): ChangeResult
    {
        $outcome = $store->write([new Change($key, $body, $writer, logged: $logged)])[0];
        self::assertTrue($outcome->done);

        return $outcome;
    }

    private static function assertFails(MemcachedStore $store): void
    {
        $calls = [
            static fn(): mixed => $store->read(['k']),
            static fn(): mixed => $store->write([new Change('k', 'v', self::A)]),
            static fn(): mixed => $store->write([new Change('k', 'v', self::A, logged: false)]),
            static fn(): mixed => $store->since('', 0, ''),
            static fn(): mixed => $store->stats(),
            static fn(): mixed => \iterator_to_array($store->each()),
        ];
        foreach ($calls as $call) {
            try {
                $call();
                self::fail('It should have failed.');
            } catch (Failure $failure) {
                self::assertStringContainsString('memcached', $failure->getMessage());
            }
        }
        $store->tidy();
    }

    private function forget(string $name): void
    {
        self::assertSame('DELETED', $this->server?->talk("delete $name"));
    }
}
