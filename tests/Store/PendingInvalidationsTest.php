<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\PendingInvalidations;
use Larder\System\AppendLog;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** The file of invalidations that wait for the store: nothing that went in is ever lost. */
final class PendingInvalidationsTest extends TestCase
{
    use Forks;

    protected const FORKS = true;

    private const SIZE = 1_048_576;

    private TemporaryDirectory $directory;
    private string $file;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        $this->file = $this->directory->file('kept');
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
        $this->endChildren();
    }

    public function testItIsPreparedWholeAndPrivate(): void
    {
        $kept = new PendingInvalidations($this->file);
        self::assertFalse($kept->pending());
        self::assertSame(self::SIZE, \filesize($this->file));
        self::assertSame('600', \decoct((int) \fileperms($this->file) & 0o777));
        self::assertSame(['.', '..', 'kept', 'kept.gate'], \scandir($this->directory->path));
        self::assertFalse((new PendingInvalidations($this->file))->pending());
    }

    public function testWhatIsKeptIsAppliedOnceByWhoeverComes(): void
    {
        $old = \umask(0);
        try {
            $keys = ['e::k', "e:a%2Fb:\0\n\xFF " . \str_repeat('x', 300), 'e::12', 'f:', 'f:a', 't::7'];
            self::assertTrue((new PendingInvalidations($this->file))->keep([$keys[0], $keys[1]]));
            self::assertTrue((new PendingInvalidations($this->file))->keep(\array_slice($keys, 2)));
            self::assertTrue((new PendingInvalidations($this->file))->pending());
            self::assertSame($keys, self::applied(new PendingInvalidations($this->file)));
            self::assertFalse((new PendingInvalidations($this->file))->pending());
            self::assertSame([], self::applied(new PendingInvalidations($this->file)));
            foreach (\glob($this->directory->path . '/*') ?: [] as $file) {
                self::assertSame('600', \decoct((int) \fileperms($file) & 0o777), $file);
            }
        } finally {
            \umask($old);
        }
    }

    public function testAKeyTwiceIsAppliedOnce(): void
    {
        $kept = new PendingInvalidations($this->file);
        $kept->keep(['e::k', 'e::l']);
        $kept->keep(['e::k']);
        self::assertSame(['e::k', 'e::l'], self::applied($kept));
    }

    /** A counter, or a session's key, is changed many times in an outage of a minute. */
    public function testAKeyThatIsChangedOftenTakesRoomOnce(): void
    {
        $keys = ["e::hot\n\\n", 'e::hot', 'f:g', "e::\\", "e::\\\n"];
        $kept = new PendingInvalidations($this->file);
        for ($i = 0; $i < 30_000; $i++) {
            self::assertTrue($kept->keep([$keys[$i % 5]]));
        }
        $many = \array_map(static fn(int $i): string => "e::$i", \range(1, 20));
        for ($i = 0; $i < 3000; $i++) {
            self::assertTrue((new PendingInvalidations($this->file))->keep($many));
        }
        self::assertSame(self::SIZE, \filesize($this->file), 'it does not grow');
        self::assertSame([...$keys, ...$many], self::applied(new PendingInvalidations($this->file)));
    }

    public function testAKeyThatStandsInAnotherIsNotTakenForIt(): void
    {
        $kept = new PendingInvalidations($this->file);
        $keys = ["e::a\ne::b\ne::c", 'e::bc', "x\\ne::d\\n", 'e::b', "e::d", 'e::d\\'];
        $keys[2] = 'e::' . $keys[2];
        foreach ($keys as $key) {
            self::assertTrue($kept->keep([$key]));
        }
        self::assertSame($keys, self::applied($kept));
    }

    public function testAKeyChangedAgainWhileItIsAppliedIsAppliedAgain(): void
    {
        $kept = new PendingInvalidations($this->file);
        $kept->keep(['e::k', 'e::l']);
        $rounds = [];
        $applied = $kept->apply(function (array $keys) use (&$rounds): void {
            $keys = \array_keys($keys);
            $rounds[] = $keys;
            if (\count($rounds) <= 2) {
                // Twice in each round, and once is enough.
                (new PendingInvalidations($this->file))->keep(['e::k']);
                (new PendingInvalidations($this->file))->keep(['e::k']);
            }
        });
        self::assertTrue($applied);
        self::assertSame([['e::k', 'e::l'], ['e::k'], ['e::k']], $rounds);
        // Those who try in vain leave nothing by which a key would need room at each try.
        for ($i = 0; $i < 20; $i++) {
            $kept->keep(['e::m']);
            try {
                $kept->apply(static fn(): never => throw new \DomainException('no'));
                self::fail('The exception was swallowed.');
            } catch (\DomainException) {
            }
        }
        self::assertSame(['e::m'], self::applied($kept));
    }

    /** A store that is slow after an outage would else hold up the first request by as long as it takes for all that was kept. */
    public function testAProcessAppliesForAsLongAsACallMayTakeAndTheNextOneGoesOnThere(): void
    {
        $file = $this->file;
        $kept = static fn(): PendingInvalidations => new PendingInvalidations($file, timeout: 0.05);
        $keys = \array_map(static fn(int $i): string => "e::$i", \range(1, 2_000));
        self::assertTrue($kept()->keep(\array_slice($keys, 0, 1_200)));
        self::assertTrue($kept()->keep(\array_slice($keys, 1_200), 'writer'));
        $applied = $portions = [];
        for ($process = 0; $process < 20 && $kept()->pending(); $process++) {
            $portions[$process] = 0;
            $isAll = $kept()->apply(function (array $some) use ($kept, &$applied, &$portions, $process): void {
                // Of a process that adds meanwhile.
                $portions[$process]++ === 0 && $process < 2 && $kept()->keep(["e::added $process"]);
                foreach ($some as $key => $writers) {
                    $applied[$key] = $writers;
                }
                \usleep(60_000);
            });
            self::assertSame(!$kept()->pending(), $isAll);
        }
        self::assertSame([...$keys, 'e::added 0', 'e::added 1'], \array_keys($applied));
        self::assertSame([[], ['writer'], ['writer'], []], [$applied['e::1200'], $applied['e::1201'], $applied['e::2000'], $applied['e::added 0']]);
        self::assertSame(\array_fill(0, 6, 1), $portions);
    }

    /** As where the connection breaks after some replies, each time. */
    #[TestWith([true], 'in a file')]
    #[TestWith([false], "in the process's memory")]
    public function testWhatIsAppliedBeforeAFailureIsNotAppliedAgain(bool $isFile): void
    {
        $kept = new PendingInvalidations($isFile ? $this->file : null);
        $keys = \array_map(static fn(int $i): string => "e::$i", \range(1, 2_000));
        $kept->keep($keys);
        $applied = [];
        for ($process = 0; $process < 20 && $kept->pending(); $process++) {
            $portions = 0;
            try {
                $kept->apply(static function (array $some) use (&$applied, &$portions): void {
                    if (++$portions === 3) {
                        throw new \DomainException('no');
                    }
                    $applied = [...$applied, ...\array_keys($some)];
                });
            } catch (\DomainException) {
            }
        }
        self::assertSame($keys, $applied);
        self::assertSame(3, $process);
    }

    public function testWhatAProcessKeepsInItsMemoryIsAppliedInPartsToo(): void
    {
        $kept = new PendingInvalidations(null, timeout: 0.05);
        $keys = \array_map(static fn(int $i): string => "e::$i", \range(1, 1_200));
        $kept->keep($keys);
        $applied = [];
        $apply = function (array $some) use (&$applied): void {
            $applied = [...$applied, ...\array_keys($some)];
            \usleep(60_000);
        };
        self::assertSame([false, false, true], [$kept->apply($apply), $kept->apply($apply), $kept->apply($apply)]);
        self::assertSame($keys, $applied);
        self::assertFalse($kept->pending());
    }

    public function testAnOutageOfThousandsOfKeysFitsAndIsToldInPortions(): void
    {
        $keys = \array_map(static fn(int $i): string => "e:posts:option:$i", \range(1, 20_000));
        $kept = new PendingInvalidations($this->file);
        foreach (\array_chunk($keys, 2000) as $some) {
            self::assertTrue($kept->keep($some));
        }
        $largest = 0;
        $told = [];
        self::assertTrue($kept->apply(static function (array $keys) use (&$told, &$largest): void {
            $keys = \array_keys($keys);
            $largest = \max($largest, \count($keys));
            \array_push($told, ...$keys);
        }));
        self::assertSame($keys, $told);
        self::assertLessThanOrEqual(500, $largest);
    }

    /** On a busy machine the holder of the lock may not run for a while. */
    public function testALockThatIsHeldForAMomentIsWaitedFor(): void
    {
        (new PendingInvalidations($this->file))->pending();
        [$pid] = $this->fork(function (): void {
            $handle = \fopen($this->file, 'c+');
            \assert($handle !== false);
            \flock($handle, \LOCK_EX);
            \touch($this->directory->file('held'));
            \usleep(200_000);
            \posix_kill(\posix_getpid(), \SIGKILL);
        });
        while (!\file_exists($this->directory->file('held'))) {
            \usleep(1000);
        }
        $kept = new PendingInvalidations($this->file, $this->directory->path . '/spare/lost');
        self::assertTrue($kept->keep(['e::k']));
        \pcntl_waitpid($pid, $status);
        self::assertFileDoesNotExist($this->directory->path . '/spare/lost', 'nothing was lost');
        self::assertSame(['e::k'], self::applied($kept));
    }

    public function testWhatCannotBeAppliedStays(): void
    {
        $kept = new PendingInvalidations($this->file);
        $kept->keep(['e::k']);
        try {
            $kept->apply(static fn(): never => throw new \DomainException('no'));
            self::fail('The exception was swallowed.');
        } catch (\DomainException) {
        }
        self::assertTrue((new PendingInvalidations($this->file))->pending());
        self::assertSame(['e::k'], self::applied(new PendingInvalidations($this->file)));
    }

    public function testWhatIsKeptWhileTheRestIsAppliedIsNextAndWaitsForNobody(): void
    {
        $kept = new PendingInvalidations($this->file);
        $kept->keep(['e::first']);
        $rounds = [];
        $applied = $kept->apply(function (array $keys) use (&$rounds): void {
            $keys = \array_keys($keys);
            $rounds[] = $keys;
            if (\count($rounds) === 1) {
                self::assertTrue((new PendingInvalidations($this->file))->keep(['e::second', 'e::first']), 'or it would wait for this very process');
                self::assertFalse((new PendingInvalidations($this->file))->apply(static fn() => self::fail('Two at once.')));
            }
        });
        self::assertTrue($applied);
        // The first one again: its second invalidation is newer than what was just applied.
        self::assertSame([['e::first'], ['e::second', 'e::first']], $rounds);
        self::assertFalse($kept->pending());
    }

    public function testMoreThanTheFileHoldsFlushesEverything(): void
    {
        $kept = new PendingInvalidations($this->file);
        for ($i = 0; $i < 10; $i++) {
            self::assertTrue($kept->keep(["e::$i" . \str_repeat('x', 110_000)]));
        }
        self::assertTrue($kept->keep(['e::after']));
        self::assertSame(self::SIZE, \filesize($this->file), 'it does not grow');
        self::assertSame(['f:', 'e::after'], self::applied(new PendingInvalidations($this->file)));
        self::assertFalse($kept->pending());
        self::assertTrue($kept->keep(['e::next']));
        self::assertSame(['e::next'], self::applied($kept));
    }

    public function testAllThatFitsIsTold(): void
    {
        $kept = new PendingInvalidations($this->file);
        // Exactly full.
        $keys = ['e::' . \str_repeat('a', self::SIZE - AppendLog::HEADER - 2 * AppendLog::AROUND - 7), 'e::b'];
        self::assertTrue($kept->keep($keys));
        self::assertSame($keys, self::applied($kept));
        self::assertTrue($kept->keep([$keys[0] . 'a', $keys[1]]));
        self::assertSame(['f:'], self::applied($kept));
    }

    /** @return iterable<string, array{\Closure(string): string}> from the file's bytes to what is left of them */
    public static function damages(): iterable
    {
        yield 'emptied' => [static fn(): string => ''];
        yield 'cut in the generation' => [static fn(string $bytes): string => \substr($bytes, 0, 2)];
        yield 'cut in the end' => [static fn(string $bytes): string => \substr($bytes, 0, 12)];
        yield 'cut before the keys' => [static fn(string $bytes): string => \substr($bytes, 0, AppendLog::HEADER)];
        yield 'cut in a key' => [static fn(string $bytes): string => \substr($bytes, 0, 30)];
        yield 'noise' => [static fn(): string => \str_repeat("\x93\x01\xA7", 349_525) . "\x93"];
        yield 'of an earlier release' => [static fn(): string => \str_pad(\pack('NN', 6, 0) . "LrdK\ne::m\n", self::SIZE, "\0")];
        yield 'zeros' => [static fn(string $bytes): string => \str_repeat("\0", \strlen($bytes))];
        yield 'a hole' => [static fn(string $bytes): string => \str_repeat("\0", 4096) . \substr($bytes, 4096)];
        yield 'another generation' => [static fn(string $bytes): string => \substr_replace($bytes, $bytes[3] ^ "\1", 3, 1)];
        yield 'a length overwritten' => [static fn(string $bytes): string => \substr_replace($bytes, "\1", 17, 1)];
        yield 'a checksum overwritten' => [static fn(string $bytes): string => \substr_replace($bytes, "\0\0\0\0", 20, 4)];
        yield 'a key overwritten' => [static fn(string $bytes): string => \substr_replace($bytes, "\0\0\0\0\0", 24, 5)];
        yield 'an end within a record' => [static fn(string $bytes): string => \substr_replace($bytes, \pack('J', 33), 8, 8)];
        yield 'an end behind the records' => [static fn(string $bytes): string => \substr_replace($bytes, \pack('J', 60000), 8, 8)];
        yield 'an end behind the file' => [static fn(string $bytes): string => \substr_replace($bytes, \pack('J', 2_000_000), 8, 8)];
        yield 'other records' => [static fn(): string => AppendLog::bytes('e::one', 'nonsense')];
    }

    #[DataProvider('damages')]
    public function testADamagedFileFlushesEverything(\Closure $damage): void
    {
        $kept = new PendingInvalidations($this->file);
        $kept->keep(['e::one', 'e::two']);
        \file_put_contents($this->file, $damage((string) \file_get_contents($this->file)));
        self::assertTrue((new PendingInvalidations($this->file))->pending());
        self::assertContains('f:', self::applied(new PendingInvalidations($this->file)));
        self::assertFalse($kept->pending());
        $kept->keep(['e::next']);
        self::assertSame(['e::next'], self::applied(new PendingInvalidations($this->file)));
    }

    public function testAKeeperKilledBeforeItReturnedLeavesNoHarm(): void
    {
        $kept = new PendingInvalidations($this->file);
        $kept->pending();
        // Killed after the keys and before the new end.
        $handle = \fopen($this->file, 'r+');
        self::assertIsResource($handle);
        \fseek($handle, AppendLog::HEADER);
        \fwrite($handle, \pack('NN', 4, 0) . 'e::x');
        \fclose($handle);
        self::assertTrue($kept->pending());
        self::assertSame([], self::applied($kept));
        self::assertFalse($kept->pending());
    }

    /** Its file is of an earlier release, or was damaged before it was reset: nothing was in it. */
    public function testWhatNobodyWaitedForIsNoReasonToFlush(): void
    {
        \file_put_contents($this->file, \str_repeat("\0", self::SIZE));
        \touch($this->file, 1);
        $kept = new PendingInvalidations($this->file);
        self::assertFalse($kept->pending());
        self::assertTrue($kept->keep(['e::k']));
        self::assertSame(['e::k'], self::applied($kept));
    }

    /** Seen to fail: they stayed for ever, a megabyte each. */
    public function testFilesOfCachesThatNobodyUsesAreRemoved(): void
    {
        $files = [];
        $today = \intdiv(\time(), 86_400);
        foreach (['own' => $today - 8, 'used' => $today - 8, 'unused' => $today - 61, 'unused-but-waiting' => $today - 61, 'old-release' => 1] as $name => $day) {
            $files[$name] = $this->directory->file("kept-$name");
            (new PendingInvalidations($files[$name]))->keep($name === 'unused-but-waiting' ? ['e::k'] : []);
            $name === 'unused-but-waiting' || \touch($files[$name], $day);
        }
        $other = $this->directory->file('other-unused');
        \touch($other, 1);
        $held = \fopen($files['old-release'], 'r');
        self::assertIsResource($held);
        \flock($held, \LOCK_EX);
        $kept = new PendingInvalidations($files['own']);
        self::assertFalse($kept->pending());
        self::assertSame(['own', 'used', 'unused-but-waiting', 'old-release'], \array_keys(\array_filter($files, \file_exists(...))));
        self::assertFileExists($other);
        \clearstatcache();
        self::assertSame($today, \filemtime($files['own']));
        // Whoever had it open when it was removed notices.
        \fclose($held);
        \touch($files['own'], $today - 8);
        self::assertFalse($kept->pending());
        self::assertFileDoesNotExist($files['old-release']);
        self::assertTrue((new PendingInvalidations($files['old-release']))->keep(['e::l']));
        self::assertSame(['e::l'], self::applied(new PendingInvalidations($files['old-release'])));
    }

    public function testAFileThatIsRemovedBeforeItsLockIsHadIsMadeAgain(): void
    {
        (new PendingInvalidations($this->file))->pending();
        [$pid] = $this->fork(function (): void {
            while (!\file_exists($this->directory->file('locked'))) {
                \usleep(1000);
            }
            (new PendingInvalidations($this->file, null, 20.0))->keep(['e::k']);
            \posix_kill(\posix_getpid(), \SIGKILL);
        });
        $log = AppendLog::open($this->file);
        self::assertTrue($log?->lock(0.0));
        \touch($this->directory->file('locked'));
        // Until the child has the file open that is about to go.
        while (!\in_array($this->file, \array_map(\readlink(...), \glob("/proc/$pid/fd/*") ?: []), true)) {
            \usleep(1000);
        }
        \unlink($this->file);
        $log = null;
        \pcntl_waitpid($pid, $status);
        self::assertSame(['e::k'], self::applied(new PendingInvalidations($this->file)));
    }

    public function testWithoutAFileTheProcessKeepsThemItself(): void
    {
        foreach ([null, $this->directory->path . '/not/there/kept'] as $file) {
            $kept = new PendingInvalidations($file);
            self::assertFalse($kept->pending());
            self::assertFalse($kept->keep(['e::12', 'e::k']));
            self::assertTrue($kept->pending());
            $applied = [];
            $kept->apply(static function (array $keys) use (&$applied): void {
                $keys = \array_keys($keys);
                $applied = $keys;
            });
            self::assertSame(['e::12', 'e::k'], $applied);
            self::assertFalse($kept->pending());
        }
    }

    public function testWhatOnlyThisProcessHadGoesIntoTheFileWhenThatIsThereAgain(): void
    {
        $kept = new PendingInvalidations($this->directory->path . '/later/kept');
        self::assertFalse($kept->keep(['e::first']));
        \mkdir($this->directory->path . '/later', 0o700);
        self::assertTrue($kept->keep(['e::second']));
        self::assertSame(['e::first', 'e::second'], self::applied(new PendingInvalidations($this->directory->path . '/later/kept')));
    }

    public function testADirectoryInItsPlaceIsNoFile(): void
    {
        \mkdir($this->file);
        $kept = new PendingInvalidations($this->file);
        self::assertFalse($kept->pending());
        self::assertFalse($kept->keep(['e::k']));
        self::assertSame(['e::k'], self::applied($kept));
    }

    public function testAFileThatIsGoneIsNoReasonToWait(): void
    {
        $kept = new PendingInvalidations($this->directory->path . '/state/kept');
        self::assertFalse($kept->keep(['e::k']));
        self::assertSame(['e::k'], self::applied($kept));
        \mkdir($this->directory->path . '/state', 0o700);
        self::assertTrue($kept->keep(['e::l']));
        \unlink($this->directory->path . '/state/kept');
        self::assertSame([], self::applied($kept));
    }

    public function testAStoppedHolderOfTheLocksStopsNobody(): void
    {
        (new PendingInvalidations($this->file))->keep(['e::k']);
        foreach (['', '.gate'] as $lock) {
            $kept = new PendingInvalidations($this->file);
            [$pid] = $this->fork(function () use ($lock): void {
                $handle = \fopen($this->file . $lock, 'c+');
                \assert($handle !== false);
                \flock($handle, \LOCK_EX);
                \touch($this->directory->file('held' . $lock));
                \posix_kill(\posix_getpid(), \SIGSTOP);
            });
            while (!\file_exists($this->directory->file('held' . $lock))) {
                \usleep(1000);
            }
            $start = \hrtime(true);
            self::assertFalse($kept->apply(static fn() => self::fail('Somebody else is at it.')));
            self::assertSame($lock === '.gate', $kept->keep(['e::l']));
            self::assertLessThan(30.0, (\hrtime(true) - $start) / 1e9);
            \posix_kill($pid, \SIGKILL);
            \pcntl_waitpid($pid, $status);
        }
        self::assertSame(['e::k', 'e::l'], self::applied(new PendingInvalidations($this->file)));
    }

    public function testManyKeepAndApplyAtOnceAndNothingIsLost(): void
    {
        $applied = $this->directory->file('applied');
        $this->inProcesses(6, function (int $i) use ($applied): void {
            $kept = new PendingInvalidations($this->file);
            for ($n = 0; $n < 60; $n++) {
                if ($i < 4) {
                    while (!$kept->keep(["e::$i-$n"])) {
                    }
                } else {
                    \usleep(500);
                    $kept->apply(static function (array $keys) use ($applied): void {
                        $keys = \array_keys($keys);
                        \file_put_contents($applied, \implode("\n", $keys) . "\n", \FILE_APPEND);
                        \usleep(300);
                    });
                }
            }
        });
        \file_put_contents($applied, \implode("\n", self::applied(new PendingInvalidations($this->file))), \FILE_APPEND);
        $keys = \array_unique((array) \file($applied, \FILE_IGNORE_NEW_LINES | \FILE_SKIP_EMPTY_LINES));
        $expected = [];
        for ($i = 0; $i < 4; $i++) {
            for ($n = 0; $n < 60; $n++) {
                $expected[] = "e::$i-$n";
            }
        }
        self::assertSame([], \array_diff($expected, $keys));
        self::assertSame([], \array_diff($keys, $expected));
    }

    /** @return list<string> what apply() handed over, all rounds together */
    private static function applied(PendingInvalidations $kept): array
    {
        $rounds = [];
        self::assertTrue($kept->apply(static function (array $keys) use (&$rounds): void {
            $keys = \array_keys($keys);
            $rounds[] = $keys;
        }));

        return \array_merge(...$rounds);
    }

    /** Seen to fail: the flag was removed, and what had changed after the flush was in nobody's memory but its process's. */
    public function testAFlagThatIsPutAgainWhileEverythingIsFlushedStays(): void
    {
        $spare = \dirname($this->file) . '/spare/lost';
        (new PendingInvalidations(null, $spare))->keep(['e::k']);
        $flushes = 0;
        $done = (new PendingInvalidations($this->file, $spare))->apply(static function (array $keys) use (&$flushes, $spare): void {
            $keys = \array_keys($keys);
            self::assertSame(['f:'], $keys);
            if (++$flushes < 3) {
                self::assertTrue((new PendingInvalidations(null, $spare))->keep(['e::l']));
            }
        });
        self::assertSame([true, 3], [$done, $flushes]);
        self::assertFileDoesNotExist($spare);
    }

    /** Seen to fail: nobody kept what such a process could not record. */
    public function testAProcessThatCanOpenNoMoreFilesPutsTheFlag(): void
    {
        $spare = \dirname($this->file) . '/spare/lost';
        $keep = function () use ($spare): void {
            $process = Process::snippet(
                'posix_setrlimit(POSIX_RLIMIT_NOFILE, 40, 40); set_error_handler(static fn() => true);'
                    . ' [, $file, $spare] = $argv; (new Larder\Store\PendingInvalidations($file, $spare))->keep(["e::warm"]); (new Larder\Store\PendingInvalidations(null, $spare . "-other"))->keep(["e::warm"]);'
                    . ' while (($files[] = fopen("/dev/null", "r")) !== false);'
                    . ' echo json_encode((new Larder\Store\PendingInvalidations($file, $spare))->keep(["e::k"]));',
                [$this->file, $spare],
            );
            self::assertSame('true', $process->output(), $process->errors());
        };
        $keep();
        $flushes = 0;
        $kept = new PendingInvalidations($this->file, $spare);
        self::assertTrue($kept->pending());
        self::assertTrue($kept->apply(static function (array $keys) use (&$flushes, $keep): void {
            if (\array_keys($keys) === ['f:'] && ++$flushes < 3) {
                $keep();
            }
        }));
        self::assertSame(3, $flushes);
        self::assertFileDoesNotExist($spare);
        self::assertFalse($kept->pending());
    }

    /** Seen to fail: the second flush took away what others had stored since the first. A counter began again. */
    public function testForOneFlagOneProcessFlushes(): void
    {
        $spare = \dirname($this->file) . '/spare/lost';
        (new PendingInvalidations(null, $spare))->keep(['e::k']);
        $second = new PendingInvalidations($this->file, $spare);
        $flushes = 0;
        $done = (new PendingInvalidations($this->file, $spare))->apply(static function () use (&$flushes, $second): void {
            $flushes++;
            self::assertFalse($second->apply(static fn() => self::fail('Two at once.')));
        });
        self::assertSame([true, 1], [$done, $flushes]);
        self::assertFileDoesNotExist($spare);
        self::assertTrue($second->apply(static fn() => self::fail('It has been flushed.')));
    }

    /** Seen to fail: a keeper that came before the file was ready made an empty one, which says that everything must be flushed. */
    public function testAFileThatAnotherProcessIsPreparingIsWaitedFor(): void
    {
        [$pid] = $this->fork(function (): void {
            $handle = \fopen($this->file . '.gate', 'c+');
            \assert($handle !== false);
            \flock($handle, \LOCK_EX);
            \touch($this->directory->file('held'));
            // Longer than whoever only begins a request waits for it.
            \usleep(80_000);
            \flock($handle, \LOCK_UN);
            \posix_kill(\posix_getpid(), \SIGKILL);
        });
        while (!\file_exists($this->directory->file('held'))) {
            \usleep(1000);
        }
        $kept = new PendingInvalidations($this->file);
        self::assertTrue($kept->keep(['e::k']));
        \pcntl_waitpid($pid, $status);
        self::assertSame(['e::k'], self::applied($kept));
    }

    /** Seen to fail: they were forgotten with those that had been applied. */
    public function testWhatComesWhileAProcessAppliesItsOwnIsKept(): void
    {
        $kept = new PendingInvalidations(null);
        $kept->keep(['e::k']);
        $kept->apply(static function (array $keys) use ($kept): void {
            $keys = \array_keys($keys);
            $keys === ['e::k'] && $kept->keep(['e::l']);
        });
        self::assertTrue($kept->pending());
        self::assertSame(['e::l'], self::applied($kept));
    }

    public function testWhereNoFileCanBeWrittenAFlagSaysThatSomethingWasLost(): void
    {
        $spare = \dirname($this->file) . '/spare/lost';
        $kept = new PendingInvalidations(null, $spare);
        self::assertFalse($kept->pending());
        self::assertTrue($kept->keep(['e::k']));
        self::assertSame(0o700, \fileperms(\dirname($spare)) & 0o777);
        // Another process, once there is a place again.
        $other = new PendingInvalidations($this->file, $spare);
        self::assertTrue($other->pending());
        self::assertSame(['f:'], self::applied($other));
        self::assertFalse($other->pending());
        self::assertFalse((new PendingInvalidations($this->file, $spare))->pending());
    }
}
