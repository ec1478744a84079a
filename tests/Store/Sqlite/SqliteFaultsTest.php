<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Cache;
use Larder\Outcome;
use Larder\Store\Change;
use Larder\Store\Sqlite\Schema;
use Larder\Store\Sqlite\SqliteStore;
use Larder\System\Failure;
use Larder\System\MachineBoot;
use Larder\Tests\Contract\Forks;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** What happens to the files from outside, while the store is open and while it is not. */
final class SqliteFaultsTest extends TestCase
{
    use Directory;
    use Forks;
    use Strict;

    protected const FORKS = true;

    public function testAllFilesAreTheUsersOwn(): void
    {
        $old = \umask(0);
        try {
            $store = $this->store();
            self::put($store, 'k', 'v');
            $store->tidy();
            $names = self::files($this->directory);
            foreach (['larder.db', 'larder.db-wal', 'larder.db-shm', 'larder.lock'] as $name) {
                self::assertContains($name, $names);
            }
            foreach ($names as $name) {
                self::assertSame('600', \decoct((int) \fileperms($this->directory . '/' . $name) & 0o777), $name);
            }
        } finally {
            \umask($old);
        }
    }

    public function testADatabaseThatIsDeletedIsBegunAgain(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'old');
        $seen = $store->since('', 0, '');
        foreach (self::files($this->directory) as $name) {
            \unlink($this->directory . '/' . $name);
        }
        $changes = $store->since($seen->epoch, $seen->end, $seen->token);
        self::assertNotSame($seen->epoch, $changes->epoch);
        self::assertFalse($changes->complete);
        self::assertGreaterThan($seen->end, $changes->end, 'Positions of another epoch are older than all of this one.');
        self::assertNull(self::get($store, 'k'));
        self::put($store, 'k', 'new');
        self::assertSame('new', self::get($this->store(), 'k'));
    }

    public function testADirectoryThatIsDeletedIsMadeAgain(): void
    {
        $store = $this->store();
        $limit = self::put($store, 'k', 'old');
        $epoch = $store->read(['k'])->epoch;
        $this->removeDirectory();
        // A write finds out by itself, and lands where others look.
        self::assertSame(-1, $store->write([new Change('k', 'late', 'bbbbbbbbbbbb', $limit)])[0]->position);
        self::assertSame(-1, $store->write([new Change('k', 'late', 'bbbbbbbbbbbb', epoch: $epoch)])[0]->position);
        self::put($store, 'k', 'new');
        self::assertSame('new', self::get($this->store(), 'k'));
        self::assertSame('new', self::get($store, 'k'));
        self::assertSame('700', \decoct((int) \fileperms($this->directory) & 0o777));
    }

    public function testOnlyTheDatabaseFilesDeleted(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'old');
        foreach (['', '-wal', '-shm'] as $part) {
            \unlink($this->directory . '/larder.db' . $part);
        }
        $other = $this->store();
        self::assertNull(self::get($other, 'k'));
        // The first one's epoch is over as soon as another has begun.
        self::put($store, 'k', 'new');
        self::assertSame('new', self::get($other, 'k'));
        self::assertSame($other->read(['k'])->epoch, $store->read(['k'])->epoch);
    }

    /** @return iterable<string, array{\Closure(string): void}> */
    public static function damages(): iterable
    {
        $over = static function (string $file, int $at, string $bytes): void {
            $handle = \fopen($file, 'r+');
            self::assertIsResource($handle);
            \fseek($handle, $at);
            \fwrite($handle, $bytes);
            \fclose($handle);
        };
        yield 'header' => [static fn(string $file) => $over($file, 0, \random_bytes(512))];
        yield 'zeroes from the second page on' => [static fn(string $file) => $over($file, 4096, \str_repeat("\0", (int) \filesize($file) - 4096))];
        yield 'noise from the second page on' => [static fn(string $file) => $over($file, 4096, \random_bytes((int) \filesize($file) - 4096))];
        yield 'all zeroes' => [static fn(string $file) => $over($file, 0, \str_repeat("\0", (int) \filesize($file)))];
        yield 'cut in the middle' => [static function (string $file): void {
            $handle = \fopen($file, 'r+');
            self::assertIsResource($handle);
            \ftruncate($handle, 8192 + 100);
            \fclose($handle);
        }];
        yield 'emptied' => [static fn(string $file) => \file_put_contents($file, '')];
        // Which SQLite itself does not notice.
        yield 'one byte of a value' => [static fn(string $file) => $over($file, (int) \strpos((string) \file_get_contents($file), '300 300'), 'X')];
    }

    #[DataProvider('damages')]
    public function testADamagedDatabaseIsPutAsideOnceItIsNoticed(\Closure $damage): void
    {
        foreach ([[true, false], [true, true], [false, false]] as [$open, $one]) {
            $store = $this->store(32 << 20);
            for ($i = 0; $i < 400; $i++) {
                self::put($store, "k$i", \str_repeat("$i ", 500));
            }
            $seen = $store->since('', 0, '');
            // All into the database file, so that the log cannot make good what is damaged there.
            (new \PDO('sqlite:' . $this->directory . '/larder.db'))->exec('PRAGMA wal_checkpoint(TRUNCATE)');
            if (!$open) {
                unset($store);
            }
            $damage($this->directory . '/larder.db');
            $store ??= $this->store(32 << 20);
            for ($i = 0; $i < 400; $i++) {
                self::assertContains($one ? self::one($store, "k$i") : self::get($store, "k$i"), [null, \str_repeat("$i ", 500)]);
                self::put($store, "n$i", "new $i");
            }
            for ($i = 0; $i < 400; $i++) {
                self::assertSame("new $i", self::get($store, "n$i"));
                self::assertSame("new $i", self::get($this->store(32 << 20), "n$i"));
            }
            $changes = $store->since($seen->epoch, $seen->end, $seen->token);
            self::assertTrue($changes->epoch !== $seen->epoch || $changes->complete);
            unset($store);
        }
    }

    /** @return iterable<string, array{\Closure(string): void}> */
    public static function damagesWhileOthersWrite(): iterable
    {
        yield from self::damages();
        yield 'rows deleted' => [static fn(string $file) => (new \PDO('sqlite:' . $file))->exec('DELETE FROM e')];
    }

    /** Seen to fail: what a process asked before it appended a change was not caught. */
    #[DataProvider('damagesWhileOthersWrite')]
    public function testNoCallOfACacheThrowsOverADamagedDatabase(\Closure $damage): void
    {
        $dsn = "sqlite://$this->directory?near=none";
        $cache = Cache::open($dsn);
        for ($i = 0; $i < 60; $i++) {
            $cache->set("k$i", \str_repeat("$i ", 500));
        }
        $cache->writeFills();
        unset($cache);
        foreach ([true, false] as $reads) {
            (new \PDO('sqlite:' . $this->directory . '/larder.db'))->exec('PRAGMA wal_checkpoint(TRUNCATE)');
            $cache = Cache::open($dsn);
            $other = Cache::open($dsn);
            $other->get('k1');
            $reads && $cache->get('k2');
            // From here on it appends.
            $cache->set('one', 'more');
            $damage($this->directory . '/larder.db');
            for ($i = 0; $i < 60; $i++) {
                $i % 2 === 0 ? $cache->delete("k$i") : $cache->set("k$i", "new $i");
                $i % 7 === 0 && $other->update("k$i", static fn(): string => 'updated');
                $other->delete("k$i");
            }
            // All that it read came from an epoch that is over.
            $cache->refresh();
            self::assertTrue($cache->set('k', 'new'));
            self::assertSame('new', Cache::open($dsn)->get('k'));
            unset($cache, $other);
        }
    }

    /** @return iterable<string, array{\Closure(string): void}> */
    public static function damagesOfTheWriteAheadLog(): iterable
    {
        yield 'cut short' => [static function (string $file): void {
            $handle = \fopen($file, 'r+');
            self::assertIsResource($handle);
            \ftruncate($handle, \random_int(1, (int) (\fstat($handle)['size'] ?? 0) - 1));
        }];
        yield 'emptied' => [static fn(string $file) => \file_put_contents($file, '')];
        yield 'removed' => [static fn(string $file) => \unlink($file)];
        yield 'one bit' => [static function (string $file): void {
            $bytes = (string) \file_get_contents($file);
            $at = \random_int(0, \strlen($bytes) - 1);
            $bytes[$at] = $bytes[$at] ^ "\x10";
            \file_put_contents($file, $bytes);
        }];
    }

    /** SQLite takes what comes before the first damaged frame for the whole, and says nothing. */
    #[DataProvider('damagesOfTheWriteAheadLog')]
    public function testNothingOldIsReadFromADamagedWriteAheadLog(\Closure $damage): void
    {
        for ($round = 0; $round < 10; $round++) {
            [$pid] = $this->fork(function (): void {
                $store = $this->store();
                for ($i = 0; $i < 20; $i++) {
                    self::put($store, 'k', "version $i");
                    // Each is a commit of its own.
                    $store->tidy();
                }
                \posix_kill((int) \getmypid(), \SIGKILL);
            });
            \pcntl_waitpid($pid, $status);
            unset($this->children[$pid]);
            self::assertTrue(\pcntl_wifsignaled($status));
            self::assertFileExists($this->directory . '/larder.db-wal');
            $damage($this->directory . '/larder.db-wal');
            // One bit may lie in what a later commit has written over.
            self::assertContains(self::get($this->store(), 'k'), [null, 'version 19']);
        }
    }

    public function testALockOfAnotherProgramEndsInAFailureInTime(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'v');
        $other = new \PDO('sqlite:' . $this->directory . '/larder.db');
        $other->exec('BEGIN EXCLUSIVE');
        $start = \microtime(true);
        try {
            self::put($store, 'k', 'w');
            self::fail('Nobody can write now.');
        } catch (Failure $e) {
            self::assertStringContainsString('locked', $e->getMessage());
        }
        $store->tidy();
        self::assertSame('v', self::get($store, 'k'), 'Readers go on.');
        self::assertLessThan(30.0, \microtime(true) - $start);
        $other->exec('ROLLBACK');
        self::put($store, 'k', 'w');
        self::assertSame('w', self::get($this->store(), 'k'));
    }

    public function testADiskThatIsFullEndsInAFailureAndHealsByItself(): void
    {
        $mounted = \posix_geteuid() === 0 && \is_executable('/bin/mount');
        if ($mounted) {
            \exec('mount -t tmpfs -o size=2m,mode=0700 larder ' . \escapeshellarg($this->directory) . ' 2>&1', $said, $status);
            $mounted = $status === 0;
        }
        if (!$mounted) {
            self::markTestSkipped('Needs root and the right to mount a tmpfs.');
        }
        try {
            $store = $this->store(64 << 20);
            self::put($store, 'small', 'v');
            $failures = 0;
            $written = [];
            for ($i = 0; $i < 60; $i++) {
                try {
                    self::put($store, "k$i", \str_repeat("$i ", 20_000));
                    $written[] = $i;
                } catch (Failure $e) {
                    self::assertStringContainsString('full', $e->getMessage());
                    $failures++;
                }
                $store->tidy();
            }
            self::assertGreaterThan(0, $failures);
            foreach ($written as $i) {
                self::assertContains(self::get($store, "k$i"), [null, \str_repeat("$i ", 20_000)]);
            }
            self::assertSame('v', self::get($store, 'small'));
            // A new process, and no room for a new database.
            self::assertSame('v', self::get($this->store(64 << 20), 'small'));
            \exec('mount -o remount,size=64m ' . \escapeshellarg($this->directory));
            self::put($store, 'after', 'w');
            self::assertSame('w', self::get($this->store(64 << 20), 'after'));
        } finally {
            unset($store);
            \exec('umount -l ' . \escapeshellarg($this->directory));
        }
    }

    public function testAReadOnlyDirectoryIsAFailure(): void
    {
        if (\posix_geteuid() !== 0) {
            self::markTestSkipped('Needs root, to become somebody else.');
        }
        self::put($this->store(), 'k', 'v');
        \chmod($this->directory, 0o555);
        \chown($this->directory, 65534);
        foreach (self::files($this->directory) as $name) {
            \chmod($this->directory . '/' . $name, 0o400);
            \chown($this->directory . '/' . $name, 65534);
        }
        $readOnly = function (): array {
            // The effective user alone is not whom the system asks about.
            \posix_setuid(65534);
            $said = [];
            foreach (['read' => fn() => $this->store()->read(['k']), 'set' => fn() => self::put($this->store(), 'k', 'w'), 'since' => fn() => $this->store()->since('', 0, '')] as $name => $call) {
                try {
                    $call();
                    $said[] = "$name: what cannot be written must not be read";
                } catch (Failure $e) {
                    \str_contains($e->getMessage(), 'writable') || $said[] = "$name: {$e->getMessage()}";
                }
            }
            $this->store()->tidy();

            return $said;
        };
        self::assertSame([[]], $this->inProcesses(1, $readOnly));
        \chmod($this->directory, 0o700);
    }

    /** SQLite gives the files beside a database the mode that the database has when it makes them. */
    public function testADatabaseThatWasReadOnlyForAWhileCanBeWrittenAgain(): void
    {
        if (\posix_geteuid() !== 0) {
            self::markTestSkipped('Only root can become the user whom a mode keeps out.');
        }
        self::put($this->store(), 'k', 'v');
        \chown($this->directory, 65534);
        foreach (self::files($this->directory) as $name) {
            \chown($this->directory . '/' . $name, 65534);
        }
        try {
            \posix_seteuid(65534);
            $database = $this->directory . '/larder.db';
            \chmod($database, 0o400);
            (new \PDO('sqlite:' . $database))->query('SELECT count(*) FROM m')?->fetchAll();
            \chmod($database, 0o600);
            self::assertSame(0o400, (int) \fileperms($database . '-shm') & 0o777);
            self::put($this->store(), 'k', 'w');
            self::assertSame('w', self::get($this->store(), 'k'));
        } finally {
            \posix_seteuid(0);
        }
    }

    public function testAnotherBootStartsCold(): void
    {
        $this->changeKnown("UPDATE m SET value = 'another boot' WHERE name = 'boot'");
        // Where the boot has no name its time counts.
        $this->changeKnown("UPDATE m SET value = CASE name WHEN 'boot' THEN '' ELSE value - 60 END WHERE name IN ('boot', 'booted')");
        // A copy, as out of a backup.
        $this->changeKnown("UPDATE m SET value = value + 1 WHERE name = 'file'");
    }

    public function testTheFirstRequestAfterARebootKeepsWhatItSets(): void
    {
        $open = fn(): Cache => Cache::open(['dsn' => 'sqlite://' . $this->directory, 'near' => 'none']);
        self::assertTrue($open()->set('a', 'before'));
        $this->database()->exec("UPDATE m SET value = 'another boot' WHERE name = 'boot'");
        foreach (\glob($this->directory . '/bell.*') ?: [] as $counter) {
            \touch($counter, MachineBoot::time() - 60);
        }
        $cache = $open();
        self::assertNull($cache->get('a'));
        self::assertTrue($cache->set('a', 'after'));
        self::assertSame(Outcome::Stored, $cache->lastOutcome());
        self::assertSame('after', $open()->get('a'));
    }

    /** A file system gives a new file the inode of a deleted one, so a copy's inode may be that of the file before it. */
    public function testARestoredBackupStartsColdThoughItHasTheSameInode(): void
    {
        self::put($this->store(), 'k', 'old');
        $lock = $this->directory . '/larder.lock';
        $before = \filectime($lock);
        $content = (string) \file_get_contents($lock);
        do {
            \usleep(20_000);
            \file_put_contents($lock, $content);
            \clearstatcache();
        } while (\filectime($lock) === $before);
        \touch($lock, (int) $before);
        self::assertNull(self::get($this->store(), 'k'));
        self::put($this->store(), 'k', 'new');
        self::assertSame('new', self::get($this->store(), 'k'));
    }

    public function testTheSameBootStaysWarmWithoutAName(): void
    {
        self::put($this->store(), 'k', 'v');
        $this->database()->exec("UPDATE m SET value = '' WHERE name = 'boot'");
        self::assertSame('v', self::get($this->store(), 'k'));
    }

    public function testAClockThatWasSetBackDoesNotRepeatPositions(): void
    {
        $start = self::put($this->store(), 'k', 'v') + 86_400_000_000;
        \file_put_contents($this->directory . '/larder.lock', (string) $start);
        \unlink($this->directory . '/larder.db');
        self::assertGreaterThan($start, self::put($this->store(), 'k', 'v'));
    }

    public function testAForeignDatabaseIsLeftAlone(): void
    {
        $foreign = new \PDO('sqlite:' . $this->directory . '/larder.db');
        $foreign->exec('CREATE TABLE precious(a)');
        try {
            $this->store()->read(['k']);
            self::fail('That is not ours.');
        } catch (Failure $e) {
            self::assertStringContainsString('another directory', $e->getMessage());
        }
        self::assertNotFalse($foreign->query('SELECT * FROM precious'));
    }

    public function testANewerVersionIsLeftAlone(): void
    {
        self::put($this->store(), 'k', 'v');
        $this->database()->exec('PRAGMA user_version=99');
        try {
            self::get($this->store(), 'k');
            self::fail('Its tables are not known.');
        } catch (Failure $e) {
            self::assertStringContainsString('version 99', $e->getMessage());
        }
        $this->database()->exec('PRAGMA user_version=' . Schema::VERSION);
        self::assertSame('v', self::get($this->store(), 'k'));
    }

    public function testOneOfAnOlderReleaseEndsAlsoForThoseWhoHaveItOpen(): void
    {
        $old = $this->store();
        $seen = $old->since('', 0, '');
        $position = self::put($old, 'k', 'v');
        $this->database()->exec('PRAGMA user_version=1');
        self::assertSame('v', self::get($old, 'k'), 'Nobody has come yet.');

        $store = $this->store();
        self::assertNull(self::get($store, 'k'));
        self::assertSame(Schema::VERSION, (int) $this->database()->query('PRAGMA user_version')?->fetchColumn());
        self::assertGreaterThan($position, self::put($store, 'k', 'w'));

        // What an older process has open ends with its bell; what it finds then it must refuse, as in the test before.
        self::assertNotSame($seen->epoch, $old->since($seen->epoch, $seen->end, $seen->token)->epoch);
        self::assertSame('w', self::get($old, 'k'));
        self::assertFileDoesNotExist("$this->directory/bell.$seen->epoch");
    }

    private function changeKnown(string $sql): void
    {
        $position = self::put($this->store(), 'k', 'v');
        self::assertSame('v', self::get($this->store(), 'k'));
        $this->database()->exec($sql);
        $store = $this->store();
        self::assertNull(self::get($store, 'k'));
        self::assertGreaterThan($position, $store->since('', 0, '')->end);
    }

    private function database(): \PDO
    {
        return new \PDO('sqlite:' . $this->directory . '/larder.db');
    }

    private function store(int $budget = 8 << 20): SqliteStore
    {
        return new SqliteStore($this->directory, $budget, 0.25);
    }
}
