<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\ApcuStore;
use Larder\Store\Change;
use Larder\Store\Store;
use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\Tests\Contract\SideBySide;
use Larder\Tests\Contract\StoreContract;
use Larder\Tests\Contract\StoreEpochs;
use Larder\Tests\Contract\StoreOwnChanges;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;

/** Runs in a PHP that has APCu on the command line: php -d apc.enable_cli=1. */
final class ApcuStoreTest extends StoreContract
{
    use StoreEpochs;
    use StoreOwnChanges;
    use SideBySide;

    private TemporaryDirectory $directory;
    private string $prefix;

    protected function setUp(): void
    {
        if (!\extension_loaded('apcu') || !\apcu_enabled()) {
            self::markTestSkipped('APCu is off on the command line; run php with -d apc.enable_cli=1.');
        }
        $this->directory = new TemporaryDirectory('larder-a');
        $this->prefix = \basename($this->directory->path);
        parent::setUp();
    }

    protected function tearDown(): void
    {
        if (isset($this->directory)) {
            parent::tearDown();
            $this->directory->remove();
            \apcu_clear_cache();
        }
    }

    protected function store(float $timeout = 5.0): Store
    {
        return new ApcuStore($this->prefix, $this->directory->file('lock'), $timeout);
    }

    protected function patient(): Store
    {
        return $this->store(60.0);
    }

    protected function whileItWrites(Store $store, \Closure $work): void
    {
        $lock = (new \ReflectionProperty($store, 'lock'))->getValue($store);
        self::assertInstanceOf(FileLock::class, $lock);
        $lock->exclusive();
        try {
            $work();
        } finally {
            $lock->release();
        }
    }

    private function child(string $code, string ...$settings): string
    {
        $store = \sprintf('new Larder\Store\ApcuStore(%s, %s, 5.0)', \var_export($this->prefix, true), \var_export($this->directory->file('child.lock'), true));
        $ini = ['apc.enable_cli' => 1];
        foreach ($settings as $setting) {
            [$name, $value] = \explode('=', $setting);
            $ini[$name] = $value;
        }
        $noise = 'set_error_handler(static function (int $l, string $m): never { echo "noise: $m"; exit; });';
        $change = 'function change(mixed ...$a) { return new Larder\Store\Change(...$a); }';

        return Process::snippet("$noise $change try { \$store = $store; $code } catch (Larder\\System\\Failure \$e) { echo \$e->getMessage(); }", ini: $ini)->output(30);
    }

    public function testAnApcuThatIsOffIsAFailureThatSaysHowToTurnItOn(): void
    {
        self::assertStringContainsString('apc.enable_cli=1', $this->child('echo "usable";', 'apc.enable_cli=0'));
        self::assertStringContainsString('apc.enable_cli=1', $this->child('echo "usable";', 'apc.enabled=0'));
        self::assertStringContainsString('apc.slam_defense', $this->child('echo "usable";', 'apc.slam_defense=1'));
        self::assertSame('usable', $this->child('echo "usable";'));
    }

    public function testPrefixesAreApart(): void
    {
        self::put($this->store(), 'k', 'v');
        $other = new ApcuStore($this->prefix . '.', $this->directory->file('other'), 1.0);
        self::assertNull(self::record($other, 'k'));
        self::put($other, 'k', 'w');
        self::assertSame('v', self::record($this->store(), 'k')?->body);
        self::assertCount(1, \iterator_to_array($other->each(), false));
    }

    public function testTheLockFileIsPrivate(): void
    {
        $mask = \umask(0);
        self::put($this->store(), 'k', 'v');
        \umask($mask);
        self::assertSame(0600, \fileperms($this->directory->file('lock')) & 0777);
    }

