<?php

declare(strict_types=1);

namespace Larder\Tests\Near;

use Larder\Cache;
use Larder\Codec\Entry;
use Larder\Near\ApcuNear;
use Larder\Store\Journal\JournalSlice;
use Larder\System\Clock;
use Larder\System\FileLock;
use Larder\Tests\Reentrancy\Waking;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

/** APCu as a near tier: what it refuses, and what happens when something of it is gone. */
final class ApcuNearTest extends TestCase
{
    private TemporaryDirectory $directory;
    private string $name;

    protected function setUp(): void
    {
        if (!\function_exists('apcu_enabled') || !\apcu_enabled()) {
            self::markTestSkipped('APCu is off: run with -d apc.enable_cli=1.');
        }
        $this->directory = new TemporaryDirectory();
        $this->name = 'near' . \bin2hex(\random_bytes(4));
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
        \apcu_delete(new \APCUIterator('/^' . $this->name . '/'));
    }

    public function testACopyReadBeforeWhatWasFollowedIsRefused(): void
    {
        $near = $this->near();
        self::assertTrue($near->follow(new JournalSlice('epoch', 10, '', false)));
        $near->put([['e::k', self::entry('read at 10'), 7, 10, 0]], 'epoch');
        self::assertSame(7, $near->copy('e::k')[1] ?? null);
        self::assertTrue($this->near()->follow(new JournalSlice('epoch', 12, '', true, [['e::other', 12, 'somebody', 's']])));
        $near->put([['e::late', self::entry('read at 11'), 9, 11, 0]], 'epoch');
        self::assertNull($near->copy('e::late'));
        self::assertSame(1, $near->stats()['refused']);
        self::assertNotNull($near->copy('e::k'), 'it has not changed');
    }

    public function testEachOfSeveralCopiesIsJudgedByItself(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $near->put([['e::newer', self::entry('newer'), 12, 12, 0]], 'epoch');
        $near->put([
            ['e::a', self::entry('a'), 9, 10, 0],
            ['e::late', self::entry('read before'), 9, 9, 0],
            ['e::newer', self::entry('older'), 11, 11, 0],
            ['e::expires', self::entry('expires'), 10, 10, 100],
            ['e::7', self::entry('b'), 10, 10, 0],
        ], 'epoch');
        $positions = [];
        foreach (['e::a', 'e::late', 'e::newer', 'e::expires', 'e::7'] as $key) {
            $positions[$key] = $near->copy($key)[1] ?? null;
        }
        self::assertSame(['e::a' => 9, 'e::late' => null, 'e::newer' => 12, 'e::expires' => 10, 'e::7' => 10], $positions);
        self::assertSame(2, $near->stats()['refused']);
        self::assertSame(100, \apcu_key_info($near->prefix . 'e::expires')['ttl'] ?? null);
    }

    // Seen to fail: its position, of the epoch before, was greater than all of the new one.
    public function testACopyOfAnEpochThatIsOverIsRefused(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $near->follow(new JournalSlice('another', 3, '', false));
        $near->put([['e::k', self::entry('read before'), 10, 10, 0]], 'epoch');
        $near->putMarker('f:', 10, 10, 'epoch');
        self::assertNull($near->copy('e::k'));
        self::assertNull($near->marker('f:'));
        self::assertSame(2, $near->stats()['refused']);
        $near->put([['e::k', self::entry('read in it'), 3, 3, 0]], 'another');
        self::assertSame(3, $near->copy('e::k')[1] ?? null);
    }

    // Seen to fail: the call inside took the same lock, and stored what the one outside had looked for already.
    public function testACallInsideAnotherStoresNothing(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $elsewhere = $this->near();
        $elsewhere->state();
        // Stands for a destructor that the garbage collector runs while this is looked at.
        \apcu_store($near->prefix . 'e::waking', new Waking('x'));
        Waking::$does = static function () use ($near, $elsewhere): void {
            Waking::$does = null;
            $near->put([['e::k', self::entry('read before it changed'), 9, 10, 0]], 'epoch');
            // Nor has it given back the lock of the one outside.
            $elsewhere->put([['e::k', self::entry('read before it changed'), 9, 10, 0]], 'epoch');
        };
        self::assertTrue($near->follow(new JournalSlice('epoch', 12, '', true, [['e::k', 11, 'somebody', 's'], ['e::waking', 12, 'somebody', 's']])));
        self::assertNull(Waking::$does, 'it was called');
        self::assertNull($near->copy('e::k'));
        $near->put([['e::k', self::entry('read since'), 11, 12, 0]], 'epoch');
        self::assertSame(11, $near->copy('e::k')[1] ?? null, 'and it goes on');
    }

    public function testWhatChangedIsDroppedAndWhatIsNewerStays(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $near->put([['e::old', self::entry('old'), 9, 10, 0]], 'epoch');
        $near->put([['e::new', self::entry('new'), 12, 12, 0]], 'epoch');
        $near->follow(new JournalSlice('epoch', 12, '', true, [['e::old', 11, 'somebody', 's'], ['e::new', 12, 'me', 's']]));
        self::assertNull($near->copy('e::old'));
        self::assertSame('new', $near->copy('e::new')[0]->payload ?? null);
        $near->put([['e::new', self::entry('an older one'), 11, 12, 0]], 'epoch');
        self::assertSame(12, $near->copy('e::new')[1] ?? null, 'an older copy never replaces a newer one');
    }

