<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Change;
use Larder\Store\Memcached\MemcachedStore;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Writers over Memcached that are killed, or stopped for long, at each step of a write. */
final class MemcachedDeathTest extends TestCase
{
    use MemcachedSteps;

    /**
     * @param list<string> $step
     */
    #[DataProvider('steps')]
    public function testAKilledWriterLeavesNothingStale(array $step, bool $slot, bool $record): void
    {
        $store = $this->store();
        $old = self::put($store, 'k', 'old');
        $other = self::put($store, 'other', 'o');
        $start = $store->since('', 0, '');
        [$pid] = $this->stopAt($step, static fn(MemcachedStore $own): mixed => self::put($own, 'k', 'new', self::DEAD));
        $this->kill($pid);

        $view = $this->store()->read(['k', 'other']);
        self::assertSame($record ? 'new' : 'old', ($view->records['k'] ?? null)?->body);
        self::assertSame('o', ($view->records['other'] ?? null)?->body);
        $changes = $this->store()->since($start->epoch, $start->end, $start->token);
        self::assertTrue($changes->complete);
        self::assertSame($slot ? ['k'] : [], \array_column($changes->list, 0), 'What may be readable is in the log.');
        // Others go on meanwhile, and who looks again from the log's end misses none of them.
        $next = self::put($store, 'next', 'n', self::B);
        // The next writer may have guessed the position that was never announced, and then says that nothing is known of it.
        $since = $this->store()->since($start->epoch, $changes->end, '');
        self::assertTrue(!$since->complete || \in_array('next', \array_column($since->list, 0), true));
        self::assertTrue($store->write([new Change('other', 'p', self::A, $other->position)])[0]->done);

        $this->age();
        $this->heal();
        $view = $this->store()->read(['k', 'next']);
        self::assertGreaterThanOrEqual($next->position, $view->at, 'The log goes on.');
        if ($record) {
            self::assertSame('new', ($view->records['k'] ?? null)?->body);
        } elseif ($slot) {
            self::assertArrayNotHasKey('k', $view->records, 'Nobody knows what it was about to make stale.');
        } else {
            self::assertSame('old', ($view->records['k'] ?? null)?->body);
        }
        $all = $this->store()->since($start->epoch, $start->end, $start->token);
        if ($slot) {
            self::assertTrue(!$all->complete || \in_array('k', \array_column($all->list, 0), true));
            self::assertFalse($store->write([new Change('k', 'late', self::A, $old->position)])[0]->done);
        }
        self::assertTrue($store->write([new Change('k', 'again', self::A, $this->store()->read(['k'])->at)])[0]->done);
        self::assertSame('again', ($this->store()->read(['k'])->records['k'] ?? null)?->body);
        $end = $this->store()->since($all->epoch, $all->end, '');
        self::assertSame([true, ['k']], [$end->complete, \array_column($end->list, 0)]);
    }

    /**
     * @param list<string> $step
     */
    #[DataProvider('steps')]
    public function testAStoppedWriterThatGoesOnAfterItWasGivenUpDoesNotWin(array $step, bool $slot, bool $record): void
    {
        $store = $this->store();
        self::put($store, 'k', 'old');
        $view = $this->store()->read(['k']);
        $start = $store->since('', 0, '');
        [$pid, $file] = $this->stopAt($step, static fn(MemcachedStore $own): array
            => $own->write([new Change('k', 'stale', self::DEAD, $view->at)]));
        $this->age();
        $this->heal();
        $newer = self::put($store, 'k', 'newer', self::B);
        $outcome = $this->goOn($pid, $file)[0];
        self::assertSame($record, $outcome->done);
        if (!$record) {
            self::assertGreaterThan($view->at, $outcome->position);
        }
        self::assertSame('newer', ($this->store()->read(['k'])->records['k'] ?? null)?->body);
        self::assertSame($newer->position, ($this->store()->read(['k'])->records['k'] ?? null)?->position);
        $end = self::put($store, 'end', 'e')->position;
        self::assertGreaterThanOrEqual($end, $this->store()->read(['k'])->at);
    }

