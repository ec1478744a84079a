<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Cache;
use Larder\Store\Appending;
use Larder\Store\Change;
use Larder\Store\Sqlite\ChangeLog;
use Larder\Store\Sqlite\SqliteStore;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** Changes that have left their process and wait to be written. */
final class ChangeLogTest extends TestCase
{
    use Directory;
    use Forks;
    use Strict;

    protected const FORKS = true;
    private const A = 'aaaaaaaaaaaa';
    private const B = 'bbbbbbbbbbbb';
    private const C = 'dddddddddddd';

    protected function tearDown(): void
    {
        $this->endChildren();
    }

    public function testOneReadsWhatOneHasAppended(): void
    {
        $store = $this->store();
        self::assertTrue($store->append(new Change('k', 'appended', self::A)));
        self::assertSame('appended', self::get($store, 'k'));
        self::assertTrue($store->append(new Change('k', null, self::A, kind: 'd')));
        self::assertNull(self::get($store, 'k'));
    }

    public function testWhoeverBeginsSeesIt(): void
    {
        $this->store()->append(new Change('k', 'appended', self::A));
        $other = $this->store();
        $changes = $other->since('', 0, '');
        self::assertSame('appended', self::get($other, 'k'));
        self::assertTrue($this->changeLog()->isEmpty());

        $this->store()->append(new Change('k', null, self::B, kind: 'd'));
        $news = $other->since($changes->epoch, $changes->end, $changes->token);
        self::assertSame([['k', $changes->end + 1, self::B, 'd']], $news->list);
        self::assertNull(self::get($other, 'k'));
    }

    public function testAKilledProcesssChangesStand(): void
    {
        self::put($this->store(), 'gone', 'old');
        [$pid] = $this->fork(function (): void {
            $store = $this->store();
            $store->append(new Change('k', 'from the dead', self::A));
            $store->append(new Change('gone', null, self::A, kind: 'd'));
            \posix_kill((int) \getmypid(), \SIGKILL);
        });
        \pcntl_waitpid($pid, $status);
        unset($this->children[$pid]);
        $store = $this->store();
        $store->since('', 0, '');
        self::assertSame('from the dead', self::get($store, 'k'));
        self::assertNull(self::get($store, 'gone'));
    }

    public function testChangesKeepTheirOrder(): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        $a->append(new Change('k', 'first', self::A));
        $b->append(new Change('k', 'second', self::B));
        self::put($a, 'l', 'third', self::A);
        self::assertSame(['second', 'third'], [self::get($b, 'k'), self::get($b, 'l')]);

