<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Record;
use Larder\Store\Store;
use PHPUnit\Framework\TestCase;

/**
 * What every engine must keep, whatever it is made of. A test of an engine extends this class and adds what the
 * engine promises beyond it. The parts about hostile bytes and about several processes are in StoreBytes and
 * StoreConcurrency.
 *
 * The error handler of setUp() throws on whatever PHP reports, also where it was silenced with "@": engines may
 * not let a notice or warning out.
 */
abstract class StoreContract extends TestCase
{
    use Forks;
    use StoreBytes;
    use StoreConcurrency;

    /** False for a store that lives in one process: the tests with several then take turns in this one. */
    protected const FORKS = true;

    protected const A = 'aaaaaaaaaaaa';
    protected const B = 'bbbbbbbbbbbb';

    /**
     * A store, fresh and empty for each test; a second call within a test gives another instance over the same
     * data, as another process would have.
     */
    abstract protected function store(): Store;

    protected function setUp(): void
    {
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
        $this->endChildren();
    }

    /** One unconditional write. */
    protected static function put(Store $store, string $key, ?string $body, string $writer = self::A, string $kind = 's'): ChangeResult
    {
        $outcomes = $store->write([new Change($key, $body, $writer, kind: $body === null && $kind === 's' ? 'd' : $kind)]);
        self::assertCount(1, $outcomes);
        self::assertTrue($outcomes[0]->done);

        return $outcomes[0];
    }

    /** One write that may be refused. */
    protected static function attempt(Store $store, Change $change): ChangeResult
    {
        $outcomes = $store->write([$change]);
        self::assertCount(1, $outcomes);

        return $outcomes[0];
    }

    protected static function record(Store $store, string $key): ?Record
    {
        return $store->read([$key])->records[$key] ?? null;
    }

    /**
     * What each() gives, by key.
     *
     * @param int $count of the records that there are
     *
     * @return array<array-key, Record>
     */
    protected static function all(Store $store, int $count): array
    {
        return \iterator_to_array($store->each());
    }

    public function testAFreshStoreIsEmptyAndHasAnEpoch(): void
    {
        $store = $this->store();
        $view = $store->read(['k', 'l']);
        self::assertSame([], $view->records);
        self::assertNotSame('', $view->epoch);
        self::assertSame([], \iterator_to_array($store->each(), false));
        self::assertSame($view->epoch, $this->store()->read(['k'])->epoch);
        self::assertSame($view->epoch, $store->since('', 0, '')->epoch);
    }

    public function testWhatIsWrittenIsRead(): void
    {
        $store = $this->store();
        $outcome = self::put($store, 'k', 'body');
        self::assertSame(['', 0, null], [$outcome->writer, $outcome->previous, $outcome->guard]);
        $view = $store->read(['k', 'absent']);
        self::assertSame(['k'], \array_keys($view->records));
        self::assertEquals(new Record('body', $outcome->position, self::A), $view->records['k']);
        self::assertGreaterThanOrEqual($outcome->position, $view->at);
    }

    public function testAnOverwriteReplacesAndNamesTheChangeBefore(): void
    {
        $store = $this->store();
        $first = self::put($store, 'k', 'one');
        $second = self::put($store, 'k', 'two', self::B);
        self::assertSame([self::A, $first->position], [$second->writer, $second->previous]);
        self::assertEquals(new Record('two', $second->position, self::B), self::record($store, 'k'));
    }

    public function testPositionsOnlyGrow(): void
    {
        $stores = [$this->store(), $this->store()];
        $last = 0;
        for ($i = 0; $i < 60; $i++) {
            $key = 'k' . $i % 7;
            $outcome = self::put($stores[$i % 2], $key, $i % 5 === 0 ? null : "v$i");
            self::assertGreaterThan($last, $outcome->position);
            $last = $outcome->position;
        }
        foreach ($stores[0]->write([new Change('x', '1', self::A), new Change('y', '2', self::A), new Change('x', '3', self::A)]) as $outcome) {
            self::assertGreaterThan($last, $outcome->position);
            $last = $outcome->position;
        }
    }