    /**
     * @param list<string> $step
     */
    #[DataProvider('steps')]
    public function testAStoppedWriterIsShutOutAlsoWhenTheKeyHasBeenForgotten(array $step, bool $slot, bool $record): void
    {
        $store = $this->store();
        $view = $this->store()->read(['k']);
        $start = $store->since('', 0, '');
        [$pid, $file] = $this->stopAt($step, static fn(MemcachedStore $own): array
            => $own->write([new Change('k', 'stale', self::DEAD, $view->at)]));
        $this->age();
        $this->heal();
        $removal = self::put($store, 'k', null, self::B);
        // Ten minutes later, or under pressure: the server knows nothing of the key any more.
        $this->forget('r:k');
        $this->forget('j:' . $removal->position);
        $outcome = $this->goOn($pid, $file)[0];
        self::assertSame($record, $outcome->done);
        self::assertArrayNotHasKey('k', $this->store()->read(['k'])->records);
        if (!$record) {
            self::assertSame(-1, $outcome->position);
        }
    }

    public function testAWriterThatWasOvertakenSeesItThoughTheKeyHasBeenForgotten(): void
    {
        $store = $this->store();
        $at = $store->read(['k'])->at;
        foreach ([$at, Change::ALWAYS] as $limit) {
            [$pid, $file] = $this->stopAt(['incr ', 'add ', 'gets '], static fn(MemcachedStore $own): array
                => $own->write([new Change('k', 'late', self::DEAD, $limit)]));
            $removal = self::put($store, 'k', null, self::B, 'd');
            $this->forget('r:k');
            $outcome = $this->goOn($pid, $file)[0];
            if ($limit === Change::ALWAYS) {
                self::assertTrue($outcome->done);
                self::assertGreaterThan($removal->position, $outcome->position);
            } else {
                self::assertSame([false, $removal->position, 'd'], [$outcome->done, $outcome->position, $outcome->kind]);
            }
            $this->relay?->end();
        }
        $this->relay = null;
    }

    /**
     * @param list<string> $step
     */
    #[DataProvider('steps')]
    public function testAnUnconditionalWriteThatWasGivenUpIsMadeAnewAndLogged(array $step, bool $slot, bool $record): void
    {
        $store = $this->store();
        self::put($store, 'k', 'old');
        [$pid, $file] = $this->stopAt($step, static fn(MemcachedStore $own): array => $own->write([new Change('k', null, self::DEAD, kind: 'd')]));
        $this->age();
        $this->heal();
        $seen = $this->store()->since('', 0, '');
        $outcome = $this->goOn($pid, $file)[0];
        self::assertTrue($outcome->done);
        self::assertArrayNotHasKey('k', $this->store()->read(['k'])->records);
        if (!$record) {
            self::assertGreaterThan($seen->end, $outcome->position, 'Who has looked since will see it.');
            self::assertContains('k', \array_column($this->store()->since($seen->epoch, $seen->end, '')->list, 0));
        }
    }

    /**
     * @param list<string> $step
     */
    #[DataProvider('steps')]
    public function testAFirstWriteThatWasGivenUpIsMadeAnewAndLogged(array $step, bool $slot, bool $record): void
    {
        $store = $this->store();
        $store->read(['k']);
        [$pid, $file] = $this->stopAt($step, static fn(MemcachedStore $own): array => $own->write([new Change('k', 'v', self::DEAD)]));
        $this->age();
        $this->heal();
        $seen = $this->store()->since('', 0, '');
        $outcome = $this->goOn($pid, $file)[0];
        $found = $this->store()->read(['k'])->records['k'] ?? null;
        self::assertSame(['v', $outcome->position], [$found?->body, $found?->position]);
        if (!$record) {
            self::assertGreaterThan($seen->end, $outcome->position);
        }
    }

