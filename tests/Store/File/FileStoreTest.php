<?php

declare(strict_types=1);

namespace Larder\Tests\Store\File;

use Larder\Store\Change;
use Larder\Store\File\FileStore;
use Larder\Store\File\Shared;
use Larder\Store\File\State;
use Larder\Store\Store;
use Larder\System\Failure;
use Larder\Tests\Contract\SideBySide;
use Larder\Tests\Contract\StoreContract;
use Larder\Tests\Contract\StoreEpochs;
use Larder\Tests\Contract\StoreOwnChanges;
use Larder\Tests\Support\Checkout;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;

final class FileStoreTest extends StoreContract
{
    use StoreEpochs;
    use StoreOwnChanges;
    use SideBySide;

    private TemporaryDirectory $parent;
    private string $directory;

    protected function setUp(): void
    {
        $this->parent = new TemporaryDirectory('larder-f');
        $this->directory = $this->parent->file('cache');
        parent::setUp();
    }

    protected function tearDown(): void
    {
        parent::tearDown();
        $this->parent->remove();
    }

    protected function store(int $budget = 64_000_000, float $timeout = 5.0): Store
    {
        return new FileStore($this->directory, $budget, $timeout);
    }

    protected function patient(): Store
    {
        return $this->store(timeout: 60.0);
    }

    protected function whileItWrites(Store $store, \Closure $work): void
    {
        $shared = (new \ReflectionProperty($store, 'shared'))->getValue($store);
        self::assertInstanceOf(Shared::class, $shared);
        $shared->hold();
        try {
            $work();
        } finally {
            $shared->release();
        }
    }

    /** @return list<string> paths of all files in the directory, lock and log apart */
    private function values(): array
    {
        return \array_values(\array_filter(\glob("$this->directory/v.*/??/*") ?: [], \is_file(...)));
    }

    /** Bytes of the records' files on the disk. */
    private function taken(): int
    {
        \clearstatcache();

        return (int) \array_sum(\array_map(static fn(string $path): int => 512 * (\stat($path)['blocks'] ?? 0), $this->values()));
    }

    private function log(): string
    {
        $logs = \glob("$this->directory/log.*") ?: [];

        return (string) \end($logs);
    }

    /** Seen to fail: its files stayed open until PHP collected garbage, and a process of many caches had none left to open. */
    public function testItsFilesAreClosedWithIt(): void
    {
        $open = static fn(): int => \count(\scandir('/proc/self/fd') ?: []);
        \gc_disable();
        try {
            $before = $open();
            $store = $this->store();
            self::put($store, 'k', 'v');
            self::assertGreaterThan($before, $open());
            unset($store);
            self::assertSame($before, $open());
        } finally {
            \gc_enable();
        }
    }