    public function testARemovalRemovesAndIsLoggedAlsoWhenNothingWasThere(): void
    {
        $store = $this->store();
        $start = $store->since('', 0, '');
        self::put($store, 'k', 'body');
        $removal = self::put($store, 'k', null, self::B);
        self::assertNull(self::record($store, 'k'));
        $nothing = self::put($store, 'never', null, self::B, 'x');
        self::assertSame(
            [['k', $removal->position, self::B, 'd'], ['never', $nothing->position, self::B, 'x']],
            self::lastChanges($store->since($start->epoch, $start->end, $start->token)->list),
        );
    }

    public function testARemovalSaysWhatItRemoved(): void
    {
        $store = $this->store();
        $remove = static fn(string $key): ChangeResult => self::attempt($store, new Change($key, null, self::B, kind: 'd', strict: true));
        self::assertSame('', $remove('k')->kind);
        self::assertSame('', self::put($store, 'k', 'value')->kind);
        self::assertSame('s', self::put($store, 'k', 'value')->kind);
        self::assertSame('s', $remove('k')->kind);
        self::assertSame('', $remove('k')->kind);
        $store->write([new Change('k', 'intent', self::A, kind: 'i')]);
        self::assertSame('i', $remove('k')->kind);
    }

    public function testALimitStopsAWriteAfterSomebodyElsesChange(): void
    {
        $store = $this->store();
        $before = self::put($store, 'k', 'old', self::A)->position;
        $theirs = self::put($store, 'k', 'theirs', self::B, 'x')->position;
        $end = $store->since('', 0, '');
        foreach (['mine', null] as $body) {
            $outcome = self::attempt($store, new Change('k', $body, self::A, $before));
            self::assertFalse($outcome->done);
            self::assertSame([$theirs, self::B, 'x', null], [$outcome->position, $outcome->writer, $outcome->kind, $outcome->guard]);
            self::assertEquals(new Record('theirs', $theirs, self::B), $outcome->record);
            self::assertEquals(new Record('theirs', $theirs, self::B), self::record($store, 'k'));
        }
        self::assertSame([], $store->since($end->epoch, $end->end, $end->token)->list, 'A refused change is not logged.');
        self::assertTrue(self::attempt($store, new Change('k', 'mine', self::A, $theirs))->done);
        self::assertSame('mine', self::record($store, 'k')?->body);
    }

    public function testOwnChangesDoNotCountUnlessStrict(): void
    {
        $store = $this->store();
        $before = $store->read(['k'])->at;
        $first = self::put($store, 'k', 'one')->position;
        self::assertTrue(self::attempt($store, new Change('k', 'two', self::A, $before))->done);
        $second = self::record($store, 'k')?->position ?? 0;
        self::assertGreaterThan($first, $second);
        $outcome = self::attempt($store, new Change('k', 'three', self::A, $first, strict: true));
        self::assertSame([false, $second, self::A, 's'], [$outcome->done, $outcome->position, $outcome->writer, $outcome->kind]);
        self::assertSame('two', $outcome->record?->body);
        self::assertTrue(self::attempt($store, new Change('k', 'three', self::A, $second, strict: true))->done);
        self::put($store, 'k', null);
        self::assertTrue(self::attempt($store, new Change('k', 'four', self::A, $before))->done, 'Nor does an own removal.');
    }

    public function testAnAbsentKeyRemembersItsRemoval(): void
    {
        $store = $this->store();
        $other = $this->store();
        $before = $store->read(['k', 'never'])->at;
        self::put($store, 'k', 'body');
        foreach (['k', 'never'] as $key) {
            $removal = self::put($other, $key, null, self::B, $key === 'k' ? 'd' : 'x');
            $outcome = self::attempt($store, new Change($key, 'late', self::A, $before));
            self::assertFalse($outcome->done);
            self::assertSame(
                [$removal->position, self::B, $key === 'k' ? 'd' : 'x', null, null],
                [$outcome->position, $outcome->writer, $outcome->kind, $outcome->record, $outcome->guard],
            );
            self::assertNull(self::record($store, $key));
            $again = self::attempt($store, new Change($key, 'new', self::A, $store->read([$key])->at, strict: true));
            self::assertTrue($again->done);
            self::assertContains([$again->previous, $again->writer], [[$removal->position, self::B], [0, '']]);
        }
    }