    public function testAClearedCacheIsANewEpoch(): void
    {
        $one = $this->store();
        $two = $this->store();
        foreach (['all', 'state'] as $lost) {
            self::put($one, 'k', 'old');
            self::put($one, 'l', 'old');
            $seen = $two->since('', 0, '');
            $lost === 'all' ? \apcu_clear_cache() : \apcu_delete("$this->prefix.state");
            $late = self::attempt($one, new Change('l', 'late', self::A, $seen->end, epoch: $seen->epoch));
            self::assertSame([false, -1], [$late->done, $late->position], 'What was judged in the old epoch is not done in the new one.');
            self::assertNull(self::record($two, 'l'));
            self::put($one, 'k', 'new');
            self::assertSame(['k'], \array_keys($two->read(['k', 'l'])->records));
            $now = $two->since($seen->epoch, $seen->end, $seen->token);
            self::assertFalse($now->complete);
            self::assertNotSame($seen->epoch, $now->epoch);
            self::assertSame($now->epoch, $one->read(['k'])->epoch);
            self::assertCount(1, \iterator_to_array($one->each(), false));
            self::put($one, 'k', null);
        }
    }

    public function testALostChangeMakesTheLogUnknown(): void
    {
        $store = $this->store();
        $start = $store->since('', 0, '');
        $limit = self::put($store, 'a', null)->position;
        $lost = self::put($store, 'k', null, self::B)->position;
        $last = self::put($store, 'b', null)->position;
        self::assertTrue(\apcu_delete("$this->prefix.$start->epoch.l.$lost"));
        $other = $this->store();
        self::assertFalse($other->since($start->epoch, $limit, '')->complete);
        self::assertSame([['b', $last, self::A, 'd']], $other->since($start->epoch, $lost, '')->list);
        $outcome = self::attempt($this->store(), new Change('k', 'v', self::A, $limit));
        self::assertSame([false, -1], [$outcome->done, $outcome->position]);
        self::assertTrue(self::attempt($this->store(), new Change('k', 'v', self::A, $lost))->done);
    }

    public function testAChangeWrittenOverByADeadWriterIsUnknown(): void
    {
        $store = $this->store();
        $changes = [];
        for ($i = 0; $i < 5000; $i++) {
            $changes[] = new Change("k$i", null, self::A, kind: 'd');
        }
        $store->write($changes);
        $epoch = $store->read(['k'])->epoch;
        self::assertTrue($this->store()->since($epoch, 5000 - 4096, '')->complete);
        // He wrote to the slot of the oldest change, and did not come to say so.
        \apcu_store("$this->prefix.$epoch.l." . 5001 % 4096, \pack('J', 5001) . 's' . \chr(12) . self::B . 'k');
        self::assertFalse($this->store()->since($epoch, 5000 - 4096, '')->complete);
        self::assertTrue($this->store()->since($epoch, 5001 - 4096, '')->complete);
    }

    public function testTheLogKeepsFourThousandChanges(): void
    {
        $store = $this->store();
        $follower = $this->store();
        $seen = $start = $follower->since('', 0, '');
        $changes = [];
        for ($i = 0; $i < 9_000; $i++) {
            $changes[] = new Change("k$i", null, self::A, kind: 'd');
            if (\count($changes) === 1000) {
                $store->write($changes);
                $changes = [];
                $seen = $follower->since($seen->epoch, $seen->end, $seen->token);
                self::assertSame([true, 1000], [$seen->complete, \count($seen->list)]);
            }
        }
        self::assertFalse($this->store()->since($start->epoch, 4_000, '')->complete);
        foreach ([$this->store(), $store] as $reader) {
            $list = $reader->since($start->epoch, 5_000, '')->list;
            self::assertSame([4_000, 'k5000'], [\count($list), $list[0][0] ?? null]);
        }
        self::assertFalse(self::attempt($this->store(), new Change('other', 'v', self::B, 4_000))->done);
        self::assertTrue(self::attempt($this->store(), new Change('other', 'v', self::B, 5_000))->done);
        self::assertSame(8_990, self::attempt($this->store(), new Change('k8989', 'v', self::B, 5_000))->position);
    }

