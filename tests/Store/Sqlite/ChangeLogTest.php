<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Cache;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Sqlite\ChangeCounter;
use Larder\Store\Sqlite\ChangeLog;
use Larder\Store\Sqlite\SqliteStore;
use Larder\System\Failure;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/**
 * Changes that have left their process and wait to be applied. A log that a killed process has left torn, or that another
 * program has cut or written over: no record is found inside what somebody stored, and no change that returned is lost
 * unless the epoch ends.
 */
final class ChangeLogTest extends TestCase
{
    use Directory;
    use Forks;
    use Strict;

    protected const FORKS = true;
    private const A = 'aaaaaaaaaaaa';
    private const B = 'bbbbbbbbbbbb';

    /** Bytes of a log's header: what waits lies behind it. */
    private const HEADER = 24;

    protected function tearDown(): void
    {
        $this->endChildren();
    }

    public function testOneReadsWhatOneHasAppended(): void
    {
        $store = $this->warm();
        $at = $store->read(['k'])->at;
        self::assertSame($at + 1, $this->append($store, 'k', 'appended'));
        self::assertSame('appended', self::get($store, 'k'));
        $this->append($this->warm($store), 'k', null);
        self::assertSame(['warm', null], [self::get($store, 'warm'), self::get($store, 'k')]);
        $this->append($this->warm($store), 'k', 'again');
        self::assertSame('again', self::one($store, 'k'));
    }

    public function testWhoeverBeginsSeesIt(): void
    {
        $this->append($this->warm(), 'k', 'appended');
        $other = $this->store();
        $changes = $other->since('', 0, '');
        self::assertSame('appended', self::get($other, 'k'));
        self::assertTrue(ChangeCounter::isSettled($this->counter()->size()));

        $writer = $this->warm();
        $this->append($writer, 'k', 'appended and replaced', self::B);
        $this->append($writer, 'k', null, self::B);
        $news = $other->since($changes->epoch, $changes->end, $changes->token);
        self::assertSame([['warm', $changes->end + 1, self::A, 's'], ['k', $changes->end + 3, self::B, 'd']], $news->list);
        self::assertNull(self::get($other, 'k'));

        $this->append($this->warm(), 'k', 'last');
        $running = $this->store();
        $running->beginView();
        self::assertSame('last', self::get($running, 'k'));
    }

    public function testAReadShowsWhatOthersHaveAppended(): void
    {
        [$a, $b] = [$this->store(), $this->warm()];
        self::assertNull(self::get($a, 'k'));
        $this->append($b, 'k', 'one');
        self::assertSame('one', self::get($a, 'k'));
        $this->append($this->warm($a), 'own', 'waits');
        $this->append($this->warm($b), 'k', null);
        self::assertSame([null, 'waits'], [self::get($a, 'k'), self::get($a, 'own')]);
    }

    /** The request has begun before, so it may go without. A process that is stopped while it writes must not stop readers. */
    public function testAReadDoesNotWaitForAWriterToApplyThem(): void
    {
        [$a, $b] = [new SqliteStore($this->directory, 8 << 20, 20.0), $this->store()];
        self::put($b, 'k', 'old');
        self::assertSame('old', self::get($a, 'k'));
        $this->append($b, 'k', 'new');
        $lock = $this->lock();
        $start = \hrtime(true);
        self::assertSame('old', self::get($a, 'k'));
        self::assertLessThan(10e9, \hrtime(true) - $start, 'not even for its time-out of 20 s');
        \flock($lock, \LOCK_UN);
        self::assertSame('new', self::get($a, 'k'));
    }

    /** Seen to fail: while another process was about to commit, this one read what it had deleted. */
    public function testAReadWaitsForAWriterWhereItsOwnChangeWaits(): void
    {
        $a = new SqliteStore($this->directory, 8 << 20, 0.1);
        self::put($a, 'k', 'old');
        $this->append($a, 'k', null);
        $lock = $this->lock();
        // As ring() does.
        \ftruncate($lock, (int) \filesize($this->file()) + 1);
        foreach ([static fn() => self::get($a, 'k'), static fn() => $a->readOne('k'), static fn() => $a->positions(['k'], '')] as $read) {
            try {
                self::assertNull($read());
                self::fail('Another process is writing.');
            } catch (Failure) {
            }
        }
        \flock($lock, \LOCK_UN);
        self::assertNull(self::get($a, 'k'));
    }