    public function testTheChangeBeforeIsNeverAnOlderOne(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'v');
        self::put($store, 'k', null);
        self::put($this->store(), 'k', 'w', self::B);
        $removal = self::put($this->store(), 'k', null, self::B);
        $outcome = self::put($store, 'k', 'x');
        self::assertContains([$outcome->previous, $outcome->writer], [[$removal->position, self::B], [0, '']]);
    }

    public function testAGuardStopsAWrite(): void
    {
        $store = $this->store();
        self::put($store, 'guard', '1');
        $before = $store->read(['guard', 'k', '77'])->at;
        $guards = ['guard' => $before, '77' => $before];
        self::assertTrue(self::attempt($store, new Change('k', 'v', self::A, guards: $guards))->done);
        self::put($store, 'guard', '2', self::A);
        self::put($store, '77', null, self::A);
        self::assertTrue(self::attempt($store, new Change('k', 'w', self::A, guards: $guards))->done, 'Own changes do not count.');
        $flush = self::put($store, '77', null, self::B)->position;
        foreach ([Change::ALWAYS, $store->read(['k'])->at] as $limit) {
            $outcome = self::attempt($store, new Change('k', 'x', self::A, $limit, guards: $guards));
            self::assertSame(
                [false, $flush, self::B, 'd', '77', 'w'],
                [$outcome->done, $outcome->position, $outcome->writer, $outcome->kind, $outcome->guard, $outcome->record?->body],
            );
        }
        self::assertSame('w', self::record($store, 'k')?->body);
        self::assertTrue(self::attempt($store, new Change('k', 'x', self::A, guards: ['guard' => $before, '77' => $flush]))->done);
    }

    public function testAHeldRecordIsReplacedByCompareAndSwapOnly(): void
    {
        $store = $this->store();
        $held = self::put($store, 'k', Change::HELD . 'body', self::A, 'i')->position;
        $end = $store->since('', 0, '');
        foreach (['v', null] as $body) {
            foreach ([self::A, self::B] as $writer) {
                foreach ([Change::ALWAYS, $held] as $limit) {
                    $outcome = self::attempt($this->store(), new Change('k', $body, $writer, $limit));
                    self::assertSame([false, $held, self::A, 'ibody'], [$outcome->done, $outcome->position, $outcome->writer, $outcome->record?->body]);
                }
            }
        }
        self::assertSame([], $store->since($end->epoch, $end->end, $end->token)->list);
        self::assertFalse(self::attempt($store, new Change('k', 'v', self::B, $held - 1, strict: true))->done);
        self::assertTrue(self::attempt($store, new Change('k', 'v', self::B, $held, strict: true))->done);
        self::put($store, 'k', Change::HELD);
        self::assertTrue(self::attempt($store, new Change('k', null, self::B, strict: true))->done, 'Also without a limit.');
        self::assertNull(self::record($store, 'k'));
    }

    public function testChangesOfABatchAreJudgedOneByOneInTheirOrder(): void
    {
        $store = $this->store();
        $at = $store->read(['a', 'b', 'c'])->at;
        $theirs = self::put($store, 'b', 'theirs', self::B)->position;
        $start = $store->since('', 0, '');
        $outcomes = $store->write([
            new Change('a', '1', self::A, $at),
            new Change('b', '2', self::A, $at),
            new Change('c', '3', self::A, $at, guards: ['a' => $at]),
            new Change('d', '4', self::B, guards: ['a' => $at]),
            new Change('a', '5', self::A, $at),
            new Change('a', '6', self::A, $at, strict: true),
            new Change('e', null, self::A, kind: 'd'),
        ]);
        self::assertSame([true, false, true, false, true, false, true], \array_map(static fn(ChangeResult $o) => $o->done, $outcomes));
        self::assertSame($theirs, $outcomes[1]->position);
        self::assertSame([$outcomes[0]->position, 'a', self::A], [$outcomes[3]->position, $outcomes[3]->guard, $outcomes[3]->writer]);
        self::assertSame([$outcomes[4]->position, self::A], [$outcomes[5]->position, $outcomes[5]->writer]);
        self::assertSame([$outcomes[0]->position, self::A], [$outcomes[4]->previous, $outcomes[4]->writer]);
        $records = \array_map(static fn(Record $r) => $r->body, $store->read(['a', 'b', 'c', 'd', 'e'])->records);
        \ksort($records);
        self::assertSame(['a' => '5', 'b' => 'theirs', 'c' => '3'], $records);
        $changes = self::lastChanges($store->since($start->epoch, $start->end, $start->token)->list);
        self::assertSame(['c', 'a', 'e'], \array_column($changes, 0));
    }

    public function testUnloggedRecordsAreComparedAndSwappedByVersion(): void
    {
        $store = $this->store();
        $start = $store->since('', 0, '');
        $take = fn(int $limit, ?string $body, string $writer): ChangeResult
            => self::attempt($this->store(), new Change('l', $body, $writer, $limit, logged: false));
        $first = $take(0, 'held', self::A);
        self::assertTrue($first->done);
        self::assertEquals(new Record('held', $first->position, self::A), self::record($store, 'l'));
        foreach ([self::A, self::B] as $writer) {
            $late = $take(0, 'mine', $writer);
            self::assertFalse($late->done, 'The own change counts too.');
            self::assertSame([$first->position, 'held'], [$late->position, $late->record?->body]);
        }
        $second = $take($first->position, 'renewed', self::A);
        self::assertTrue($second->done);
        self::assertGreaterThan($first->position, $second->position);
        self::assertFalse($take($first->position, null, self::A)->done);
        self::assertSame('renewed', self::record($store, 'l')?->body);
        self::assertTrue($take($second->position, null, self::A)->done);
        self::assertNull(self::record($store, 'l'));
        $third = $take(0, 'again', self::B);
        self::assertTrue($third->done);
        self::assertGreaterThan($second->position, $third->position, 'A version never comes again, also not after a removal.');
        self::assertTrue($take(Change::ALWAYS, 'forced', self::A)->done);
        self::assertSame('forced', self::record($store, 'l')?->body);
        self::assertSame([], $store->since($start->epoch, $start->end, $start->token)->list);
        $logged = self::put($store, 'k', 'v')->position;
        self::assertSame([['k', $logged, self::A, 's']], $store->since($start->epoch, $start->end, $start->token)->list);
    }

    public function testTheLogListsKeysWithWriterAndKind(): void
    {
        $store = $this->store();
        $start = $store->since('', 0, '');
        $expected = [];
        foreach (['s' => 'v', 'd' => null, 'x' => 'v', 'i' => 'v', 'm' => 'v'] as $kind => $body) {
            $writer = \str_repeat((string) \dechex(\ord($kind) % 16), 12);
            $expected[] = ["k\0$kind", self::put($store, "k\0$kind", $body, $writer, $kind)->position, $writer, $kind];
        }
        foreach ([$store, $this->store()] as $reader) {
            $changes = $reader->since($start->epoch, $start->end, $start->token);
            self::assertTrue($changes->complete);
            self::assertSame($start->epoch, $changes->epoch);
            self::assertSame($expected, $changes->list);
            self::assertSame($expected[4][1], $changes->end);
        }
        $now = $store->since($start->epoch, $expected[4][1], $changes->token);
        self::assertSame([true, [], $expected[4][1]], [$now->complete, $now->list, $now->end]);
        $now = $this->store()->since($start->epoch, $expected[3][1], '');
        self::assertSame([true, [$expected[4]]], [$now->complete, $now->list], 'Without a token the position alone decides.');
        $next = self::put($this->store(), 'z', 'v')->position;
        self::assertSame([['z', $next, self::A, 's']], $store->since($now->epoch, $now->end, $changes->token)->list);
    }

    public function testAnUnknownEpochOrPositionGetsAnIncompleteAnswer(): void
    {
        $store = $this->store();
        $end = self::put($store, 'k', 'v')->position;
        $epoch = $store->read(['k'])->epoch;
        foreach ([['', 0], ['other', 0], ['other', $end]] as [$theirs, $position]) {
            $changes = $store->since($theirs, $position, '');
            self::assertSame([false, [], $epoch, $end], [$changes->complete, $changes->list, $changes->epoch, $changes->end]);
        }
        // Who has seen more than there is may know of an engine that was set back: then it is another epoch.
        $changes = $store->since($epoch, $end + 1000, '');
        self::assertSame([false, []], [$changes->complete, $changes->list]);
        self::assertSame($changes->epoch === $epoch ? $end : 0, $changes->end);
    }

    public function testTheViewIsAsNewAsItsPosition(): void
    {
        $store = $this->store();
        for ($i = 0; $i < 20; $i++) {
            $position = self::put($this->store(), 'k' . $i % 3, $i % 4 === 0 ? null : "v$i")->position;
            $view = $store->read(['k0', 'k1', 'k2']);
            self::assertGreaterThanOrEqual($position, $view->at);
            self::assertLessThanOrEqual($store->since('', 0, '')->end, $view->at);
        }
    }

    public function testARecordLivesUntilItsExpiry(): void
    {
        $store = $this->store();
        $now = $store->now();
        $day = 86_400_000;
        foreach ([20_000, 3 * $day, 31 * $day, 400 * $day, 100 * 365 * $day] as $ttl) {
            self::assertTrue(self::attempt($store, new Change("k$ttl", 'v', self::A, expiry: $now + $ttl))->done);
        }
        self::assertTrue(self::attempt($store, new Change('max', 'v', self::A, expiry: \PHP_INT_MAX))->done);
        $store->tidy();
        foreach ([20_000, 3 * $day, 31 * $day, 400 * $day, 100 * 365 * $day] as $ttl) {
            self::assertSame('v', self::record($store, "k$ttl")?->body, "expiry in $ttl ms");
        }
        self::assertSame('v', self::record($store, 'max')?->body);
    }

    public function testAnExpiredRecordIsStillAChange(): void
    {
        $store = $this->store();
        $now = $store->now();
        $start = $store->since('', 0, '');
        self::put($store, 'k', 'older');
        $outcome = self::attempt($store, new Change('k', 'v', self::B, expiry: $now - 5000));
        self::assertTrue($outcome->done);
        self::assertSame([['k', $outcome->position, self::B, 's']], self::lastChanges($store->since($start->epoch, $start->end, $start->token)->list));
        $store->tidy();
        self::assertNotSame('older', self::record($store, 'k')?->body);
        self::assertFalse(self::attempt($store, new Change('k', 'w', self::A, $start->end))->done);
        self::assertTrue(self::attempt($store, new Change('k', 'w', self::A, $outcome->position))->done);
        self::assertSame('w', self::record($store, 'k')?->body, 'The old expiry does not hold for the new record.');
        $gone = self::attempt($store, new Change('l', 'v', self::A, expiry: 1, logged: false));
        self::assertTrue(self::attempt($store, new Change('l', 'w', self::B, $gone->position, logged: false))->done);
    }

    /**
     * A list from the log in which each key keeps its last change only, as every engine may give it.
     *
     * @param list<array{string, int, string, string}> $list
     *
     * @return list<array{string, int, string, string}>
     */
    protected static function lastChanges(array $list): array
    {
        $last = [];
        foreach ($list as $change) {
            unset($last[$change[0]]);
            $last[$change[0]] = $change;
        }

        return \array_values($last);
    }
}
