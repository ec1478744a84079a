<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Store\Change;
use Larder\Store\Sqlite\ChangeCounter;
use Larder\Store\Sqlite\ChangeLog;
use Larder\Store\Sqlite\SqliteStore;
use Larder\System\Failure;
use Larder\Tests\Contract\Forks;
use PHPUnit\Framework\TestCase;

/** The bell by itself, and what the store makes of one that was left in any state. */
final class ChangeCounterTest extends TestCase
{
    use Directory;
    use Forks;
    use Strict;

    protected const FORKS = true;
    private const FIRST = ChangeCounter::FIRST;

    protected function tearDown(): void
    {
        $this->endChildren();
    }

    public function testEvenOddEven(): void
    {
        $counter = $this->counter();
        $log = new ChangeLog($counter);
        self::assertSame(self::FIRST, $counter->size());
        self::assertTrue($counter->lock(1.0));
        self::assertFalse((new ChangeCounter($this->directory . '/bell.x'))->tryLock());
        $counter->ring();
        $counter->ring();
        self::assertSame(self::FIRST + 1, $counter->size());
        $log->clear(1, 0);
        $counter->unlock();
        self::assertSame(self::FIRST + 4, $counter->size());
        self::assertTrue($counter->tryLock());
        $counter->unlock();
        self::assertSame(self::FIRST + 4, $counter->size(), 'Who has not rung has not changed anything.');
        self::assertSame([1, 0], ChangeLog::state($this->directory . '/bell.x', self::FIRST + 4));
        self::assertNull(ChangeLog::state($this->directory . '/bell.x', self::FIRST + 8));
    }

    public function testAnUnfinishedWriteLeavesItOdd(): void
    {
        $counter = $this->counter();
        $counter->lock(1.0);
        $counter->ring();
        $counter->unlock();
        self::assertSame(self::FIRST + 1, $counter->size());
        self::assertTrue($counter->lock(1.0));
        self::assertTrue($counter->isLeftOdd());
        $counter->ring();
        self::assertSame(self::FIRST + 1, $counter->size());
        (new ChangeLog($counter))->clear(1, 0);
        $counter->unlock();
        self::assertSame(self::FIRST + 4, $counter->size());
    }

    public function testItTellsThatSomethingWaitsAndHowMuch(): void
    {
        $counter = $this->counter();
        $log = new ChangeLog($counter);
        $counter->lock(1.0);
        $counter->unlock();
        for ($i = 1; $i < 4; $i++) {
            self::assertSame(self::FIRST + 4 * $i - 2, $log->append(new Change("k$i", 'v', 'aaaaaaaaaaaa'), $counter->size()));
            self::assertSame([self::FIRST + 4 * $i - 2, true, $i], [$counter->size(), ChangeCounter::waits($counter->size()), $counter->steps(self::FIRST)]);
        }
        self::assertSame(-1, $log->append(new Change('k', 'v', 'aaaaaaaaaaaa'), self::FIRST), 'Others have changed something since.');
        $counter->lock(1.0);
        $counter->ring();
        self::assertSame(3, $counter->steps(self::FIRST));
        self::assertSame(['k1', 'k2', 'k3'], \array_map(static fn(array $waits): string => $waits[0]->key, (new ChangeLog($counter))->read()[1] ?? []));
    }

    /**
     * Linux writes page by page, and lets readers see the size in between. Seen to fail with records whose step crossed an edge,
     * at which the file then told that nothing waits.
     */
    public function testNoSizeAtAPagesEdgeTellsThatNothingWaits(): void
    {
        $counter = $this->counter();
        $log = new ChangeLog($counter);
        $edges = [];
        for ($i = 0; $i < 3000; $i++) {
            $before = $counter->size();
            if ($i % 50 < 2) {
                $counter->lock(1.0);
                $counter->ring();
                $log->clear(1, 0);
                $counter->unlock();
            } else {
                self::assertGreaterThan($before, $counter->append(100, 'record', $before, false));
                self::assertSame($before >> 2, $counter->size() - 1 >> 2, "A record's step crosses an edge.");
            }
            for ($edge = ($before | 3) + 1; $edge < $counter->size(); $edge += 4) {
                $edges[] = $edge;
            }
        }
        self::assertNotSame([], $edges);
        self::assertSame($edges, \array_values(\array_filter($edges, ChangeCounter::waits(...))));
    }

    public function testItGrowsAsAHoleFromEightMegabytesOn(): void
    {
        $counter = $this->counter();
        $file = \fopen($this->directory . '/bell.x', 'r+');
        self::assertIsResource($file);
        \ftruncate($file, 8 * ChangeCounter::AREA - 2);
        $log = new ChangeLog($counter);
        for ($i = 0; $i < 3; $i++) {
            $counter->lock(1.0);
            $counter->ring();
            $log->clear(1, 0);
            $counter->unlock();
            self::assertGreaterThan(0, $log->append(new Change('k', 'v', 'aaaaaaaaaaaa'), $counter->size()));
        }
        self::assertSame(8 * ChangeCounter::AREA + 12, $counter->size());
        \clearstatcache();
        self::assertLessThanOrEqual(2080, (\stat($this->directory . '/bell.x') ?: [])['blocks'] ?? \PHP_INT_MAX);
    }