    public function testAChangeThatWasAnnouncedOnlyNeverHappened(): void
    {
        $store = $this->store();
        $at = self::put($store, 'k', 'v')->position;
        $epoch = $store->read(['k'])->epoch;
        // As a writer leaves it that dies before it stores the record.
        \apcu_store("$this->prefix.$epoch.l." . $at + 1, \pack('J', $at + 1) . 's' . \chr(12) . self::B . 'k');
        \apcu_store("$this->prefix.state", $epoch . \pack('JJJ', $at + 1, $at, 0) . "\2");
        foreach ([$store, $this->store()] as $reader) {
            self::assertSame($at, $reader->read(['k'])->at, 'It does not count as read.');
            self::assertSame([['k', $at + 1, self::B, 's']], $reader->since($epoch, $at, '')->list, 'It is seen in the log.');
        }
        self::assertTrue(self::attempt($this->store(), new Change('k', 'w', self::A, $at))->done);
        self::assertSame($at + 2, $store->read(['k'])->at);
    }

    public function testAStoppedHolderOfTheLockStopsNobodyForLong(): void
    {
        $store = $this->store(0.1);
        self::put($store, 'k', 'v');
        $lock = \escapeshellarg($this->directory->file('lock'));
        $holder = Process::snippet("\$h = fopen($lock, 'r+'); flock(\$h, LOCK_EX); echo \"held\\n\"; sleep(100);");
        $holder->expect('held');
        $holder->signal(\SIGSTOP);
        try {
            self::put($store, 'k', 'w');
            self::fail('The lock was not waited for.');
        } catch (Failure $e) {
            self::assertStringContainsString('lock', $e->getMessage());
        }
        self::assertSame('v', self::record($store, 'k')?->body, 'Readers need no lock.');
        $holder->kill();
        self::put($store, 'k', 'w');
    }

    public function testWhatIsTooLargeIsRefusedAndCostsTheOthersNothing(): void
    {
        $answer = $this->child(<<<'PHP'
            $store->write([change('small', 'v', 'aaaaaaaaaaaa'), change('k', 'old', 'aaaaaaaaaaaa')]);
            $large = $store->write([change('k', str_repeat('x', 5_000_000), 'aaaaaaaaaaaa')])[0];
            echo json_encode([$large->done, $large->position, array_keys($store->read(['small', 'k'])->records)]);
            PHP, 'apc.shm_size=8M');
        self::assertSame('[false,-1,["small","k"]]', $answer);
    }

    public function testAMemoryThatIsFullNeverGivesAnOldValue(): void
    {
        $code = <<<'PHP'
            $last = $done = [];
            $refused = $lost = 0;
            $seen = $store->since('', 0, '');
            for ($i = 0; $i < 3000; $i++) {
                $key = 'k' . mt_rand(0, 199);
                $outcome = $store->write([change($key, $i . str_repeat('x', mt_rand(1, 100_000)), 'aaaaaaaaaaaa')])[0];
                $outcome->done || $refused++;
                $last[$key] = $i;
                $other = 'k' . mt_rand(0, 199);
                $record = $store->read([$other])->records[$other] ?? null;
                if ($record !== null && (int) $record->body !== ($last[$other] ?? -1)) {
                    echo "old value of $other";
                    exit;
                }
                $record !== null || $lost++;
                $now = $store->since($seen->epoch, $seen->end, $seen->token);
                if ($now->complete && array_column($now->list, 0) !== [$key]) {
                    echo 'a change was missed';
                    exit;
                }
                $seen = $now;
            }
            echo $lost > 500 ? 'full' : "only $lost lost";
            PHP;
        self::assertSame('full', $this->child($code, 'apc.shm_size=4M'));
        self::assertSame('full', $this->child($code, 'apc.shm_size=4M', 'apc.ttl=1'));
    }

    public function testTheTimeOfTheRequestDoesNotMatter(): void
    {
        // APCu then counts from the start of the process, here four seconds before the write.
        $answer = $this->child(<<<'PHP'
            sleep(4);
            $store->write([change('k', 'v', 'aaaaaaaaaaaa', expiry: $store->now() + 1500)]);
            foreach (apcu_cache_info()['cache_list'] as $entry) {
                if (str_ends_with($entry['info'], '.r.k')) {
                    echo $entry['creation_time'] + $entry['ttl'] >= time() + 1 ? 'lives' : 'ends too early';
                }
            }
            PHP, 'apc.use_request_time=1');
        self::assertSame('lives', $answer);
    }
}