    #[TestWith([0])]
    // Seen to fail: directories were made that nobody could enter.
    #[TestWith([0o777])]
    public function testNobodyElseMayReadAnythingWhateverTheMask(int $mask): void
    {
        $mask = \umask($mask);
        try {
            $store = $this->store();
            self::put($store, 'a', 'v');
            self::put($store, 'a', 'w');
            self::put($store, 'b', \str_repeat('x', 200_000));
            self::put($store, 'b', \str_repeat('y', 200_000));
            $store->tidy();
        } finally {
            \umask($mask);
        }
        $all = new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator($this->directory, \FilesystemIterator::SKIP_DOTS), \RecursiveIteratorIterator::SELF_FIRST);
        $modes = [];
        foreach ($all as $path => $file) {
            self::assertInstanceOf(\SplFileInfo::class, $file);
            self::assertMatchesRegularExpression('/\A(lock|log\.[0-9a-f]{16}\.\d+|v\.[0-9a-f]{16}|[0-9a-f]{2}|[0-9a-f]{30})\z/', $file->getFilename());
            $modes[\sprintf('%s %o', $file->getType(), $file->getPerms() & 0777)] = true;
        }
        \ksort($modes);
        self::assertSame(['dir 700' => true, 'file 600' => true], $modes);
        self::assertSame(0700, \fileperms($this->directory) & 0777);
    }

    /** @return iterable<string, array{\Closure(string): string}> */
    public static function damage(): iterable
    {
        yield 'empty' => [static fn(string $bytes) => ''];
        yield 'half' => [static fn(string $bytes) => \substr($bytes, 0, (int) (\strlen($bytes) / 2))];
        yield 'one byte short' => [static fn(string $bytes) => \substr($bytes, 0, -1)];
        yield 'head only' => [static fn(string $bytes) => \substr($bytes, 0, 60)];
        yield 'zeros' => [static fn(string $bytes) => \str_repeat("\0", \strlen($bytes))];
        yield 'something else' => [static fn(string $bytes) => \random_bytes(5000)];
        foreach ([3, 9, 17, 26, 34, 42, 49, 52, 55, 66, -1] as $offset) {
            yield "a bit at $offset" => [static function (string $bytes) use ($offset): string {
                $bytes[$offset] = \chr(\ord($bytes[$offset]) ^ 4);

                return $bytes;
            }];
        }
    }

    /** @param \Closure(string): string $damage */
    #[DataProvider('damage')]
    public function testADamagedRecordIsAbsentAndGoes(\Closure $damage): void
    {
        $store = $this->store();
        self::put($store, 'k', 'a body of some length');
        [$path] = $this->values();
        \file_put_contents($path, $damage((string) \file_get_contents($path)));
        self::assertSame([], \iterator_to_array($this->store()->each(), false));
        \file_put_contents($path, $damage('LARDER' . \str_repeat('x', 100)));
        self::assertNull(self::record($store, 'k'));
        self::assertFileDoesNotExist($path);
        \file_put_contents($path, 'damaged');
        self::assertTrue(self::attempt($store, new Change('k', 'new', self::B, $store->read(['k'])->at, strict: true))->done);
        self::assertSame('new', self::record($this->store(), 'k')?->body);
    }

    public function testWhatADeadWriterDidNotCutOffIsIgnored(): void
    {
        self::put($this->store(), 'k', 'value');
        [$path] = $this->values();
        \file_put_contents($path, 'left of a longer record', \FILE_APPEND);
        self::assertSame('value', self::record($this->store(), 'k')?->body);
        self::put($this->store(), 'k', 'v');
        self::assertStringEndsWith('kv', (string) \file_get_contents($path));
    }

    public function testAFileInAnothersPlaceIsNotTheOther(): void
    {
        $store = $this->store();
        self::put($store, 'one', '1');
        [$one] = $this->values();
        self::put($store, 'two', '2');
        [$two] = \array_values(\array_diff($this->values(), [$one]));
        \copy($one, $two);
        self::assertNull(self::record($store, 'two'));
        self::assertSame('1', self::record($store, 'one')?->body);
        self::put($store, 'two', '3');
        self::assertSame('3', self::record($store, 'two')?->body);
    }

    public function testHalfAChangeAtTheEndOfTheLogIsCutOff(): void
    {
        $store = $this->store();
        $start = $store->since('', 0, '');
        self::put($store, 'k', 'v');
        $seen = $store->since($start->epoch, $start->end, $start->token);
        $whole = (string) \file_get_contents($this->log());
        self::put($store, 'lost', 'w');
        // As if the writer of the last change had died within its append.
        $frame = \substr((string) \file_get_contents($this->log()), \strlen($whole));
        foreach ([1, 4, 12, \strlen($frame) - 1] as $length) {
            $this->tearDown();
            $this->setUp();
            $store = $this->store();
            $start = $store->since('', 0, '');
            $last = self::put($store, 'k', 'v')->position;
            \file_put_contents($this->log(), \substr($frame, 0, $length), \FILE_APPEND);
            foreach ([$store, $this->store()] as $reader) {
                $seen = $reader->since($start->epoch, $start->end, $start->token);
                self::assertSame([true, $last], [$seen->complete, $seen->end]);
                self::assertSame($last, $reader->read(['k'])->at);
            }
            $next = self::put($this->store(), 'l', 'w')->position;
            foreach ([$store, $this->store()] as $reader) {
                self::assertSame([['l', $next, self::A, 's']], $reader->since($seen->epoch, $seen->end, $seen->token)->list);
                self::assertSame(['k', 'l'], \array_column($reader->since($start->epoch, $start->end, $start->token)->list, 0));
            }
            self::assertSame('v', self::record($store, 'k')?->body);
        }
    }

    public function testAChangeThatWasAnnouncedOnlyNeverHappened(): void
    {
        $store = $this->store();
        $at = self::put($store, 'k', 'v')->position;
        $log = (string) \file_get_contents($this->log());
        $state = (string) \file_get_contents("$this->directory/lock", length: State::SIZE);
        $end = self::put($store, 'k', 'w')->position;
        [$path] = $this->values();
        // The log is ahead, as if the writer had died before it stored the record.
        $record = (string) \file_get_contents($path);
        \file_put_contents("$this->directory/lock", $state . \substr((string) \file_get_contents("$this->directory/lock"), State::SIZE));
        $this->overwrite($path, \str_replace('kw', 'kv', $record));
        self::assertGreaterThan(\strlen($log), \filesize($this->log()));
        foreach ([$store, $this->store()] as $reader) {
            self::assertSame($at, $reader->read(['other'])->at, 'It does not count as read.');
            self::assertSame($end, $reader->since('', 0, '')->end, 'It is seen in the log.');
        }
        $next = self::put($this->store(), 'other', 'v')->position;
        self::assertGreaterThan($end, $next);
        self::assertSame($next, $store->read(['other'])->at);
    }

    private function overwrite(string $path, string $bytes): void
    {
        \file_put_contents($path, $bytes);
    }

    /** @return iterable<string, array{\Closure(string): mixed}> */
    public static function losses(): iterable
    {
        yield 'the directory' => [static fn(string $d) => \exec("rm -rf '$d'")];
        yield 'all that is in it' => [static fn(string $d) => \exec("rm -rf '$d'/*")];
        yield 'the lock' => [static fn(string $d) => \exec("rm '$d/lock'")];
        yield 'the log' => [static fn(string $d) => \exec("rm '$d'/log.*")];
        yield 'lock and log' => [static fn(string $d) => \exec("rm '$d/lock' '$d'/log.*")];
        yield 'the state' => [static fn(string $d) => \exec("truncate -s 0 '$d/lock'")];
        yield 'the state is damaged' => [static fn(string $d) => \exec("printf x | dd of='$d/lock' bs=1 seek=40 conv=notrunc status=none")];
        yield 'the log is cut' => [static fn(string $d) => \exec("truncate -s -3 '$d'/log.*")];
        yield 'the log is emptied' => [static fn(string $d) => \exec("truncate -s 0 '$d'/log.*")];
        yield 'a copy in its place' => [static fn(string $d) => \exec("cp -rp '$d' '$d.x' && rm -rf '$d' && mv '$d.x' '$d'")];
    }

    /** @param \Closure(string): mixed $loss */
    #[DataProvider('losses')]
    public function testALossUnderRunningProcessesIsANewEpochInWhichNothingOldIsRead(\Closure $loss): void
    {
        $one = $this->store();
        $two = $this->store();
        self::put($one, 'k', 'old');
        self::put($one, 'l', 'old');
        $seen = $two->since('', 0, '');
        self::assertSame('old', self::record($two, 'k')?->body);
        $loss($this->directory);
        $late = self::attempt($one, new Change('l', 'late', self::A, $seen->end, epoch: $seen->epoch));
        self::assertSame([false, -1], [$late->done, $late->position], 'What was judged in the old epoch is not done in the new one.');
        $write = self::put($one, 'k', 'new')->position;
        self::assertEquals(['k'], \array_keys($one->read(['k', 'l'])->records));
        self::assertEquals(['k'], \array_keys($two->read(['k', 'l'])->records));
        self::assertSame($write, self::record($two, 'k')?->position);
        foreach ([$two, $this->store()] as $reader) {
            $now = $reader->since($seen->epoch, $seen->end, $seen->token);
            self::assertFalse($now->complete);
            self::assertNotSame($seen->epoch, $now->epoch);
            self::assertSame($now->epoch, $reader->read(['k'])->epoch);
        }
        self::assertSame(0700, \fileperms($this->directory) & 0777);
    }

    public function testALossIsSeenByAReaderAlone(): void
    {
        foreach (self::losses() as $name => [$loss]) {
            $store = $this->store();
            self::put($store, 'k', 'old');
            $seen = $store->since('', 0, '');
            $loss($this->directory);
            // What has written nothing has lost nothing either: the first call may find all as it was.
            $store->since($seen->epoch, $seen->end, $seen->token);
            self::assertNull(self::record($store, 'k'), $name);
            self::assertFalse($store->since($seen->epoch, $seen->end, $seen->token)->complete, $name);
        }
    }

    public function testLostValuesAreAbsentAndTheEpochGoesOn(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'v');
        $epoch = $store->read(['k'])->epoch;
        \exec("rm -rf '$this->directory'/v.*");
        self::assertNull(self::record($store, 'k'));
        self::put($store, 'k', 'w');
        self::assertSame('w', self::record($this->store(), 'k')?->body);
        self::assertSame($epoch, $store->read(['k'])->epoch);
    }

    /** A file system gives a new file the inode of a deleted one, so a copy's inode may be that of the file before it. */
    public function testARestoredBackupIsANewEpochThoughItHasTheSameInode(): void
    {
        self::put($this->store(), 'k', 'old');
        \touch("$this->directory/lock", \time() - 60);
        $store = $this->store();
        self::assertSame([], $store->read(["k"])->records);
        self::put($store, 'k', 'new');
        $epoch = $store->read(['k'])->epoch;
        self::assertSame(["k"], \array_keys($this->store()->read(["k"])->records));
        self::assertSame($epoch, $this->store()->read(['k'])->epoch);
    }

    public function testABootIsANewEpoch(): void
    {
        if (\Larder\System\MachineBoot::id() === '') {
            self::markTestSkipped('This system does not tell its boots apart.');
        }
        $store = $this->store();
        self::put($store, 'k', 'before');
        $epoch = $store->read(['k'])->epoch;
        self::assertSame($epoch, $this->store()->read(['k'])->epoch);
        $handle = \fopen("$this->directory/lock", 'r+');
        self::assertIsResource($handle);
        $state = State::read($handle);
        self::assertInstanceOf(State::class, $state);
        $boot = '00000000-0000-0000-0000-000000000000';
        (new State($state->epoch, $state->base, $state->previous, $state->done, $state->version, $boot, $state->inode))->write($handle);
        $view = $this->store()->read(['k']);
        self::assertSame([], $view->records);
        self::assertNotSame($epoch, $view->epoch);
        self::assertSame($view->epoch, $this->store()->read(['k'])->epoch);
    }

    public function testAReadOnlyDirectoryIsAFailureForWritersAndReaders(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'v');
        self::attempt($store, new Change('l', 'lease', self::A, logged: false));
        $source = \dirname(Checkout::autoload(), 2) . '/src/';
        $readOnly = function () use ($store, $source): array {
            if (\posix_getuid() === 0) {
                // Nothing is read-only for root. The user that it becomes may not be able to read the checkout.
                \spl_autoload_register(static function (string $class) use ($source): void {
                    $file = $source . \strtr(\substr($class, \strlen('Larder\\')), '\\', '/') . '.php';
                    \is_file($file) && require $file;
                }, prepend: true);
                // A lock that changed its owner a second after it was written looks as if a backup had been restored.
                \exec("chown -R 65534 '$this->parent' && touch '$this->directory/lock'");
                \posix_setuid(65534);
            }
            \exec("chmod 0500 '$this->directory' '$this->directory'/v.* '$this->directory'/v.*/* && chmod 0400 '$this->directory'/log.*");
            $failures = [];
            foreach (['running' => $store, 'new' => $this->store()] as $name => $instance) {
                $calls = [
                    'read' => static fn() => $instance->read(['k']),
                    'write' => static fn() => $instance->write([new Change('new', 'v', self::A)]),
                    'remove' => static fn() => $instance->write([new Change('k', null, self::A)]),
                    'stats' => static fn() => $instance->stats(),
                    'each' => static fn() => \iterator_to_array($instance->each(), false),
                ];
                foreach ($calls as $call => $do) {
                    try {
                        $do();
                        $failures[] = "$name $call: done";
                    } catch (Failure $e) {
                        \str_starts_with($e->getMessage(), 'files: ') || $failures[] = "$name $call: " . $e->getMessage();
                    }
                }
                $instance->tidy();
            }
            \exec("chmod 0700 '$this->directory' '$this->directory'/v.* '$this->directory'/v.*/* && chmod 0600 '$this->directory'/log.*");
            $failures[] = 'then ' . self::record($store, 'k')?->body;

            return $failures;
        };
        self::assertSame([['then v']], $this->inProcesses(1, $readOnly));
    }

    public function testANameThatIsNoDirectoryIsAFailure(): void
    {
        \file_put_contents($this->directory, 'a file');
        $this->expectException(Failure::class);
        $this->store()->read(['k']);
    }

    public function testAStoppedHolderOfTheLockStopsNobodyForLong(): void
    {
        $store = $this->store(timeout: 0.1);
        self::put($store, 'k', 'v');
        $lock = \escapeshellarg("$this->directory/lock");
        $holder = Process::snippet("\$h = fopen($lock, 'r+'); flock(\$h, LOCK_EX); echo \"held\\n\"; sleep(100);");
        $holder->expect('held');
        $holder->signal(\SIGSTOP);
        $start = \microtime(true);
        try {
            self::put($store, 'k', 'w');
            self::fail('The lock was not waited for.');
        } catch (Failure $e) {
            self::assertStringContainsString('lock', $e->getMessage());
        }
        self::assertGreaterThan(0.09, \microtime(true) - $start);
        $store->tidy();
        self::assertSame('v', self::record($store, 'k')?->body, 'Readers need no lock.');
        self::assertTrue($store->since('', 0, '')->end > 0);
        self::assertLessThan(20, \microtime(true) - $start);
        $holder->kill();
        self::put($store, 'k', 'w');
    }

    public function testAFullDiskIsAFailureThatLeavesNothingHalfWritten(): void
    {
        self::put($this->store(), 'k', 'kept');
        $directory = \var_export($this->directory, true);
        // A file may become 64 blocks of 512 bytes: to PHP the same as a full disk.
        $code = <<<PHP
            set_error_handler(static function (int \$level, string \$message): never { echo "noise: \$message\\n"; exit(1); });
            pcntl_signal(SIGXFSZ, SIG_IGN);
            \$store = new Larder\\Store\\File\\FileStore($directory, 64_000_000, 1.0);
            \$try = static function (string \$key, ?string \$body) use (\$store): bool {
                try {
                    return \$store->write([new Larder\\Store\\Change(\$key, \$body, 'aaaaaaaaaaaa')])[0]->done;
                } catch (Larder\\System\\Failure) {
                    return false;
                }
            };
            echo \$try('large', str_repeat('x', 100_000)) ? 'done' : 'failed', "\\n";
            echo \$try('k', str_repeat('x', 40_000)) ? 'done' : 'failed', "\\n";
            echo \$try('small', 'v') ? 'done' : 'failed', "\\n";
            for (\$n = 0; \$try("k\$n", null); \$n++);
            echo \$n > 100 && !\$try('small', 'w') ? 'full' : 'not full', "\\n";
            PHP;
        $child = new Process(['sh', '-c', 'ulimit -f 64; exec "$0" "$@"', \PHP_BINARY, '-r', 'require ' . \var_export(\dirname(__DIR__, 3) . '/vendor/autoload.php', true) . ';' . $code]);
        self::assertSame("failed\nfailed\ndone\nfull\n", $child->output(20));
        self::assertSame([], \glob("$this->directory/v.*/new"));
        $store = $this->store();
        self::assertSame(['small'], \array_keys($store->read(['k', 'large', 'small'])->records), 'What cannot be replaced whole is gone.');
        self::assertSame('v', self::record($store, 'small')?->body);
        $position = self::put($store, 'small', 'w')->position;
        $list = $store->since($store->read(['k'])->epoch, $position - 100, '')->list;
        self::assertSame(['small', $position, self::A, 's'], \end($list));
    }

    public function testTheBudgetIsKeptByEvictingTheLeastRecentlyUsed(): void
    {
        // So few that a sweep sees all of them, and is exact.
        $budget = 17 * 12_288;
        $store = $this->store($budget);
        for ($i = 0; $i < 15; $i++) {
            self::put($store, "k$i", \str_repeat('x', 10_000));
        }
        foreach ($this->values() as $path) {
            \touch($path, \time() - 3600);
        }
        $store->read(['k3', 'k12']);
        $store->tidy();
        self::assertCount(15, $this->values(), 'Nothing goes while it is within the budget.');
        for ($i = 15; $i < 28; $i++) {
            self::put($this->store(), "k$i", \str_repeat('x', 10_000));
        }
        $stats = $store->stats();
        self::assertSame([28, $budget], [$stats['entries'], $stats['budget']]);
        for ($i = 0; $i < 20; $i++) {
            $store->tidy();
        }
        self::assertSame([$budget, $budget], [$this->taken(), $store->stats()['bytes']], 'No more goes than has to.');
        self::assertCount(2, $store->read(['k3', 'k12'])->records, 'What was used stays.');
        self::assertCount(13, $store->read(\array_map(static fn(int $i) => "k$i", \range(15, 27)))->records, 'So does what is new.');
    }

    /** Seen to fail: a budget that is checked after sixteen writes, however large they are. */
    public function testFewLargeValuesKeepToTheBudgetToo(): void
    {
        $store = $this->store(4_000_000);
        for ($i = 0; $i < 30; $i++) {
            self::put($store, "k$i", \str_repeat('x', 3_500_000));
            self::assertLessThan(8_000_000, $this->taken());
        }
    }

    /** Seen to fail: within a minute nothing told what had been read from what had not. */
    public function testWhatWasReadAMomentAgoStaysLongerThanWhatNobodyHasRead(): void
    {
        $store = $this->store(17 * 12_288);
        $read = \array_map(static fn(int $i): string => "read$i", \range(1, 12));
        foreach ($read as $key) {
            self::put($store, $key, \str_repeat('x', 10_000));
        }
        $store->read($read);
        $store->tidy();
        for ($i = 0; $i < 16; $i++) {
            self::put($store, "written later $i", \str_repeat('x', 10_000));
        }
        for ($i = 0; $i < 20; $i++) {
            $store->tidy();
        }
        self::assertSame(17, $store->stats()['entries']);
        self::assertSame($read, \array_keys($store->read($read)->records));
    }

    public function testALongRunningWriterKeepsTheBudgetByItself(): void
    {
        $store = $this->store(300_000);
        for ($i = 0; $i < 3000; $i++) {
            self::put($store, "k$i", \str_repeat('x', 1000));
        }
        self::assertLessThan(1_000_000, $store->stats()['bytes']);
        self::assertLessThan(1_000_000, $this->taken());
    }

    public function testWhatAFileTakesOnTheDiskCountsAndNotItsLength(): void
    {
        $store = $this->store(400_000);
        for ($i = 0; $i < 300; $i++) {
            self::put($store, "k$i", \str_repeat('x', 100));
        }
        for ($i = 0; $i < 60; $i++) {
            $store->tidy();
        }
        self::assertLessThanOrEqual(400_000, $this->taken());
        self::assertGreaterThan(300_000, $this->taken());
        self::assertSame($this->taken(), $store->stats()['bytes']);
        foreach ([100, 5000, 4000, 70_000, 10, null] as $length) {
            // Within the block, into the next, back, renamed, back in place, gone.
            self::put($store, 'k', $length === null ? null : \str_repeat('x', $length));
            self::assertSame($this->taken(), $store->stats()['bytes']);
        }
    }

    public function testAValueLargerThanTheBudgetIsRefusedVisibly(): void
    {
        $store = $this->store(10_000);
        self::put($store, 'k', 'old');
        $outcome = self::attempt($store, new Change('k', \str_repeat('x', 10_001), self::A));
        self::assertSame([false, -1, 'old'], [$outcome->done, $outcome->position, $outcome->record?->body]);
    }

    public function testTidyRemovesWhatAFlushCovers(): void
    {
        $store = $this->store();
        for ($i = 0; $i < 40; $i++) {
            self::put($store, "e:one:k$i", 'v');
            self::put($store, "e:two:k$i", 'v');
        }
        self::put($store, 'e:one:intent', Change::HELD, kind: 'i');
        self::put($store, 't:one:tag', 'm', kind: 'm');
        self::put($store, 'f:one', 'm', kind: 'm');
        self::put($store, 'e:one:new', 'v');
        for ($i = 0; $i < 2000 && \count($this->values()) > 44; $i++) {
            $store->tidy();
        }
        $left = \array_keys(\iterator_to_array($store->each()));
        self::assertCount(44, $left);
        self::assertSame([], \array_diff(['e:one:intent', 'e:one:new', 'f:one', 't:one:tag', 'e:two:k0'], $left));
    }

    public function testTidyRemovesExpiredRecordsAndOldEpochs(): void
    {
        $store = $this->store();
        $now = $store->now();
        for ($i = 0; $i < 100; $i++) {
            self::attempt($store, new Change("k$i", 'v', self::A, expiry: $i % 2 === 0 ? $now - 10 : $now + 100_000));
        }
        for ($i = 0; $i < 2000 && \count($this->values()) > 50; $i++) {
            $store->tidy();
        }
        self::assertCount(50, $this->values());
        self::assertSame(50, $store->stats()['entries']);
        \unlink("$this->directory/lock");
        self::put($store, 'new', 'v');
        self::assertCount(51, $this->values());
        for ($i = 0; $i < 2000 && \count(\glob("$this->directory/v.*") ?: []) > 1; $i++) {
            $store->tidy();
        }
        self::assertCount(1, $this->values());
        self::assertCount(1, \glob("$this->directory/v.*") ?: []);
        self::assertSame('v', self::record($store, 'new')?->body);
    }

    public function testTheSizesThatADeadWriterLeftWrongAreMended(): void
    {
        $store = $this->store();
        for ($i = 0; $i < 40; $i++) {
            self::put($store, "k$i", 'v');
        }
        $right = $store->stats();
        foreach (\array_slice($this->values(), 0, 20) as $path) {
            \unlink($path);
        }
        self::assertSame($right, $store->stats());
        for ($i = 0; $i < 2000 && $store->stats()['entries'] !== 20; $i++) {
            $store->tidy();
        }
        self::assertSame(20, $store->stats()['entries']);
        self::assertSame($this->taken(), $store->stats()['bytes']);
    }

    public function testDamagedSizesEvictNothing(): void
    {
        $store = $this->store();
        for ($i = 0; $i < 100; $i++) {
            self::put($store, "k$i", 'v');
        }
        $right = $store->stats();
        // Rows of sixteen bytes behind the State: 30 bytes that say exabytes wherever they are.
        for ($at = State::SIZE; $at < State::SIZE + 16 * 256; $at += 500) {
            $handle = \fopen("$this->directory/lock", 'r+');
            self::assertNotFalse($handle);
            \fseek($handle, $at);
            \fwrite($handle, \str_repeat("\x3f", 30));
        }
        self::assertNotSame($right, $store->stats());
        for ($i = 0; $i < 100; $i++) {
            self::put($store, "k$i", 'w');
        }
        self::assertCount(100, $this->values());
        for ($i = 0; $i < 4000 && $store->stats() !== $right; $i++) {
            $store->tidy();
        }
        self::assertSame($right, $store->stats());
    }

    public function testAnUnloggedVersionIsNotGivenTwiceByAnotherProcess(): void
    {
        $versions = [];
        for ($i = 0; $i < 5; $i++) {
            $versions[] = self::attempt($this->store(), new Change('l', $i % 2 === 0 ? 'held' : null, self::A, logged: false))->position;
        }
        self::assertSame($versions, \array_unique($versions));
    }
}