    public function testAKilledProcesssChangesStand(): void
    {
        self::put($this->store(), 'gone', 'old');
        [$pid] = $this->fork(function (): void {
            $store = $this->warm();
            $this->append($store, 'k', 'from the dead');
            $this->append($store, 'gone', null);
            \posix_kill((int) \getmypid(), \SIGKILL);
        });
        \pcntl_waitpid($pid, $status);
        unset($this->children[$pid]);
        $store = $this->store();
        $store->since('', 0, '');
        self::assertSame(['from the dead', null], [self::get($store, 'k'), self::get($store, 'gone')]);
    }

    public function testChangesKeepTheirOrder(): void
    {
        [$a, $b] = [$this->warm(), $this->store()];
        $this->append($a, 'k', 'first');
        self::put($b, 'k', 'second', self::B);
        $this->append($b, 'k', 'third', self::B);
        self::put($a, 'l', 'fourth');
        self::assertSame(['third', 'fourth'], [self::get($b, 'k'), self::get($b, 'l')]);
    }

    /** Seen to fail: a process took for the last change of a key the one that it had appended itself, whatever came after. */
    public function testAnotherWritersChangeCountsAfterWhatThisProcessHadAppended(): void
    {
        foreach (['appended', 'committed'] as $how) {
            [$a, $b] = [$this->warm(), $this->store()];
            $this->append($a, 'k', 'first');
            $limit = $b->read(['k'])->at;
            $b->since('', 0, '');
            $how === 'appended' ? $this->append($this->warm($b), 'k', null, self::B) : self::put($b, 'k', null, self::B);
            $result = $a->write([new Change('k', 'computed from the first', self::A, $limit)])[0];
            self::assertSame([false, self::B], [$result->done, $result->writer], $how);
            self::assertNull(self::get($this->store(), 'k'), $how);
        }
    }

    public function testManyAreApplied(): void
    {
        $store = $this->warm();
        $at = $store->read(['warm'])->at;
        $expected = $positions = [];
        for ($i = 0; $i < 300; $i++) {
            $body = $i % 3 === 0 ? null : "v$i";
            $result = $store->write([self::change("k$i", $body)])[0];
            self::assertSame([true, $at + $i + 1], [$result->done, $result->position]);
            $expected["k$i"] = $body;
        }
        $changes = $this->store()->since($store->read(['warm'])->epoch, $at, '');
        self::assertSame(\range($at + 1, $at + 300), \array_column($changes->list, 1));
        foreach ($expected as $key => $value) {
            self::assertSame($value, self::get($store, $key), $key);
        }
    }