    public function testAChangeWhoseSlotWasLostStaysAndTheLogIsIncomplete(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'old');
        $before = $store->since('', 0, '');
        [$pid, $file] = $this->stopAt(['incr ', 'add ', 'cas ', 'cas '], static fn(MemcachedStore $own): array
            => $own->write([new Change('k', 'v', self::DEAD)]));
        $position = $store->read(['k'])->records['k']->position;
        $this->forget("j:$position");
        self::assertSame($position, $this->goOn($pid, $file)[0]->position, 'It is made once.');
        self::assertSame($position, $this->store()->read(['k'])->records['k']->position);
        $this->age();
        $this->heal();
        self::assertFalse($this->store()->since($before->epoch, $before->end, '')->complete);
        self::assertGreaterThanOrEqual(self::put($store, 'end', 'e')->position, $this->store()->read(['k'])->at);
    }

    /** @return iterable<string, array{?string}> */
    public static function bodies(): iterable
    {
        yield 'a set' => ['v'];
        yield 'a deletion' => [null];
    }

    #[DataProvider('bodies')]
    public function testAWriteTakesTwoRoundTripsWhereNobodyElseWrites(?string $body): void
    {
        self::put($this->store(), 'there', 'old');
        foreach (['there', 'new'] as $key) {
            $packets = 0;
            [$pid, $file] = $this->stopAt(['incr '], static fn(MemcachedStore $own): mixed => self::put($own, $key, $body), static function (string $bytes) use (&$packets): string {
                $packets += $bytes === '' ? 0 : 1;

                return $bytes;
            });
            $packets = 0;
            self::assertTrue($this->goOn($pid, $file)->done);
            self::assertSame(2, $packets, $key);
            $this->relay?->end();
        }
        $this->relay = null;
    }

    /** A position that was guessed, and whose writer was given up, is doubtful only until that writer goes on. */
    public function testASlowWritersGuessStopsNobodyAfterItHasGoneOn(): void
    {
        $store = $this->store();
        $at = $store->read(['computed'])->at;
        [$pid, $file] = $this->stopAt(['incr ', 'add ', 'cas '], static fn(MemcachedStore $own): array => $own->write([new Change('k', 'v', self::DEAD)]));
        $this->age();
        $this->heal();
        self::assertTrue($this->goOn($pid, $file)[0]->done);
        self::assertTrue($this->store()->write([new Change('computed', 'c', self::A, $at)])[0]->done);
    }

    /** Who was only slow says that it changed nothing at the positions that were given up: else no fill of that time counted. */
    public function testASlowWritersPositionsStopNobodyAfterItHasGoneOn(): void
    {
        $store = $this->store();
        $start = $store->since('', 0, '');
        $at = $store->read(['computed'])->at;
        [$pid, $file] = $this->stopAt(['incr ', 'add '], static fn(MemcachedStore $own): array => $own->write([new Change('k', 'v', self::DEAD)]));
        $this->age();
        $this->heal();
        $seen = $this->store();
        self::assertFalse($seen->since($start->epoch, $start->end, $start->token)->complete);
        self::assertTrue($this->goOn($pid, $file)[0]->done);

        $changes = $this->store()->since($start->epoch, $start->end, $start->token);
        self::assertSame([true, ['k']], [$changes->complete, \array_column($changes->list, 0)]);
        self::assertTrue($this->store()->write([new Change('computed', 'c', self::A, $at)])[0]->done);
        self::assertFalse($seen->write([new Change('k', 'older', self::A, $at)])[0]->done);
    }

    public function testAWriteIntoAnEpochThatHasEndedIsMadeAgainInTheNext(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'old');
        [$pid, $file] = $this->stopAt(['incr ', 'add ', 'cas '], static fn(MemcachedStore $own): array
            => $own->write([new Change('k', null, self::DEAD, kind: 'd')]));
        $this->forgetHead();
        $epoch = $this->store()->read(['k'])->epoch;
        self::put($this->store(), 'k', 'older than the removal', self::B);
        self::assertTrue($this->goOn($pid, $file)[0]->done);
        $view = $this->store()->read(['k']);
        self::assertSame([$epoch, []], [$view->epoch, $view->records]);
    }

    public function testABatchWhoseWriterDiedInTheMiddle(): void
    {
        $store = $this->store();
        foreach (['a', 'b', 'c'] as $key) {
            self::put($store, $key, 'old');
        }
        $start = $store->since('', 0, '');
        [$pid] = $this->stopAt(['incr ', 'add ', 'cas ', 'cas '], static fn(MemcachedStore $own): array => $own->write([
            new Change('a', 'new', self::DEAD),
            new Change('b', 'new', self::DEAD),
            new Change('c', null, self::DEAD),
        ]));
        $this->kill($pid);
        $this->age();
        $this->heal();
        $view = $this->store()->read(['a', 'b', 'c']);
        self::assertSame(['a'], \array_keys($view->records));
        self::assertSame('new', $view->records['a']->body);
        $changes = $this->store()->since($start->epoch, $start->end, '');
        self::assertTrue($changes->complete);
        self::assertSame(['a', 'b', 'c'], \array_values(\array_unique(\array_column($changes->list, 0))));
        self::assertSame($changes->end, $view->at);
    }

    public function testWhatFollowsAMarkerLiesAboveIt(): void
    {
        $store = $this->store();
        self::put($store, 'f:g', 'm', self::A, 'm');
        [$pid, $file] = $this->stopAt(['incr ', 'add ', 'cas '], static fn(MemcachedStore $own): array => $own->write([
            new Change('f:g', 'm', self::DEAD, kind: 'm'),
            new Change('e:g:k', 'v', self::DEAD),
        ]));
        self::put($store, 'f:g', 'm', self::B, 'm');
        [$marker, $entry] = $this->goOn($pid, $file);
        self::assertTrue($marker->done && $entry->done);
        self::assertGreaterThan($marker->position, $entry->position);
    }

    public function testWhatComesBeforeAMarkerLiesBelowIt(): void
    {
        $store = $this->store();
        self::put($store, 'e:g:k', 'old');
        [$pid, $file] = $this->stopAt(['incr ', 'add ', 'cas '], static fn(MemcachedStore $own): array => $own->write([
            new Change('e:g:k', 'v', self::DEAD),
            new Change('f:g', 'm', self::DEAD, kind: 'm'),
        ]));
        self::put($store, 'e:g:k', 'w', self::B);
        [$entry, $marker] = $this->goOn($pid, $file);
        self::assertTrue($marker->done && $entry->done);
        self::assertGreaterThan($entry->position, $marker->position);
    }

    /** @return iterable<string, array{list<string>}> */
    public static function markerSteps(): iterable
    {
        yield 'position only' => [['incr ', 'add ']];
        yield 'announced' => [['incr ', 'add ', 'gets ']];
        yield 'about to store' => [['incr ', 'add ', 'cas ']];
    }

    /**
     * A flush that has a lower position, and stores its marker later: the entry must not come to lie above it.
     *
     * @param list<string> $step
     */
    #[DataProvider('markerSteps')]
    public function testAWriteDoesNotOvertakeAGuardUnderWay(array $step): void
    {
        $store = $this->store();
        self::put($store, 'f:g', 'm', self::A, 'm');
        $view = $store->read(['f:g', 'e:g:k']);
        [$pid, $file] = $this->stopAt($step, static fn(MemcachedStore $own): mixed => self::put($own, 'f:g', 'm', self::DEAD, 'm'));
        foreach (['e:g:k', 'e:g:l'] as $key) {
            $outcome = $store->write([new Change($key, 'v', self::A, $view->at, guards: ['f:g' => $view->at])])[0];
            self::assertFalse($outcome->done);
        }
        $marker = $this->goOn($pid, $file);
        self::assertTrue($marker->done);
        $outcome = $store->write([new Change('e:g:k', 'v', self::A, guards: ['f:g' => $view->at])])[0];
        self::assertSame([false, 'f:g', self::DEAD, 'm'], [$outcome->done, $outcome->guard, $outcome->writer, $outcome->kind]);
        self::assertTrue($store->write([new Change('e:g:k', 'v', self::A, guards: ['f:g' => $marker->position])])[0]->done);
    }

    public function testAGuardThatMovesBetweenLookAndStoreLiesAboveTheWrite(): void
    {
        $store = $this->store();
        self::put($store, 'f:g', 'm', self::A, 'm');
        $view = $store->read(['f:g', 'k']);
        [$pid, $file] = $this->stopAt(['incr ', 'add ', 'cas '], static fn(MemcachedStore $own): array
            => $own->write([new Change('k', 'v', self::DEAD, $view->at, guards: ['f:g' => $view->at])]));
        $marker = self::put($store, 'f:g', 'm', self::B, 'm');
        $outcome = $this->goOn($pid, $file)[0];
        self::assertTrue(!$outcome->done || $outcome->position < $marker->position);
    }

    public function testAGuardUnderWayIsNotForgottenHoweverMuchIsWrittenMeanwhile(): void
    {
        $store = $this->store();
        self::put($store, 'f:g', 'm', self::A, 'm');
        $view = $store->read(['f:g']);
        [$pid, $file] = $this->stopAt(['incr ', 'add ', 'cas '], static fn(MemcachedStore $own): mixed => self::put($own, 'f:g', 'm', self::DEAD, 'm'));
        $last = 0;
        for ($i = 0; $i < 100; $i++) {
            // More than the log reaches back.
            $store->write(\array_map(static fn(int $n): Change => new Change("x$n", null, self::A, kind: 'd'), \range(1, 50)));
            $outcome = $store->write([new Change("e:g:$i", 'v', self::A, guards: ['f:g' => $view->at], epoch: $view->epoch)])[0];
            $last = $outcome->done ? $outcome->position : $last;
        }
        $marker = $this->goOn($pid, $file);
        self::assertTrue($marker->done);
        self::assertGreaterThan($last, $marker->position, 'What was computed before the flush lies below it.');
        self::assertGreaterThanOrEqual($marker->position, $this->store()->read(['any'])->at, 'The log goes on.');
    }

    public function testTwoWritersOfAKeyTheLaterOneFaster(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'old');
        foreach ([['incr ', 'add ', 'gets '], ['incr ', 'add ', 'cas ']] as $step) {
            foreach ([Change::ALWAYS, $store->read(['k'])->at] as $limit) {
                [$pid, $file] = $this->stopAt($step, static fn(MemcachedStore $own): array
                    => $own->write([new Change('k', 'slow', self::DEAD, $limit)]));
                $fast = self::put($store, 'k', 'fast', self::B);
                $slow = $this->goOn($pid, $file)[0];
                self::assertSame($limit === Change::ALWAYS, $slow->done);
                $record = $this->store()->read(['k'])->records['k'] ?? null;
                self::assertSame($slow->done ? 'slow' : 'fast', $record?->body);
                self::assertSame($slow->done ? $slow->position : $fast->position, $record->position ?? 0);
                $slow->done && self::assertGreaterThan($fast->position, $slow->position, 'A key\'s position only grows.');
                $this->relay?->end();
            }
        }
        $this->relay = null;
    }

    public function testWhatIsStoredWhileItIsGivenUpStays(): void
    {
        self::put($this->store(), 'k', 'old');
        [$pid, $file] = $this->stopAt(['incr ', 'add ', 'cas '], static fn(MemcachedStore $own): array => $own->write([new Change('k', 'new', self::DEAD)]));
        $writer = $this->relay;
        $this->age();
        $this->store()->read(['any']);
        $this->age();
        // It has fenced the slot and read the old record, which it is about to remove.
        [$healing, $healed] = $this->stopAt(['incr '], static fn(MemcachedStore $own): mixed => $own->read(['any'])->records);
        $healer = $this->relay;
        $this->relay = $writer;
        self::assertTrue($this->goOn($pid, $file)[0]->done);
        $writer?->end();
        $this->relay = $healer;
        $this->goOn($healing, $healed);
        self::assertSame('new', ($this->store()->read(['k'])->records['k'] ?? null)?->body);
    }

    public function testNothingIsStoredForTheFirstTimeAfterItWasGivenUp(): void
    {
        $store = $this->store();
        $store->read(['k']);
        [$pid, $file] = $this->stopAt(['incr ', 'add ', 'cas '], static fn(MemcachedStore $own): array => $own->write([new Change('k', 'v', self::DEAD)]));
        $this->age();
        $this->heal();
        $this->relay?->until('cas ');
        self::assertSame([], $this->store()->read(['k'])->records);
        self::assertTrue($this->goOn($pid, $file)[0]->done);
    }

    public function testAChangeThatLostToALowerPositionIsNotLogged(): void
    {
        $store = $this->store();
        $start = self::put($store, 'k', 'old')->position;
        [$lower, $file] = $this->stopAt(['incr ', 'add ', 'gets '], static fn(MemcachedStore $own): array
            => $own->write([new Change('k', 'lower', self::A)]));
        $relay = $this->relay;
        [$higher, $other] = $this->stopAt(['incr ', 'add ', 'cas '], static fn(MemcachedStore $own): array
            => $own->write([new Change('k', 'higher', self::DEAD)]));
        [$this->relay, $relay] = [$relay, $this->relay];
        self::assertTrue($this->goOn($lower, $file)[0]->done);
        $this->relay?->end();
        $this->relay = $relay;
        $relay?->until('incr ');
        $view = $this->store()->read(['k']);
        $changes = $this->store()->since($view->epoch, $start, '');
        self::assertSame([['k', $view->records['k']->position, self::A, 's']], $changes->list);
        self::assertSame($changes->end, $view->at);
        self::assertTrue($this->goOn($higher, $other)[0]->done);
        self::assertSame('higher', $this->store()->read(['k'])->records['k']->body);
    }

    public function testAHeldRecordIsLeftWhereItIs(): void
    {
        $store = $this->store();
        $held = self::put($store, 'k', Change::HELD . ' of A', self::A, 'i');
        $start = $store->since('', 0, '');
        [$pid, $file] = $this->stopAt(['incr ', 'add ', 'cas '], static fn(MemcachedStore $own): array
            => $own->write([new Change('k', 'v', self::DEAD, $held->position, strict: true)]));
        $this->age();
        $this->heal();
        $record = $this->store()->read(['k'])->records['k'] ?? null;
        self::assertSame([Change::HELD . ' of A', $held->position, self::A], [$record?->body, $record?->position, $record?->writer]);
        $seen = $this->store()->since('', 0, '');
        $this->relay?->until('cas ');
        self::assertSame($held->position, ($this->store()->read(['k'])->records['k'] ?? null)?->position, 'The late one failed.');
        $outcome = $this->goOn($pid, $file)[0];
        self::assertTrue($outcome->done);
        self::assertGreaterThan($seen->end, $outcome->position, 'In a new round.');
        self::assertSame('v', ($this->store()->read(['k'])->records['k'] ?? null)?->body);
    }

    #[Group('long')]
    public function testKilledAtAnyMomentTheLogStaysTrueAndGoesOn(): void
    {
        $reader = $this->store();
        $keys = \array_map(static fn(int $i): string => "k$i", \range(0, 7));
        $seen = $reader->since('', 0, '');
        $near = [];
        $end = \microtime(true) + 4;
        $children = [];
        $work = function (): never {
            $own = $this->store();
            for ($n = 0; ; $n++) {
                $key = 'k' . \random_int(0, 7);
                self::put($own, $key, \random_int(0, 3) === 0 ? null : (string) $n, \bin2hex(\random_bytes(6)));
            }
        };
        while (($now = \microtime(true)) < $end + 6) {
            if ($now < $end) {
                while (\count($children) < 3) {
                    $children[] = $this->fork($work)[0];
                }
            }
            \usleep(\random_int(0, 2000));
            if ($children !== [] && ($now > $end || \random_int(0, 5) === 0)) {
                $this->kill(\array_shift($children));
            }
            $before = $reader->read($keys);
            $changes = $reader->since($seen->epoch, $seen->end, $seen->token);
            self::assertGreaterThanOrEqual($seen->end, $changes->end);
            foreach ($changes->complete ? $changes->list : [] as [$key]) {
                unset($near[$key]);
            }
            if (!$changes->complete) {
                $near = [];
            }
            $seen = $changes;
            foreach ($keys as $key) {
                $record = $before->records[$key] ?? null;
                $copy = $near[$key] ?? null;
                self::assertFalse($copy !== null && $copy !== $record?->position && $copy <= \max($before->at, $record->position ?? 0), 'A near copy outlived its change.');
            }
            // A near tier takes what it reads only if it was read at the place in the log it knows.
            $after = $reader->read($keys);
            foreach ($after->records as $key => $record) {
                if ($record->position <= $seen->end && $after->at >= $record->position) {
                    $near[$key] = $record->position;
                }
            }
        }
        $last = self::put($this->store(), 'last', 'v')->position;
        for ($i = 0, $at = 0; $i < 200 && ($at = $this->store()->read(['last'])->at) < $last; $i++) {
            \usleep(50_000);
        }
        self::assertGreaterThanOrEqual($last, $at, 'After a few seconds the log is settled again.');
    }
}