    public function testAGapOrAnotherEpochBeginsAnew(): void
    {
        $near = $this->near();
        foreach ([new JournalSlice('epoch', 20, '', false), new JournalSlice('another', 5, '', true)] as $changes) {
            $near->follow(new JournalSlice('epoch', 10, '', false));
            $near->put([['e::k', self::entry('v'), 9, 10, 0]], 'epoch');
            self::assertNotNull($near->copy('e::k'));
            self::assertTrue($near->follow($changes));
            self::assertNull($near->copy('e::k'));
            self::assertSame([$changes->epoch, $changes->end, ''], $near->state());
            \apcu_delete($this->name . ':state');
        }
    }

    public function testAStateThatIsGoneTakesNoCopies(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        \apcu_delete($this->name . ':state');
        $near->put([['e::k', self::entry('v'), 9, 10, 0]], 'epoch');
        self::assertSame(['', 0, ''], $near->state());
        self::assertNull($near->copy('e::k'));
        $near->follow(new JournalSlice('epoch', 10, '', true));
        self::assertSame('epoch', $near->state()[0]);
        self::assertNull($near->copy('e::k'));
    }

    public function testValuesOfEveryShapeComeBack(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $entries = [
            'short' => new Entry("\0short", 0),
            'empty' => new Entry("\0", 0),
            'long' => new Entry("\0" . \str_repeat('long', 2000), 0),
            'tagged' => new Entry("\0v", 1, 0, 0, 0, ['t::a', 't::b']),
            'ends' => new Entry("\0v", 1, Clock::now() + 60000),
            'far away' => new Entry("\0v", 1, \PHP_INT_MAX),
        ];
        foreach ($entries as $key => $entry) {
            $near->put([["e::$key", $entry, 9, 10, 0]], 'epoch');
            self::assertEquals([$entry, 9], $near->copy("e::$key"), $key);
        }
        $near->putMarker('f:', 8, 10, 'epoch');
        self::assertSame(8, $near->marker('f:'));
        self::assertNull($near->marker('f:other'));
        $near->drop('e::short');
        self::assertNull($near->copy('e::short'));
    }

    /** Whoever writes into it: the truth answers, without a word. */
    public function testWhatIsNoCopyIsNone(): void
    {
        $options = ['dsn' => 'sqlite://' . $this->directory->path . '/cache', 'near' => 'apcu', 'prefix' => $this->name];
        Cache::open($options)->setMultiple(['list' => [1, 2], 'text' => 'text']);
        foreach (['', 'e', 'e1234567', \str_repeat('e', 12), 'e' . \str_repeat("\0", 8) . 'v', \str_repeat('s', 8), 7, [], [1], ['x', 'y'], false] as $garbage) {
            foreach (new \APCUIterator('/^' . $this->name . '.*e::(list|text)$/', \APC_ITER_KEY) as $key => $_) {
                \apcu_store((string) $key, $garbage);
            }
            $cache = Cache::open($options);
            self::assertSame([[1, 2], 'text'], [$cache->get('list'), $cache->get('text')], \serialize($garbage));
        }
    }

    public function testAStoppedHolderOfTheLockMakesItUnusableAndNothingElse(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $near->put([['e::k', self::entry('v'), 9, 10, 0]], 'epoch');
        $handle = FileLock::file($this->directory->file('lock'));
        self::assertIsResource($handle);
        \flock($handle, \LOCK_EX);
        $start = \hrtime(true);
        $near->put([['e::k', self::entry('newer'), 11, 11, 0]], 'epoch');
        self::assertNull($near->copy('e::k'), 'what could not be replaced goes');
        self::assertFalse($near->follow(new JournalSlice('epoch', 12, '', true)));
        self::assertLessThan(30.0, (\hrtime(true) - $start) / 1e9);
        self::assertSame(2, $near->stats()['errors']);
        \flock($handle, \LOCK_UN);
        self::assertTrue($near->follow(new JournalSlice('epoch', 12, '', true)));
    }

    public function testALockFileThatWasDeletedIsOpenedAnew(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        \unlink($this->directory->file('lock'));
        $handle = FileLock::file($this->directory->file('lock'));
        self::assertIsResource($handle);
        \flock($handle, \LOCK_EX);
        self::assertFalse($near->follow(new JournalSlice('epoch', 12, '', true)), 'all meet at the file that is there now');
        \flock($handle, \LOCK_UN);
        self::assertTrue($near->follow(new JournalSlice('epoch', 12, '', true)));
    }

    public function testWithoutADirectoryItTakesNothing(): void
    {
        $near = new ApcuNear($this->name, $this->directory->path . '/not/there/lock', 1 << 20);
        self::assertFalse($near->follow(new JournalSlice('epoch', 10, '', false)));
        $near->put([['e::k', self::entry('v'), 9, 10, 0]], 'epoch');
        self::assertNull($near->copy('e::k'));
    }

    private function near(): ApcuNear
    {
        return new ApcuNear($this->name, $this->directory->file('lock'), 1 << 20);
    }

    private static function entry(string $value): Entry
    {
        return new Entry($value, 1, Clock::now() + 60000);
    }
}