    public function testItIsMadeWhereNobodyIsInItsWay(): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        $at = self::put($a, 'e::k', 'old', self::B);
        // Its writer need not know of changes of other keys, nor of its own.
        self::put($b, 'e::l', 'other', self::B);
        self::put($a, 'e::m', 'own');
        $this->append($a, 'e::k', 'one', limit: $at, guards: ['f:' => $at]);
        $this->append($a, 'e::k', 'two', limit: $at, guards: ['f:' => $at]);
        self::assertSame('two', self::get($b, 'e::k'));
    }

    /** @param \Closure(SqliteStore): mixed $meanwhile */
    #[DataProvider('inTheWay')]
    public function testNothingIsMadeWhereSomethingIsInItsWay(\Closure $meanwhile, string $stands): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        $at = self::put($b, 'e::k', 'old');
        $meanwhile($b);
        self::put($a, 'e::m', 'own');
        foreach (['from the old one', null] as $body) {
            $result = $a->write([self::change('e::k', $body, limit: $at, guards: ['f:' => $at])])[0];
            self::assertSame([false, true, self::B], [$result->done, $result->position > $at, $result->writer]);
            self::assertSame($stands, (string) self::get($this->store(), 'e::k'));
        }
    }

    /** @return iterable<string, array{\Closure(SqliteStore): mixed, string}> what another did meanwhile, and what stands */
    public static function inTheWay(): iterable
    {
        $does = static fn(string $key, ?string $body, string $kind = 's'): \Closure => static fn(SqliteStore $b): ChangeResult => $b->write([self::change($key, $body, self::B, kind: $kind)])[0];
        yield 'a set' => [$does('e::k', 'newer'), 'newer'];
        yield 'a delete' => [$does('e::k', null, 'd'), ''];
        yield 'a flush' => [$does('f:', 'm', 'm'), 'old'];
        yield 'an intent' => [$does('e::k', 'i of b', 'i'), 'i of b'];
    }

    /** However long it has stood, and whatever the writer knows. */
    public function testNothingIsStoredOverAnIntent(): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        $at = self::put($b, 'e::k', 'i of b', self::B, 'i');
        self::put($b, 'e::l', 'other', self::B);
        self::put($a, 'e::m', 'own');
        self::assertFalse($a->write([self::change('e::k', 'over it')])[0]->done);
        // Another key may be changed, and the intent by who has read it.
        $this->append($this->warm($a), 'e::n', 'beside it');
        self::assertTrue($a->write([new Change('e::k', null, self::A, $at, kind: 'd', strict: true)])[0]->done);
        $this->append($a, 'e::k', 'after it');
        self::assertSame('after it', self::get($b, 'e::k'));
    }

    public function testAProcessAppendsAfterAnothersCommit(): void
    {
        [$a, $b] = [$this->warm(), $this->store()];
        self::put($b, 'e::k', 'newer', self::B);
        $this->append($a, 'e::l', 'appended');
        self::assertSame(['newer', 'appended'], [self::get($b, 'e::k'), self::get($b, 'e::l')]);
    }

    /** Records of any length, so that one does not end where a reader has read up to. */
    public function testProcessesAppendInTurn(): void
    {
        $stores = [self::A => $this->warm(), self::B => $this->warm(), 'cccccccccccc' => $this->warm()];
        $at = self::put($this->store(), 'e::k', 'old');
        foreach ($stores as $writer => $store) {
            self::put($store, "warm $writer", '', $writer);
        }
        $at += 3;
        $expected = [];
        for ($i = 0; $i < 900; $i++) {
            foreach ($stores as $writer => $store) {
                $key = 'e::' . $i % 70;
                $expected[$key] = \str_repeat("$i of $writer ", \mt_rand(1, $i % 40 === 0 ? 900 : 9));
                $result = $store->write([self::change($key, $expected[$key], $writer)])[0];
                self::assertSame([true, ++$at], [$result->done, $result->position]);
            }
        }
        self::assertTrue(ChangeCounter::waits($this->counter()->size()));
        $reader = $this->store();
        foreach ($expected as $key => $value) {
            self::assertSame($value, self::get($reader, $key));
        }
        self::assertSame($at, $reader->since('', 0, '')->end);
    }

    /**
     * The writer does not know yet of what others have done when it begins to judge.
     *
     * @param \Closure(self, SqliteStore): mixed $meanwhile
     */
    #[DataProvider('meanwhile')]
    public function testAnAppendIsJudgedByWhatOthersHaveDoneMeanwhile(\Closure $meanwhile): void
    {
        [$a, $b] = [$this->store(), $this->store()];
        $old = self::put($a, 'e::k', 'old', self::B);
        self::put($b, 'e::l', 'other', self::B);
        self::put($a, 'e::m', 'own');
        // It has read the rows, of the key and of what it depends on, and has something that waits.
        $at = $this->append($a, 'e::k', 'own', limit: $old, guards: ['f:' => $old]);
        $meanwhile($this, $b);
        $result = $a->write([self::change('e::k', 'from the old one', limit: $at, guards: ['f:' => $old])])[0];
        self::assertSame([false, self::B], [$result->done, $result->writer]);
        $this->append($this->warm($a), 'e::n', 'free', limit: $old, guards: ['f:' => self::put($b, 'f:', 'm', self::B, 'm')]);
    }

    /** @return iterable<string, array{\Closure(self, SqliteStore): mixed}> */
    public static function meanwhile(): iterable
    {
        $appends = static fn(self $test, SqliteStore $b, ?string $body): int => $test->append($test->warm($b), 'e::k', $body, self::B);
        yield 'a set is appended' => [static fn(self $test, SqliteStore $b): int => $appends($test, $b, 'newer')];
        yield 'a delete is appended' => [static fn(self $test, SqliteStore $b): int => $appends($test, $b, null)];
        yield 'a set is appended, and applied' => [static function (self $test, SqliteStore $b) use ($appends): void {
            $appends($test, $b, 'newer');
            self::put($test->store(), 'e::applies', 'v', self::B);
        }];
        yield 'a set is committed' => [static fn(self $test, SqliteStore $b): int => self::put($b, 'e::k', 'newer', self::B)];
        yield 'a flush is committed' => [static fn(self $test, SqliteStore $b): int => self::put($b, 'f:', 'm', self::B, 'm')];
        yield 'an intent is committed' => [static fn(self $test, SqliteStore $b): int => self::put($b, 'e::k', 'i of b', self::B, 'i')];
    }

    /** This request has read the key's row, and has not changed it. */
    #[TestWith([null])]
    #[TestWith(['newer'])]
    public function testAnAppendIsJudgedByTheLogAsItIsUnderTheLock(?string $body): void
    {
        [$a, $b] = [$this->store(), $this->warm()];
        $at = self::put($a, 'e::k', 'old');
        self::put($b, 'e::l', 'other', self::B);
        $this->append($a, 'e::m', 'own');
        $this->append($b, 'e::k', $body, self::B);
        $result = $a->write([self::change('e::k', 'from the old one', limit: $at)])[0];
        self::assertSame([false, true, self::B], [$result->done, $result->position > $at, $result->writer]);
        self::assertSame($body, self::get($this->store(), 'e::k'));
    }

    public function testWhoeverCannotLockItWaits(): void
    {
        $store = $this->warm();
        $lock = $this->lock();
        try {
            $store->write([self::change('k', 'two')]);
            self::fail('Somebody else is writing.');
        } catch (\Larder\System\Failure $failure) {
            self::assertStringContainsString('another process', $failure->getMessage());
        }
        \flock($lock, \LOCK_UN);
        $this->append($this->warm($store), 'k', 'three');
        self::assertSame('three', self::get($store, 'k'));
    }

    public function testEachIsAppliedOnceAlsoIfItsApplierDiedBeforeItEmptiedTheLog(): void
    {
        [$a, $b] = [$this->warm(), $this->store()];
        $this->append($a, 'k', null);
        $waiting = (string) \file_get_contents($this->file());
        $b->since('', 0, '');
        // With the odd size that the dead one leaves.
        \file_put_contents($this->file(), $waiting . '.');
        self::put($b, 'k', 'later', self::B);
        self::put($b, 'l', 'later', self::B);
        self::assertSame('later', self::get($this->store(), 'k'));
        self::assertTrue(ChangeCounter::isSettled($this->counter()->size()));
    }

    public function testAnEpochTakesItsLogAlong(): void
    {
        $store = $this->warm();
        $this->append($store, 'k', 'old');
        \unlink($this->directory . '/larder.db');
        \unlink($this->file());
        $other = $this->store();
        $other->since('', 0, '');
        self::assertNull(self::get($other, 'k'));
        self::assertTrue($store->write([self::change('l', 'into the new one')])[0]->done);
        self::assertSame('into the new one', self::get($other, 'l'));
    }

    public function testWhatIsWrittenAfterTheDirectoryWasMovedAwayIsRemovedInItsPlace(): void
    {
        $directory = new TemporaryDirectory();
        $source = ['dsn' => 'sqlite://' . $directory->file('cache'), 'near' => 'none'];
        $cache = Cache::open($source);
        $cache->set('deleted', 'old');
        $cache->set('set', 'old');
        $cache->writeFills();
        \rename($directory->file('cache'), $directory->file('away'));
        $other = Cache::open($source);
        foreach (['deleted', 'set', 'neither'] as $key) {
            $other->set($key, 'older');
        }
        $other->writeFills();
        self::assertTrue($cache->delete('deleted'));
        self::assertTrue($cache->set('set', 'new'));
        $cache->writeFills();
        $other->refresh();
        self::assertNull($other->get('deleted'));
        self::assertContains($other->get('set'), [null, 'new']);
        self::assertSame('older', $other->get('neither'));
    }

    public function testAChildDoesNotAppendOverItsParentsLock(): void
    {
        $store = $this->warm();
        $this->append($store, 'parent', '1');
        $results = $this->inProcesses(3, static function (int $i) use ($store): bool {
            \Larder\System\Fork::pid();

            return $store->write([self::change("child $i", '1', "cccccccccc0$i")])[0]->done && self::get($store, 'parent') === '1';
        });
        self::assertSame([true, true, true], $results);
        $store->since('', 0, '');
        self::assertCount(4, $store->read(['parent', 'child 0', 'child 1', 'child 2'])->records);
    }

    #[TestWith([64 << 20, ChangeLog::LONGEST_BODY, true])]
    #[TestWith([64 << 20, ChangeLog::LONGEST_BODY + 1, false])]
    #[TestWith([1 << 20, 2048, true])]
    #[TestWith([1 << 20, 2049, false])]
    public function testLargeValuesAreCommitted(int $budget, int $bytes, bool $waits): void
    {
        $store = new SqliteStore($this->directory, $budget, 1.0);
        self::put($store, 'warm', 'warm');
        self::assertTrue($store->write([self::change('k', \str_repeat('x', $bytes))])[0]->done);
        self::assertSame($waits, ChangeCounter::waits($this->counter()->size()));
        self::assertSame($bytes, \strlen((string) self::get($this->store(), 'k')));
    }

    public function testTornAnywhereNothingInAValuePassesForAChange(): void
    {
        $this->tear(5);
    }

    #[Group('long')]
    public function testTornAfterEachByteNothingInAValuePassesForAChange(): void
    {
        $this->tear(1);
    }

    private function tear(int $step): void
    {
        for ($cut = 1, $last = 1; $cut <= $last; $cut += $step) {
            $store = $this->store();
            self::put($store, 'gone', 'old');
            $this->append($store, 'before', "b$cut");
            $whole = (string) \file_get_contents($this->file());
            $end = self::HEADER + self::length($whole, self::HEADER);
            // The worst that a value may hold: a record of this very log.
            $this->append($store, 'admin', 'forged');
            $now = (string) \file_get_contents($this->file());
            $forged = \substr($now, $end, self::length($now, $end));
            \file_put_contents($this->file(), $whole);
            $rest = "0 0 7 s" . self::B . "comment" . "text $forged text";
            $torn = \pack('NN', \strlen($rest), \crc32($rest)) . $rest;
            // The last ones: written, and the file has not grown.
            $last = \strlen($torn);
            \file_put_contents($this->file(), \substr_replace($whole, \substr($torn, 0, $cut), $end, $cut));

            $cut % 2 === 0 || self::put($this->store(), 'gone', null);
            $reader = $this->store();
            $reader->since('', 0, '');
            self::assertSame([null, null, "b$cut"], [self::get($reader, 'admin'), self::get($reader, 'comment'), self::get($reader, 'before')], "torn after $cut bytes");
            self::assertSame($cut % 2 === 0 ? 'old' : null, self::get($reader, 'gone'), "torn after $cut bytes");
            self::assertTrue(ChangeCounter::isSettled($this->counter()->size()));
        }
        self::assertGreaterThan(80, $last);
    }

    /** Bytes of the record that begins there. */
    private static function length(string $log, int $at): int
    {
        /** @var array{1: int} $length */
        $length = \unpack('N', $log, $at);

        return 8 + $length[1];
    }

    public function testALogThatAnotherProgramHasCutEndsTheEpoch(): void
    {
        foreach ([0, 1, 8, self::HEADER, 50, 90, 4096, ChangeCounter::AREA, ChangeCounter::FIRST - 1, ChangeCounter::FIRST] as $left) {
            [$store, $running] = [$this->store(), $this->store()];
            self::put($store, 'gone', 'old');
            $slice = $running->since('', 0, '');
            $this->append($store, 'l', 'other');
            $this->append($store, 'gone', null);
            \file_put_contents($this->file(), \substr((string) \file_get_contents($this->file()), 0, $left));
            // One of the length that it had when it was made looks untouched, until somebody writes.
            $left < ChangeCounter::FIRST || self::put($this->store(), 'm', 'more');
            foreach ([$this->store(), $running, $store] as $each) {
                self::assertNotSame($slice->epoch, $each->since($slice->epoch, $slice->end, $slice->token)->epoch, "cut to $left bytes");
                self::assertNull(self::get($each, 'gone'), "cut to $left bytes");
            }
            self::assertSame('new', [self::put($store, 'gone', 'new'), self::get($running, 'gone')][1]);
        }
    }

    public function testALogThatAnotherProgramHasWrittenOverEndsTheEpoch(): void
    {
        $end = \PHP_INT_MAX;
        for ($at = 0; $at < $end; $at += 7) {
            $store = $this->store();
            self::put($store, 'gone', 'old');
            $epoch = $store->read(['gone'])->epoch;
            $this->append($store, 'l', 'other');
            $this->append($store, 'gone', null);
            $bytes = (string) \file_get_contents($this->file());
            $end = \strlen(\rtrim(\substr($bytes, 0, ChangeCounter::AREA), "\0"));
            $bytes[$at] = \chr(\ord($bytes[$at]) ^ 0x20);
            \file_put_contents($this->file(), $at % 9 === 0 ? \str_repeat("\0", \strlen($bytes)) : $bytes);
            $reader = $this->store();
            $reader->since('', 0, '');
            self::assertNull(self::get($reader, 'gone'), "byte $at");
            self::assertNotSame($epoch, $reader->read(['gone'])->epoch, "byte $at");
        }
    }

    /** Seen to fail: what waited was left out, and the old value served. */
    public function testALogThatCannotBeOpenedIsAFailure(): void
    {
        $store = $this->store();
        self::put($store, 'gone', 'old');
        $this->append($store, 'gone', null);
        $running = $this->store();
        \link($this->file(), $this->directory . '/second');
        try {
            $running->since('', 0, '');
            self::fail('nothing was said');
        } catch (\Larder\System\Failure $failure) {
            self::assertStringContainsString('bell.', $failure->getMessage());
        }
        \unlink($this->directory . '/second');
        $running->since('', 0, '');
        self::assertNull(self::get($running, 'gone'));
    }

    /** A file gets no longer, and the signal that says so kills nobody: what is not written has not returned. */
    public function testADiskThatIsFullTakesNothing(): void
    {
        $process = Process::snippet(<<<'PHP'
            [, $directory] = $argv;
            $store = new Larder\Store\Sqlite\SqliteStore($directory, 8 << 20, 1.0);
            $change = static function (string $key, string $body): Larder\Store\Change {
                $change = new Larder\Store\Change($key, $body, 'aaaaaaaaaaaa');
                $change->asks = false;

                return $change;
            };
            $store->write([$change('warm', 'v')]);
            $store->write([$change('first', 'x')]);
            pcntl_signal(SIGXFSZ, SIG_IGN);
            $size = filesize(glob("$directory/bell.*")[0]);
            posix_setrlimit(POSIX_RLIMIT_FSIZE, $size, $size);
            try {
                echo json_encode($store->write([$change('second', 'y')])[0]->done);
            } catch (Larder\System\Failure $failure) {
                echo 'failed';
            }
            PHP, [$this->directory]);
        self::assertSame('failed', $process->output(), $process->errors());
        $reader = $this->store();
        $reader->since('', 0, '');
        self::assertSame(['x', null], [self::get($reader, 'first'), self::get($reader, 'second')]);
        self::put($reader, 'second', 'z');
        self::assertSame('z', self::get($this->store(), 'second'));
    }

    #[TestWith([8])]
    public function testKilledWritersForgeNothingAndLoseNothing(int $kills): void
    {
        $this->kill($kills);
    }

    #[Group('long')]
    #[TestWith([300])]
    public function testManyKilledWritersForgeNothingAndLoseNothing(int $kills): void
    {
        $this->kill($kills);
    }

    /** Kills processes that append values of 16 kB, each full of records, between others that are counted. */
    private function kill(int $kills): void
    {
        $counter = $this->directory . '/count';
        \file_put_contents($counter, '0');
        $noted = static fn(): int => (int) \file_get_contents($counter);
        for ($kill = 0; $kill < $kills; $kill++) {
            $start = $noted();
            [$pid] = $this->fork(function () use ($counter, $start): void {
                $count = \fopen($counter, 'r+');
                \assert($count !== false);
                $store = $this->store();
                $position = self::put($store, 'count', (string) $start);
                for ($n = $start + 1; ; $n++) {
                    $hostile = '';
                    for ($i = 2; \strlen($hostile) < ChangeLog::LONGEST_BODY - 100; $i++) {
                        $rest = $position + $i . ' 0 5 s' . self::B . 'adminforged';
                        $hostile .= \pack('NN', \strlen($rest), \crc32($rest)) . $rest;
                    }
                    $position = $store->write([self::change('comment', $hostile, self::B)])[0]->position;
                    $position = $store->write([self::change('count', (string) $n)])[0]->position;
                    \fseek($count, 0);
                    \fwrite($count, (string) $n);
                }
            });
            $until = $start + \mt_rand(1, 60);
            $this->await(static fn(): bool => $noted() > $until);
            \posix_kill($pid, \SIGKILL);
            \pcntl_waitpid($pid, $status);
            unset($this->children[$pid]);
            $reader = $this->store();
            $reader->since('', 0, '');
            self::assertNull(self::get($reader, 'admin'), "after kill $kill");
            self::assertGreaterThanOrEqual($noted(), (int) self::get($reader, 'count'), "after kill $kill");
            self::assertLessThanOrEqual($noted() + 1, (int) self::get($reader, 'count'), "after kill $kill");
        }
    }

    /** @param array<string, int> $guards */
    private static function change(string $key, ?string $body, string $writer = self::A, int $limit = Change::ALWAYS, array $guards = [], string $kind = 's'): Change
    {
        $change = new Change($key, $body, $writer, $limit, guards: $guards, kind: $body === null ? 'd' : $kind);
        $change->asks = false;

        return $change;
    }

    /**
     * Appends a change, which waits then.
     *
     * @param array<string, int> $guards
     *
     * @return int its position
     */
    private function append(SqliteStore $store, string $key, ?string $body, string $writer = self::A, int $limit = Change::ALWAYS, array $guards = []): int
    {
        $result = $store->write([self::change($key, $body, $writer, $limit, $guards)])[0];
        self::assertTrue($result->done);
        self::assertTrue(ChangeCounter::waits($this->counter()->size()), 'It waits.');

        return $result->position;
    }

    /** A store that has committed, and so appends what follows. */
    private function warm(?SqliteStore $store = null): SqliteStore
    {
        $store ??= $this->store();
        self::put($store, 'warm', 'warm');

        return $store;
    }

    /** @return resource */
    private function lock()
    {
        $lock = \fopen($this->file(), 'r+');
        self::assertIsResource($lock);
        \flock($lock, \LOCK_EX);

        return $lock;
    }

    private function counter(): ChangeCounter
    {
        return new ChangeCounter($this->file());
    }

    private function file(): string
    {
        return (\glob($this->directory . '/bell.*') ?: [''])[0];
    }

    private function store(): SqliteStore
    {
        return new SqliteStore($this->directory, 8 << 20, 1.0);
    }
}