    public function testOneThatIsGoneStaysGone(): void
    {
        $counter = $this->counter();
        \unlink($this->directory . '/bell.x');
        self::assertSame(-1, $counter->size());
        self::assertFalse($counter->exists());
        self::assertFalse($counter->lock(1.0));
        self::assertFalse($counter->tryLock());
        self::assertSame([], self::files($this->directory));
    }

    public function testAWriteInsideAWriteIsRefused(): void
    {
        $counter = $this->counter();
        $counter->lock(1.0);
        self::assertFalse($counter->tryLock());
        $this->expectException(Failure::class);
        $counter->lock(1.0);
    }

    public function testNobodyWaitsForAHolderThatWasStopped(): void
    {
        // Readers do not wait at all: one that did would wait for a minute.
        $store = $this->store(60.0);
        $before = self::put($store, 'k', 'v');
        $seen = $store->since('', 0, '');
        $path = $this->bellOf($store);
        [$pid, $answer] = $this->fork(static function () use ($path): void {
            $counter = new ChangeCounter($path);
            $counter->lock(1.0);
            $counter->ring();
            \posix_kill((int) \getmypid(), \SIGSTOP);
        });
        \pcntl_waitpid($pid, $status, \WUNTRACED);
        $start = \microtime(true);
        self::assertSame('v', self::get($store, 'k'));
        $changes = $store->since($seen->epoch, $seen->end, $seen->token);
        self::assertSame([true, []], [$changes->complete, $changes->list]);
        self::assertSame($before, $this->store(60.0)->since($changes->epoch, $changes->end, $changes->token)->end);
        $store->tidy();
        try {
            self::put($this->store(), 'k', 'w');
            self::fail('Somebody else is writing.');
        } catch (Failure $e) {
            self::assertStringContainsString('another process', $e->getMessage());
        }
        self::assertLessThan(50.0, \microtime(true) - $start);
        \posix_kill($pid, \SIGKILL);
        \pcntl_waitpid($pid, $status);
        \unlink($answer);
        $after = self::put($store, 'k', 'w');
        self::assertSame([['k', $after, 'aaaaaaaaaaaa', 's']], $store->since($changes->epoch, $changes->end, $changes->token)->list);
    }

    public function testOneLeftOddIsNeverTakenForNothingChangedAndIsMended(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'v');
        $path = $this->bellOf($store);
        foreach (['since', 'write', 'open'] as $who) {
            $seen = $store->since('', 0, '');
            $counter = new ChangeCounter($path);
            $counter->lock(1.0);
            $counter->ring();
            $counter->unlock();
            $odd = $counter->size();
            self::assertSame(1, $odd & 1);
            $heals = $this->heals();
            if ($who === 'since') {
                $changes = $store->since($seen->epoch, $seen->end, $seen->epoch . ':' . $odd);
                self::assertTrue($changes->complete);
                self::assertNotSame($seen->epoch . ':' . $odd, $changes->token);
            } elseif ($who === 'write') {
                $position = self::put($store, 'k', 'w');
                self::assertSame($position, $store->since($seen->epoch, $seen->end, $seen->token)->end);
            } else {
                $this->store()->read(['k']);
            }
            self::assertSame($odd + 3, $counter->size());
            self::assertSame($heals + 1, $this->heals(), 'With a commit over what may have been left behind.');
        }
    }

    public function testAChangeThatOnlyTheBellKnowsOfIsAskedFor(): void
    {
        $store = $this->store();
        $seen = $store->since('', 0, '');
        self::assertSame($seen->end, $store->since($seen->epoch, $seen->end, $seen->token)->end);
        $position = self::put($this->store(), 'k', 'v');
        self::assertSame($position, $store->since($seen->epoch, $seen->end, $seen->token)->end);
        // With the bell set back, the change would not be seen: it is the bell that tells.
        $size = (int) \explode(':', $seen->token)[1];
        $file = \fopen($this->bellOf($store), 'r+');
        self::assertIsResource($file);
        \ftruncate($file, $size);
        self::assertSame($seen->end, $store->since($seen->epoch, $seen->end, $seen->token)->end);
    }

    public function testALeaseDoesNotRing(): void
    {
        $store = $this->store();
        $counter = new ChangeCounter($this->bellOf($store));
        $size = $counter->size();
        $store->write([new Change('l', 'held', 'aaaaaaaaaaaa', 0, logged: false)]);
        self::assertSame($size, $counter->size());
    }

    public function testATokensEpochIsNoPath(): void
    {
        \file_put_contents($this->directory . '/bell.', '');
        $store = $this->store();
        $changes = $store->since('../../etc/passwd', 0, '../../etc/passwd:0');
        self::assertFalse($changes->complete);
        self::assertStringNotContainsString('/', $changes->epoch);
    }

    private function counter(): ChangeCounter
    {
        \file_put_contents($this->directory . '/bell.x', \str_pad(ChangeLog::first(0), self::FIRST, "\0"));

        return new ChangeCounter($this->directory . '/bell.x');
    }

    private function bellOf(SqliteStore $store): string
    {
        return $this->directory . '/bell.' . $store->read(['k'])->epoch;
    }

    private function heals(): int
    {
        $pdo = new \PDO('sqlite:' . $this->directory . '/larder.db');

        return (int) $pdo->query("SELECT value FROM m WHERE name = 'heals'")?->fetchColumn();
    }

    private function store(float $timeout = 0.25): SqliteStore
    {
        return new SqliteStore($this->directory, 8 << 20, $timeout);
    }
}
