<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Store\Change;
use Larder\Store\Sqlite\SqliteStore;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** What is kept, what goes, and how long the log remembers. */
final class SqliteBudgetTest extends TestCase
{
    use Directory;
    use Strict;

    private const BUDGET = 2 << 20;

    public function testABurstKeepsTheBudget(): void
    {
        $this->write(1500, false);
    }

    #[Group('long')]
    public function testALongLoopKeepsTheBudget(): void
    {
        $this->write(150_000, true);
    }

    /** Ten times the budget and more, of all sizes, without a tidy(), or with. */
    private function write(int $count, bool $tidy): void
    {
        $store = $this->store();
        \mt_srand(7);
        $most = $log = $file = 0;
        for ($i = 0; $i < $count; $i++) {
            $size = [40, 40, 400, 4_000, 40_000, 200_000][\mt_rand(0, 5)];
            self::put($store, 'key' . \mt_rand(0, 2 * $count), \str_repeat(\chr(65 + $i % 26), $size));
            $i % 7 === 0 && self::put($store, 'gone' . $i, null);
            $tidy && $i % 5 === 0 && $store->tidy();
            if ($i % 20 === 0) {
                \clearstatcache();
                $most = \max($most, $store->stats()['bytes']);
                $log = \max($log, (int) \filesize($this->directory . '/larder.db-wal'));
                $file = \max($file, (int) \filesize($this->directory . '/larder.db'));
            }
        }
        // One write may be over, until the next one looks.
        self::assertLessThanOrEqual(self::BUDGET + 300_000, $most);
        self::assertGreaterThan(self::BUDGET / 2, $most);
        self::assertLessThanOrEqual(self::BUDGET + 600_000, $file);
        self::assertLessThanOrEqual(2 << 20, $log);
        self::assertGreaterThan(3, $store->stats()['entries']);
    }

    /** A backup, or a process that was stopped: as long as it lasts nothing is taken out of the write-ahead log. */
    public function testAReaderThatHoldsItsTransactionDoesNotMakeTheLogGrowForEver(): void
    {
        foreach (['in one process' => 1, 'a process each' => 20] as $name => $per) {
            $store = $this->store();
            self::put($store, 'k', 'v');
            $epoch = $store->read(['k'])->epoch;
            $reader = new \PDO("sqlite:$this->directory/larder.db");
            $reader->exec('BEGIN');
            $reader->query('SELECT count(*) FROM e')?->fetchAll();
            $log = 0;
            for ($i = 0; $i < 600; $i++) {
                if ($per > 1 && $i % $per === 0) {
                    $store->tidy();
                    $store = $this->store();
                }
                self::put($store, 'key' . $i, \str_repeat(\chr(65 + $i % 26), 20_000));
                \clearstatcache();
                $log = \max($log, (int) \filesize($this->directory . '/larder.db-wal'));
            }
            self::assertLessThan(self::BUDGET + 1_000_000, $log, $name);
            self::assertNotSame($epoch, $store->read(['k'])->epoch, 'Nothing of what it has open is used any more.');
            self::assertNotNull(self::get($store, 'key599'));
            self::assertSame(1, (int) $reader->query("SELECT count(*) FROM e WHERE k = CAST('k' AS BLOB)")?->fetchColumn());
            unset($reader);
        }
    }

    public function testManyChangesAtOnceKeepTheBudgetToo(): void
    {
        $store = $this->store();
        $outcomes = $store->write(\array_map(
            static fn(int $i): Change => new Change("k$i", \str_repeat('x', 20_000), 'aaaaaaaaaaaa', kind: 's'),
            \range(0, 999),
        ));
        self::assertCount(1_000, $outcomes);
        self::assertSame(\range($outcomes[0]->position, $outcomes[0]->position + 999), \array_column($outcomes, 'position'));
        \clearstatcache();
        self::assertLessThan(2 * self::BUDGET, (int) \filesize($this->directory . '/larder.db') + (int) \filesize($this->directory . '/larder.db-wal'));
        self::assertNotNull(self::get($store, 'k999'));
    }