        $b->append(new Change('k', 'fourth', self::B));
        self::put($a, 'k', 'fifth', self::A);
        $b->settle(self::B);
        self::assertSame('fifth', self::get($b, 'k'));
    }

    /** A set that compares must meet what was appended before it. */
    public function testWhatWaitsIsInTheWayOfAConditionalWrite(): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        $at = $a->write([new Change('k', 'old', self::A)])[0]->position;
        $b->append(new Change('k', null, self::B, kind: 'd'));
        $outcome = $a->write([new Change('k', 'from the old one', self::A, $at)])[0];
        self::assertSame([false, self::B, 'd'], [$outcome->done, $outcome->writer, $outcome->kind]);
    }

    public function testAReadShowsWhatOthersHaveAppended(): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        self::assertNull(self::get($a, 'k'));
        $b->append(new Change('k', 'one', self::B));
        self::assertSame('one', self::get($a, 'k'));
        $a->append(new Change('own', 'waits', self::A));
        $b->append(new Change('k', 'two', self::B));
        self::assertSame('two', self::get($a, 'k'));
        $b->append(new Change('k', null, self::B, kind: 'd'));
        self::assertNull(self::get($a, 'k'));
    }

    /** Otherwise each read after it would commit what nobody waits for. */
    public function testOnesOwnChangeIsNoOthersAfterAnotherHasEmptiedTheLog(): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        self::put($a, 'k', 'old');
        $log = $this->changeLog();
        self::assertTrue($log->append(new Change('k', 'one', self::A)));
        self::assertFalse($log->hasOthers());
        $b->append(new Change('k', 'two', self::B));
        self::assertTrue($log->hasOthers());
        $a->settle(self::A);
        self::assertTrue($log->isEmpty());
        self::assertTrue($log->append(new Change('k', 'three', self::A)));
        self::assertFalse($log->hasOthers());
    }

    public function testWhatLiesWhereOneHasAppendedIsReadOnceTheLogHasBegunAnew(): void
    {
        $a = $this->store();
        self::assertTrue($a->append(new Change('k', 'one', self::A)));
        $b = $this->store();
        $b->since('', 0, '');
        self::assertTrue($this->changeLog()->isEmpty());
        self::assertTrue($b->append(new Change('l', 'two', self::B)));
        $a->since('', 0, '');
        self::assertSame(['one', 'two'], [self::get($a, 'k'), self::get($a, 'l')]);
    }

    public function testManyAreApplied(): void
    {
        $store = $this->store();
        $store->write([new Change('held', 'i of b', self::B, kind: 'i'), new Change('held too', 'i of b', self::B, kind: 'i')]);
        $at = $store->read(['held'])->at;
        $expected = $positions = [];
        for ($i = 0; $i < 300; $i++) {
            $key = match ($i) {
                100 => 'held', 101 => 'held too', default => "k$i",
            };
            $isJudged = $i !== 101;
            self::assertTrue($store->append(new Change($key, $i % 3 === 0 ? null : "v$i", self::A, $isJudged ? $at : Change::ALWAYS, kind: $i % 3 === 0 ? 'd' : 's')));
            $expected[$key] = match (true) {
                $i === 100, $i === 101 => 'i of b', $i % 3 === 0 => null, default => "v$i",
            };
        }
        $settled = $store->settle(self::A);
        foreach ($expected as $key => $value) {
            $record = $store->read([$key])->records[$key] ?? null;
            self::assertSame($value, $record?->body, $key);
            $value === null || $key === 'held too' || self::assertSame($record?->position, \abs($settled[$key]), $key);
        }
        self::assertSame([-($at + 101), 0], [$settled['held'], $settled['held too']]);
        $snapshot = $store->read(['held']);
        self::assertCount(299, $store->since($snapshot->epoch, $at, '')->list);
    }

    /** The request has begun before, so it may go without. A process that is stopped while it writes must not stop readers. */
    public function testAReadDoesNotWaitForAWriterToApplyThem(): void
    {
        [$a, $b] = [new SqliteStore($this->directory, 8 << 20, 20.0), $this->store()];
        $b->write([new Change('k', 'old', self::B)]);
        self::assertSame('old', self::get($a, 'k'));
        $b->append(new Change('k', 'new', self::B));
        $lock = \fopen(\glob($this->directory . '/bell.*')[0] ?? '', 'r+');
        self::assertIsResource($lock);
        \flock($lock, \LOCK_EX);
        $start = \hrtime(true);
        self::assertSame('old', self::get($a, 'k'));
        self::assertLessThan(10e9, \hrtime(true) - $start, 'not even for its time-out of 20 s');
        \flock($lock, \LOCK_UN);
        self::assertSame('new', self::get($a, 'k'));
    }

    public function testItSaysWhatBecameOfThem(): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        $b->write([new Change('held', 'i', self::B, kind: 'i')]);
        $a->append(new Change('k', 'one', self::A));
        $a->append(new Change('k', 'two', self::A));
        $a->append(new Change('held', 'never', self::A));
        $settled = $a->settle(self::A);
        self::assertSame(0, $settled['held'], 'nothing is stored over an intent');
        self::assertSame('i', self::get($b, 'held'));
        self::assertSame($settled['k'], $b->read(['k'])->records['k']->position);
        self::assertSame([], $a->settle(self::A));
    }

    public function testItSaysNothingOfWhatAnotherWriterHasAppended(): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        $at = $b->read(['l'])->at;
        $a->append(new Change('k', 'from a', self::A));
        $b->append(new Change('k', 'from b', self::B));
        self::assertSame($at + 1, $a->settle(self::A)['k']);
        $b->append(new Change('k', 'from b again', self::B));
        self::assertSame([], $a->settle(self::A));
    }

    /** Whoever applies another process's change of a key must not copy its own value at that position. */
    #[RequiresPhpExtension('apcu')]
    public function testANearTierHasNoValueOfAnotherPosition(): void
    {
        \apcu_clear_cache();
        $open = fn(): Cache => Cache::open(['dsn' => "sqlite://$this->directory", 'near' => 'apcu'])->group('kept', true);
        [$one, $other] = [$open(), $open()];
        $one->set('k', 'old');
        // This request applies the first one's change, before the second change is appended.
        $open()->get('l');
        $other->refresh();
        $other->set('k', 'new');
        $one->commit();
        self::assertSame('new', $open()->get('k'));
    }

    public function testAJudgedSetIsMadeWhereNobodyIsInItsWay(): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        $at = $b->write([new Change('e::k', 'old', self::B)])[0]->position;
        // Its writer need not know of changes of other keys.
        $b->write([new Change('e::l', 'other', self::B)]);
        $a->append(new Change('e::k', 'one', self::A, $at));
        $a->append(new Change('e::k', 'two', self::A, $at));
        self::assertGreaterThan(0, $a->settle(self::A)['e::k']);
        self::assertSame('two', self::get($b, 'e::k'));
    }

    /** @param \Closure(SqliteStore): mixed $meanwhile */
    #[DataProvider('inTheWay')]
    public function testAJudgedSetIsDroppedWhereAnotherChangeIsInItsWay(\Closure $meanwhile): void
    {
        [$a, $b, $c] = [$this->store(), $this->store(), $this->store()];
        $at = $b->write([new Change('e::k', 'old', self::A)])[0]->position;
        $meanwhile($b);
        $a->append(new Change('e::k', 'from the old one', self::A, $at));
        $a->append(new Change('e::k', 'again', self::A, $at));
        $settled = $a->settle(self::A);
        self::assertLessThan(0, $settled['e::k']);
        self::assertNull(self::get($c, 'e::k'));
        $conflict = $a->write([new Change('e::k', 'and again', self::A, $at)])[0];
        self::assertSame([false, -$settled['e::k'], Appending::NOBODY, 'x'], [$conflict->done, $conflict->position, $conflict->writer, $conflict->kind]);
    }

    /** @return iterable<string, array{\Closure(SqliteStore): mixed}> */
    public static function inTheWay(): iterable
    {
        yield 'a set' => [static fn(SqliteStore $b): array => $b->write([new Change('e::k', 'newer', self::B)])];
        yield 'a delete' => [static fn(SqliteStore $b): array => $b->write([new Change('e::k', null, self::B, kind: 'd')])];
        yield 'a set that waits' => [static fn(SqliteStore $b): bool => $b->append(new Change('e::k', 'newer', self::B))];
        yield 'a delete that waits' => [static fn(SqliteStore $b): bool => $b->append(new Change('e::k', null, self::B, $b->read(['e::k'])->at, kind: 'd'))];
        yield 'a flush' => [static fn(SqliteStore $b): array => $b->write([new Change('f:', 'm', self::B, kind: 'm')])];
    }

    public function testADeleteSignsWhatItHidesAsNobodys(): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        $at = $b->write([new Change('k', 'old', self::B), new Change('l', 'old', self::B)])[1]->position;
        $b->append(new Change('k', 'hidden', self::B, $at));
        $a->append(new Change('k', null, self::A, $at, kind: 'd'));
        $a->append(new Change('l', null, self::A, $at, kind: 'd'));
        $list = $b->since($this->epoch($b), $at, '')->list;
        self::assertSame([['k', Appending::NOBODY, 'd'], ['l', self::A, 'd']], \array_map(static fn(array $change): array => [$change[0], $change[2], $change[3]], $list));
    }

    public function testADeleteUnderAnIntentIsAChangeAndLeavesTheIntent(): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        $at = $b->write([new Change('k', 'i of b', self::B, kind: 'i')])[0]->position;
        $a->append(new Change('k', null, self::A, $at, kind: 'd'));
        $a->settle(self::A);
        $record = $b->read(['k'])->records['k'];
        self::assertSame(['i of b', $at + 1, Appending::NOBODY], [$record->body, $record->position, $record->writer]);
    }

    public function testEachIsAppliedOnceAlsoIfTheFileDidNotBeginAnew(): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        $a->append(new Change('k', null, self::A, kind: 'd'));
        $file = $this->file();
        $waiting = (string) \file_get_contents($file);
        $a->settle(self::A);
        // As if the one who applied it had been killed before the file began anew.
        \file_put_contents($file, $waiting);
        self::put($b, 'k', 'later', self::B);
        self::put($b, 'l', 'later', self::B);
        self::assertSame('later', self::get($this->store(), 'k'));
    }

    public function testWhatAKilledProcessLeftInTheMiddleIsPassedOver(): void
    {
        $store = $this->store();
        $store->append(new Change('first', '1', self::A));
        foreach ([7, 20] as $bytes) {
            // Half a record, as long as this.
            \file_put_contents($this->file(), "\nLt3" . \str_repeat("\0", $bytes), \FILE_APPEND);
            $store->append(new Change("after $bytes", "\nLt3 in a value", self::A));
        }
        $other = $this->store();
        $other->since('', 0, '');
        self::assertSame(['1', "\nLt3 in a value", "\nLt3 in a value"], [self::get($other, 'first'), self::get($other, 'after 7'), self::get($other, 'after 20')]);
        self::assertTrue($this->changeLog()->isEmpty());
    }

    public function testWhoeverCannotLockItWrites(): void
    {
        $store = $this->store();
        $store->append(new Change('k', 'one', self::A));
        $file = \fopen($this->file(), 'r+');
        self::assertIsResource($file);
        \flock($file, \LOCK_EX);
        self::assertFalse($store->append(new Change('k', 'two', self::A)));
        // And what is whole is read, though somebody may be appending.
        $other = $this->store();
        $other->since('', 0, '');
        self::assertSame('one', self::get($other, 'k'));
        \flock($file, \LOCK_UN);
        self::assertTrue($store->append(new Change('k', 'three', self::A)));
        self::assertSame('three', self::get($store, 'k'));
    }

    public function testAnEpochTakesItsTailAlong(): void
    {
        $store = $this->store();
        $store->append(new Change('k', 'old', self::A));
        \unlink($this->directory . '/larder.db');
        \array_map(\unlink(...), \glob($this->directory . '/bell.*') ?: []);
        $other = $this->store();
        $other->since('', 0, '');
        self::assertNull(self::get($other, 'k'));
        self::assertCount(1, \glob($this->directory . '/tail.*') ?: []);
        self::assertFalse($store->append(new Change('l', 'into nothing', self::A)));
    }

    public function testAnEpochEndsWithoutItsTail(): void
    {
        $store = $this->store();
        $store->append(new Change('k', 'old', self::A));
        $other = $this->store();
        $slice = $other->since('', 0, '');
        self::assertSame('old', self::get($other, 'k'));
        $store->append(new Change('k', 'new', self::A));
        \unlink($this->file());
        $late = $this->store();
        self::assertNull(self::get($late, 'k'));
        foreach ([$other, $store] as $running) {
            self::assertNotSame($slice->epoch, $running->since($slice->epoch, $slice->end, $slice->token)->epoch);
            self::assertNull(self::get($running, 'k'));
        }
    }

    public function testWhatWasAppendedInADirectoryThatWasMovedAwayIsRemovedInItsPlace(): void
    {
        $directory = new TemporaryDirectory();
        $source = ['dsn' => 'sqlite://' . $directory->file('cache'), 'near' => 'none'];
        $cache = Cache::open($source);
        $cache->set('deleted', 'old');
        $cache->set('set', 'old');
        $cache->commit();
        \rename($directory->file('cache'), $directory->file('away'));
        $other = Cache::open($source);
        foreach (['deleted', 'set', 'neither'] as $key) {
            $other->set($key, 'older');
        }
        $other->commit();
        self::assertTrue($cache->delete('deleted'));
        self::assertTrue($cache->set('set', 'new'));
        $cache->commit();
        $other->refresh();
        self::assertNull($other->get('deleted'));
        self::assertContains($other->get('set'), [null, 'new']);
        self::assertSame('older', $other->get('neither'));
    }

    public function testAChildDoesNotAppendOverItsParentsLock(): void
    {
        $store = $this->store();
        $store->append(new Change('parent', '1', self::A));
        $results = $this->inProcesses(3, static function (int $i) use ($store): bool {
            $change = new Change("child $i", '1', "cccccccccc0$i");

            return ($store->append($change) || $store->write([$change])[0]->done) && self::get($store, 'parent') === '1';
        });
        self::assertSame([true, true, true], $results);
        $store->since('', 0, '');
        self::assertCount(4, $store->read(['parent', 'child 0', 'child 1', 'child 2'])->records);
    }

    public function testLargeValuesAreWritten(): void
    {
        $store = new SqliteStore($this->directory, 64 << 20, 1.0);
        self::assertTrue($store->append(new Change('k', \str_repeat('x', ChangeLog::LONGEST_BODY), self::A)));
        self::assertFalse($store->append(new Change('k', \str_repeat('x', ChangeLog::LONGEST_BODY + 1), self::A)));
        // 4 MB of them may wait.
        self::assertFalse($this->store()->append(new Change('k', \str_repeat('x', 16_385), self::A)));
    }

    /** @param \Closure(SqliteStore): mixed $meanwhile */
    #[DataProvider('afterAMiss')]
    public function testASetAfterAMissIsJudgedAsTheTableOfConflictsSays(\Closure $meanwhile, ?string $expected, string $writer): void
    {
        [$a, $b, $c] = [$this->store(), $this->store(), $this->store()];
        $at = $b->read(['e::k'])->at;
        $meanwhile($b);
        $a->append(self::afterMiss('e::k', 'head', 'later', 'value', $at));
        $bounded = [];
        $settled = $a->settle(self::A, $bounded)['e::k'];
        self::assertSame($expected === 'latervalue', isset($bounded['e::k']));
        $record = $c->read(['e::k'])->records['e::k'] ?? null;
        self::assertSame([$expected, $writer], [$record?->body, $record->writer ?? '']);
        self::assertSame($writer === self::A ? $record?->position : ($writer === self::B ? 0 : -$c->read(['e::k'])->at), $settled);
    }

    /** @return iterable<string, array{\Closure(SqliteStore): mixed, ?string, string}> what another did meanwhile, and what stands then */
    public static function afterAMiss(): iterable
    {
        yield 'nothing' => [static fn(): null => null, 'headvalue', self::A];
        yield 'a change of another key' => [static fn(SqliteStore $b): array => $b->write([new Change('e::l', 'other', self::B)]), 'headvalue', self::A];
        yield 'the same value' => [static fn(SqliteStore $b): array => $b->write([new Change('e::k', 'HEADvalue', self::B)]), 'HEADvalue', self::B];
        yield 'the same value, for a short time' => [static fn(SqliteStore $b): array => $b->write([new Change('e::k', 'LATERvalue', self::B)]), 'LATERvalue', self::B];
        yield 'the same value that waits' => [static fn(SqliteStore $b): bool => $b->append(new Change('e::k', 'HEADvalue', self::B)), 'HEADvalue', self::B];
        yield 'another value' => [static fn(SqliteStore $b): array => $b->write([new Change('e::k', 'HEADother', self::B)]), 'latervalue', Appending::NOBODY];
        yield 'a longer value with the same end' => [static fn(SqliteStore $b): array => $b->write([new Change('e::k', 'HEADanothervalue', self::B)]), 'latervalue', Appending::NOBODY];
        yield 'another value that waits' => [static fn(SqliteStore $b): bool => $b->append(self::afterMiss('e::k', 'HEAD', 'LATER', 'other', 0, self::B)), 'latervalue', Appending::NOBODY];
        yield 'a set that was dropped' => [static fn(SqliteStore $b): array => $b->write([new Change('e::k', null, self::B, kind: 'x')]), 'latervalue', Appending::NOBODY];
        yield 'a delete' => [static fn(SqliteStore $b): array => $b->write([new Change('e::k', null, self::B, kind: 'd')]), null, ''];
        yield 'a flush' => [static fn(SqliteStore $b): array => $b->write([new Change('f:', 'm', self::B, kind: 'm')]), null, ''];
        yield 'an intent' => [static fn(SqliteStore $b): array => $b->write([new Change('e::k', 'i of b', self::B, kind: 'i')]), 'i of b', Appending::NOBODY];
    }

    private static function afterMiss(string $key, string $head, string $bounded, string $payload, int $limit, string $writer = self::A): Change
    {
        $change = new Change($key, $head . $payload, $writer, $limit);
        $change->bounded = $bounded . $payload;
        $change->payload = \strlen($payload);

        return $change;
    }

    /** Of several changes of a key only the last is made where that must give the same. */
    public function testItDoesNotMatterHowManyAreAppliedAtOnce(): void
    {
        \mt_srand(7);
        for ($round = 0; $round < 60; $round++) {
            $changes = $limits = [];
            for ($i = 0; $i < 12; $i++) {
                $key = \mt_rand(0, 2) === 0 ? 'e::l' : 'e::k';
                $writer = \mt_rand(0, 2) === 0 ? self::B : self::A;
                // A writer that has learned of a conflict appends no more.
                $limit = $limits["$key $writer"] ??= \mt_rand(0, 1) === 0 ? 3 : \mt_rand(0, 2);
                $change = new Change($key, \mt_rand(0, 4) === 0 ? null : "value $i", $writer, $round % 4 === 0 ? Change::ALWAYS : $limit);
                $change->kind = $change->body === null ? 'd' : 's';
                $changes[] = $change;
            }
            $results = [];
            foreach ([true, false] as $atOnce) {
                $directory = new TemporaryDirectory();
                $store = new SqliteStore($directory->path . '/store', 8 << 20, 1.0);
                $store->write([new Change('e::k', 'old', self::C), new Change('e::l', 'old', self::C), new Change('e::m', 'old', self::C)]);
                foreach ($changes as $change) {
                    self::assertTrue($store->append($change));
                    $atOnce || $store->settle('');
                }
                $store->settle('');
                $results[] = \array_map(static fn(string $key): ?string => $store->read([$key])->records[$key]->body ?? null, ['e::k', 'e::l', 'e::m']);
            }
            self::assertSame($results[1], $results[0], "round $round");
        }
    }

    private function epoch(SqliteStore $store): string
    {
        return $store->read(['k'])->epoch;
    }

    private function file(): string
    {
        return (\glob($this->directory . '/tail.*') ?: [''])[0];
    }

    private function changeLog(): ChangeLog
    {
        return new ChangeLog($this->file());
    }

    private function store(): SqliteStore
    {
        return new SqliteStore($this->directory, 8 << 20, 1.0);
    }
}