    public function testAReaderThatEndsInTimeCostsNothing(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'v');
        $epoch = $store->read(['k'])->epoch;
        $reader = null;
        for ($i = 0; $i < 600; $i++) {
            if ($i % 20 === 0) {
                $reader = new \PDO("sqlite:$this->directory/larder.db");
                $reader->exec('BEGIN');
                $reader->query('SELECT count(*) FROM e')?->fetchAll();
            } elseif ($i % 20 === 15) {
                $reader = null;
            }
            self::put($store, 'key' . $i % 40, \str_repeat(\chr(65 + $i % 26), 20_000));
        }
        self::assertNull($reader);
        self::assertSame($epoch, $store->read(['k'])->epoch);
    }

    public function testSmallRecordsAndRemovalsKeepTheBudgetToo(): void
    {
        $store = $this->store(1 << 20);
        $first = $store->since('', 0, '');
        for ($i = 0; $i < 200; $i++) {
            $changes = [];
            for ($j = 0; $j < 100; $j++) {
                $changes[] = new Change("small key $i:$j", $j % 2 === 0 ? 'v' : null, 'aaaaaaaaaaaa');
            }
            $store->write($changes);
        }
        self::assertLessThanOrEqual(1.1 * (1 << 20), $store->stats()['bytes']);
        self::assertSame('v', self::get($store, 'small key 199:98'));
        // The oldest removals had to go before their time, and that is known.
        self::assertFalse($store->since($first->epoch, $first->end, $first->token)->complete);
        $outcome = $store->write([new Change('small key 0:1', 'late', 'bbbbbbbbbbbb', $first->end)])[0];
        self::assertSame([false, -1], [$outcome->done, $outcome->position]);
        // The newest ones stay.
        $outcome = $store->write([new Change('small key 199:99', 'late', 'bbbbbbbbbbbb', $first->end)])[0];
        self::assertSame([false, 'aaaaaaaaaaaa'], [$outcome->done, $outcome->writer]);
    }

    public function testLongKeysKeepTheBudgetToo(): void
    {
        $store = $this->store(1 << 20);
        for ($i = 0; $i < 60; $i++) {
            self::put($store, \str_repeat('k', 60_000) . $i, $i % 2 === 0 ? 'v' : null);
        }
        self::assertLessThanOrEqual(1.3 * (1 << 20), $store->stats()['bytes']);
    }

    public function testWhatIsReadStays(): void
    {
        $store = $this->store();
        $often = [];
        for ($i = 0; $i < 50; $i++) {
            self::put($store, $often[] = "often $i", \str_repeat('o', 5_000));
        }
        for ($i = 0; $i < 3000; $i++) {
            self::put($store, "once $i", \str_repeat('x', 5_000));
            if ($i % 20 === 0) {
                $store->read($often);
                $store->tidy();
            }
        }
        self::assertGreaterThanOrEqual(45, \count($store->read($often)->records));
        self::assertNull(self::get($store, 'once 0'));
        self::assertNotNull(self::get($store, 'once 2999'));
    }

    public function testMarkersAndIntentsStay(): void
    {
        $store = $this->store();
        self::put($store, 'f:group', 'm', kind: 'm');
        self::put($store, 'intent', 'i', kind: 'i');
        for ($i = 0; $i < 3000; $i++) {
            self::put($store, "k$i", \str_repeat('x', 5_000));
        }
        self::assertSame('m', self::get($store, 'f:group'));
        self::assertSame('i', self::get($store, 'intent'));
        // Where they alone pass the budget all begins anew: never older entries without what invalidates them.
        $epoch = $store->read(['f:group'])->epoch;
        for ($i = 0; $i < 600; $i++) {
            self::put($store, "t:group:$i", 'm' . \str_repeat('x', 5_000), kind: 'm');
        }
        self::assertLessThanOrEqual(self::BUDGET + 100_000, $store->stats()['bytes']);
        self::assertNotSame($epoch, $store->read(['f:group'])->epoch);
        self::assertNull(self::get($store, 'f:group'));
    }

    public function testAnEvictedKeyIsStillKnownToHaveChanged(): void
    {
        $store = $this->store();
        $before = $store->read(['k'])->at;
        $seen = $store->since('', 0, '');
        $position = self::put($store, 'k', 'v', 'bbbbbbbbbbbb');
        for ($i = 0; self::get($this->store(), 'k') !== null; $i++) {
            self::assertLessThan(2000, $i);
            self::put($store, "k$i", \str_repeat('x', 20_000));
        }
        $outcome = $store->write([new Change('k', 'late', 'aaaaaaaaaaaa', $before)])[0];
        self::assertSame([false, $position, 'bbbbbbbbbbbb', 's', null], [$outcome->done, $outcome->position, $outcome->writer, $outcome->kind, $outcome->record]);
        $changes = $store->since($seen->epoch, $seen->end, $seen->token);
        self::assertTrue($changes->complete);
        self::assertContains(['k', $position, 'bbbbbbbbbbbb', 's'], $changes->list);
        self::assertTrue($store->write([new Change('k', 'w', 'aaaaaaaaaaaa', $position)])[0]->done);
    }

    public function testABodyThatIsTooLargeIsRefusedAndLeavesNothingOlder(): void
    {
        $store = $this->store();
        $before = self::put($store, 'k', 'old');
        $seen = $store->since('', 0, '');
        $outcome = $store->write([new Change('k', \str_repeat('x', self::BUDGET), 'bbbbbbbbbbbb')])[0];
        self::assertSame([false, -1], [$outcome->done, $outcome->position]);
        self::assertNull(self::get($store, 'k'));
        $list = $store->since($seen->epoch, $seen->end, $seen->token)->list;
        self::assertSame(['k', 'bbbbbbbbbbbb', 'x'], [$list[0][0], $list[0][2], $list[0][3]]);
        self::assertFalse($store->write([new Change('k', 'late', 'aaaaaaaaaaaa', $before)])[0]->done);
    }

    public function testOldRemovalsAreForgottenAndTheLogSaysSo(): void
    {
        $store = $this->store();
        $first = $store->since('', 0, '');
        for ($i = 0; $i < 300; $i++) {
            self::put($store, "k$i", $i % 3 === 0 ? 'v' : null, 'bbbbbbbbbbbb');
        }
        $middle = $store->since('', 0, '');
        self::assertCount(300, $store->since($first->epoch, $first->end, '')->list);
        $this->tidy($store);
        self::assertSame(300, $this->rows(), 'They are young.');
        $this->age();
        $this->tidy($store);
        $this->age();
        self::put($store, 'young', null, 'bbbbbbbbbbbb');
        $this->tidy($store);
        self::assertLessThan(110, $this->rows());
        self::assertSame('v', self::get($store, 'k297'));
        $old = $store->since($first->epoch, $first->end, $first->token);
        self::assertSame([false, []], [$old->complete, $old->list]);
        // A key of which nothing is known any more may have changed.
        foreach ([new Change('k1', 'late', 'aaaaaaaaaaaa', $first->end), new Change('new', 'v', 'aaaaaaaaaaaa', guards: ['k1' => $first->end])] as $change) {
            $outcome = $store->write([$change])[0];
            self::assertSame([false, -1], [$outcome->done, $outcome->position]);
        }
        $new = $store->since($middle->epoch, $middle->end, '');
        self::assertTrue($new->complete);
        self::assertSame('young', $new->list[0][0]);
        self::assertTrue($store->write([new Change('k1', 'w', 'aaaaaaaaaaaa', $new->end)])[0]->done);
        self::assertTrue($store->write([new Change('k2', 'w', 'aaaaaaaaaaaa', guards: ['never' => 0])])[0]->done);
    }

    public function testPositionsAndVersionsGoOnWhenAllIsGone(): void
    {
        $store = $this->store();
        $position = self::put($store, 'k', null);
        $take = static fn(?string $body): int => $store->write([new Change('l', $body, 'aaaaaaaaaaaa', logged: false)])[0]->position;
        $take('held');
        $version = $take(null);
        $this->age();
        $this->tidy($store);
        $this->age();
        $this->tidy($store);
        self::assertGreaterThan($position, self::put($store, 'other', 'v'));
        self::assertGreaterThan($version, $take('held'));
    }

    public function testExpiredRecordsAreRemovedALittleAtATime(): void
    {
        $store = $this->store(16 << 20);
        $now = $store->now();
        $position = 0;
        for ($i = 0; $i < 400; $i++) {
            $position = $store->write([new Change("k$i", \str_repeat('x', 5000), 'aaaaaaaaaaaa', expiry: $now - 1000)])[0]->position;
            $store->write([new Change("l$i", \str_repeat('x', 5000), 'aaaaaaaaaaaa', expiry: $now - 1000, logged: false)]);
        }
        self::put($store, 'stays', 'v');
        $bytes = $store->stats()['bytes'];
        self::assertSame([], $store->read(['k1', 'l1'])->records);
        self::assertSame(['stays'], \array_keys(\iterator_to_array($store->each())));
        $this->tidy($store);
        self::assertLessThan($bytes / 10, $store->stats()['bytes']);
        self::assertSame(1, $store->stats()['entries']);
        self::assertFalse($store->write([new Change('k399', 'late', 'bbbbbbbbbbbb', $position - 1)])[0]->done, 'It is still known to have changed.');
        \clearstatcache();
        self::assertLessThan($bytes / 2, \filesize($this->directory . '/larder.db'), 'The file gets shorter.');
    }

    public function testReadingWritesNothingWhileThereIsRoom(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'v');
        $store->tidy();
        $reader = $this->store();
        $reader->read(['k']);
        $version = $this->dataVersion();
        $before = $version();
        $reader->tidy();
        self::assertSame($before, $version());
    }

    /** @return \Closure(): mixed a number that changes with every commit of somebody else */
    private function dataVersion(): \Closure
    {
        $pdo = new \PDO("sqlite:$this->directory/larder.db");

        return static fn(): mixed => $pdo->query('PRAGMA data_version')?->fetchColumn();
    }

    /** As if more time had gone by than removals stay known. */
    private function age(): void
    {
        (new \PDO("sqlite:$this->directory/larder.db"))->exec("UPDATE m SET value = value - 700 WHERE name = 'mark_time'");
    }

    private function tidy(SqliteStore $store): void
    {
        for ($i = 0; $i < 300; $i++) {
            $store->write([new Change('lease', null, 'aaaaaaaaaaaa', logged: false)]);
            $store->tidy();
        }
    }

    private function rows(): int
    {
        return (int) (new \PDO("sqlite:$this->directory/larder.db"))->query('SELECT count(*) FROM e WHERE pos > 0')?->fetchColumn();
    }

    private function store(int $budget = self::BUDGET): SqliteStore
    {
        return new SqliteStore($this->directory, $budget, 1.0);
    }
}
