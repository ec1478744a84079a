<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Store\Change;
use Larder\Store\Sqlite\ChangeLog;
use Larder\Store\Sqlite\SqliteStore;
use Larder\System\Failure;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/**
 * A change log that a killed process has left torn, or that another program has cut or written over: no record is found
 * inside what somebody stored, and no acknowledged change is lost unless the epoch ends.
 */
final class TornLogTest extends TestCase
{
    use Directory;
    use Forks;
    use Strict;

    protected const FORKS = true;
    private const A = 'aaaaaaaaaaaa';
    private const B = 'bbbbbbbbbbbb';

    /** Bytes of a log's header: what waits lies behind it. */
    private const HEADER = 16;

    protected function setUp(): void
    {
        self::appendInC(null);
    }

    protected function tearDown(): void
    {
        self::appendInC(null);
        $this->endChildren();
    }

    /** @return iterable<string, array{bool}> whether the extension appends */
    public static function appenders(): iterable
    {
        yield 'by PHP' => [false];
        if (\function_exists('Larder\append')) {
            yield 'by the extension' => [true];
        }
    }

    // Seen to fail: the record in the value was found by its mark, and applied.
    #[DataProvider('appenders')]
    public function testTornAnywhereNothingInAValuePassesForAChange(bool $inC): void
    {
        $this->tear($inC, 5);
    }

    #[DataProvider('appenders')]
    #[Group('long')]
    public function testTornAfterEachByteNothingInAValuePassesForAChange(bool $inC): void
    {
        $this->tear($inC, 1);
    }

    private function tear(bool $inC, int $step): void
    {
        self::appendInC($inC);
        $store = $this->store();
        self::put($store, 'gone', 'old');
        for ($cut = 1, $last = 1; $cut <= $last; $cut += $step) {
            self::put($store, 'gone', 'old');
            $store->append(new Change('before', "b$cut", self::A));
            $whole = $this->bytes();
            // The worst that a value may hold: a record of this very log.
            $store->append(new Change('admin', 'forged', self::B));
            $forged = \substr($this->bytes(), \strlen($whole));
            \file_put_contents($this->file(), $whole);
            $writer = $this->store();
            $writer->append(new Change('comment', "text $forged text", self::B));
            $torn = \substr($this->bytes(), \strlen($whole));
            // The last ones: written, and not noted as the end.
            $last = \strlen($torn);
            \file_put_contents($this->file(), $whole . \substr($torn, 0, $cut));

            $next = new Change('gone', null, self::A, kind: 'd');
            self::assertTrue($cut % 2 === 0 || $this->store()->append($next) || $this->store()->write([$next])[0]->done);
            $reader = $this->store();
            $reader->since('', 0, '');
            self::assertSame([null, null, "b$cut"], [self::get($reader, 'admin'), self::get($reader, 'comment'), self::get($reader, 'before')], "torn after $cut bytes");
            self::assertSame($cut % 2 === 0 ? 'old' : null, self::get($reader, 'gone'), "torn after $cut bytes");
            self::assertTrue((new ChangeLog($this->file()))->isEmpty());
            $store->settle(self::A);
        }
        self::assertGreaterThan(100, $last);
    }

    /** A process that is stopped while it appends keeps the lock: others read without it. */
    #[DataProvider('appenders')]
    public function testNothingInAValuePassesForAChangeWhileItIsAppended(bool $inC): void
    {
        self::appendInC($inC);
        $store = $this->store();
        $store->append(new Change('before', 'b', self::A));
        $whole = $this->bytes();
        $store->append(new Change('admin', 'forged', self::B));
        $forged = \substr($this->bytes(), \strlen($whole));
        \file_put_contents($this->file(), $whole);
        $this->store()->append(new Change('comment', "text $forged text", self::B));
        $torn = \substr($this->bytes(), \strlen($whole), -6);
        \file_put_contents($this->file(), $whole . $torn);
        $lock = \fopen($this->file(), 'r+');
        self::assertIsResource($lock);
        \flock($lock, \LOCK_EX);
        $reader = $this->store();
        $reader->since('', 0, '');
        self::assertSame(['b', null], [self::get($reader, 'before'), self::get($reader, 'admin')]);
        // It goes on.
        \fseek($lock, \strlen($whole));
        \fwrite($lock, \substr($torn, 0, -30));
        \ftruncate($lock, \strlen($whole) + 10);
        \flock($lock, \LOCK_UN);
        self::assertTrue($this->store()->append(new Change('after', 'a', self::A)));
        self::assertSame(['a', null], [self::get($reader, 'after'), self::get($reader, 'admin')]);
    }

    /** Seen to fail: the delete was lost, and the old value came back. */
    #[DataProvider('appenders')]
    public function testALogThatAnotherProgramHasCutEndsTheEpoch(bool $inC): void
    {
        self::appendInC($inC);
        foreach ([0, 1, 8, 15, self::HEADER, 17, 24, 50, 90, 107] as $left) {
            $store = $this->store();
            $running = $this->store();
            self::put($store, 'gone', 'old');
            $slice = $running->since('', 0, '');
            self::assertTrue($store->append(new Change('l', 'other', self::A)));
            self::assertTrue($store->append(new Change('gone', null, self::A, kind: 'd')));
            self::assertGreaterThan($left, \strlen($this->bytes()));
            \file_put_contents($this->file(), \substr($this->bytes(), 0, $left));
            // A log of a header and no more looks empty to whoever begins, until somebody appends.
            $other = $this->store();
            $left !== self::HEADER || $other->append(new Change('m', 'more', self::B)) || $other->write([new Change('m', 'more', self::B)]);
            foreach ([$this->store(), $running, $store] as $each) {
                self::assertNotSame($slice->epoch, $each->since($slice->epoch, $slice->end, $slice->token)->epoch, "cut to $left bytes");
                self::assertNull(self::get($each, 'gone'), "cut to $left bytes");
            }
            self::assertSame('new', [self::put($store, 'gone', 'new'), self::get($running, 'gone')][1]);
        }
        self::assertStringContainsString('change log', (string) \file_get_contents($this->directory . '/mishaps.txt'));
    }

    public function testALogThatAnotherProgramHasWrittenOverEndsTheEpoch(): void
    {
        $size = \PHP_INT_MAX;
        for ($at = 0; $at < $size; $at += 7) {
            $store = $this->store();
            self::put($store, 'gone', 'old');
            $epoch = $store->read(['gone'])->epoch;
            self::assertTrue($store->append(new Change('l', 'other', self::A)));
            self::assertTrue($store->append(new Change('gone', null, self::A, kind: 'd')));
            $bytes = $this->bytes();
            $size = \strlen($bytes);
            $bytes[$at] = \chr(\ord($bytes[$at]) ^ 0x20);
            \file_put_contents($this->file(), $at % 9 === 0 ? \str_repeat("\0", $size) : $bytes);
            $reader = $this->store();
            $reader->since('', 0, '');
            self::assertNull(self::get($reader, 'gone'), "byte $at");
            self::assertNotSame($epoch, $reader->read(['gone'])->epoch, "byte $at");
        }
    }

    /** Seen to fail: each later request read the log again, until somebody wrote. */
    public function testAReaderBeginsALogAnewThatItsWriterHadAppliedWhenItDied(): void
    {
        $store = $this->store();
        $store->append(new Change('k', 'one', self::A));
        $waiting = $this->bytes();
        $store->settle(self::A);
        \file_put_contents($this->file(), $waiting);
        $reader = $this->store();
        $slice = $reader->since('', 0, '');
        self::assertTrue((new ChangeLog($this->file()))->isEmpty());
        self::assertSame('one', self::get($reader, 'k'));
        self::assertSame([true, []], [$reader->since($slice->epoch, $slice->end, $slice->token)->complete, $reader->since($slice->epoch, $slice->end, $slice->token)->list]);
    }

    /** Seen to fail: what waited was left out, and the old value served. */
    public function testALogThatCannotBeOpenedIsAFailure(): void
    {
        $store = $this->store();
        self::put($store, 'gone', 'old');
        self::assertTrue($store->append(new Change('gone', null, self::A, kind: 'd')));
        $running = $this->store();
        \link($this->file(), $this->directory . '/second');
        try {
            $running->since('', 0, '');
            self::fail('nothing was said');
        } catch (Failure $failure) {
            self::assertStringContainsString('tail.', $failure->getMessage());
        }
        \unlink($this->directory . '/second');
        $running->since('', 0, '');
        self::assertNull(self::get($running, 'gone'));
    }

    #[DataProvider('appenders')]
    public function testADiskThatIsFullHalfWayTakesNothing(bool $inC): void
    {
        $process = Process::snippet(<<<'PHP'
            [, $directory, $inC] = $argv;
            Closure::bind(static fn() => Larder\Store\Sqlite\ChangeLog::$inC = $inC === '1', null, Larder\Store\Sqlite\ChangeLog::class)();
            $store = new Larder\Store\Sqlite\SqliteStore($directory, 8 << 20, 1.0);
            $store->append(new Larder\Store\Change('first', str_repeat('x', 9000), 'aaaaaaaaaaaa'));
            // A file gets no longer, and the signal that says so kills nobody.
            pcntl_signal(SIGXFSZ, SIG_IGN);
            posix_setrlimit(POSIX_RLIMIT_FSIZE, 12288, 12288);
            echo json_encode([
                $store->append(new Larder\Store\Change('second', str_repeat('y', 9000), 'aaaaaaaaaaaa')),
                $store->append(new Larder\Store\Change('third', 'z', 'aaaaaaaaaaaa')),
            ]), "\n";
            PHP, [$this->directory, $inC ? '1' : '']);
        self::put($this->store(), 'k', 'v');
        self::assertSame("[false,true]\n", $process->output(), $process->errors());
        $reader = $this->store();
        $reader->since('', 0, '');
        self::assertSame([9000, null, 'z'], [\strlen((string) self::get($reader, 'first')), self::get($reader, 'second'), self::get($reader, 'third')]);
    }

    #[DataProvider('appenders')]
    public function testKilledWritersForgeNothingAndLoseNothing(bool $inC): void
    {
        $this->kill($inC, 8);
    }

    #[DataProvider('appenders')]
    #[Group('long')]
    public function testManyKilledWritersForgeNothingAndLoseNothing(bool $inC): void
    {
        $this->kill($inC, 300);
    }

    /** Kills processes that append values of 16 kB, each full of records, between others that are counted. */
    private function kill(bool $inC, int $kills): void
    {
        self::appendInC($inC);
        $counter = $this->directory . '/count';
        \file_put_contents($counter, '0');
        $noted = static fn(): int => (int) \file_get_contents($counter);
        for ($kill = 0; $kill < $kills; $kill++) {
            $start = $noted();
            [$pid] = $this->fork(function () use ($counter, $start): void {
                $count = \fopen($counter, 'r+');
                \assert($count !== false);
                $store = $this->store();
                $store->since('', 0, '');
                $store->append(new Change('count', (string) $start, self::A));
                $whole = \strlen($this->bytes());
                $store->append(new Change('admin', 'forged', self::B));
                $forged = \substr($this->bytes(), $whole);
                $store->append(new Change('admin', null, self::B, kind: 'd'));
                $hostile = \substr(\str_repeat($forged, (int) (ChangeLog::LONGEST_BODY / \strlen($forged)) + 1), 0, ChangeLog::LONGEST_BODY);
                for ($n = $start + 1; ; $n++) {
                    $store->append(new Change('comment', $hostile, self::B));
                    if (!$store->append(new Change('count', (string) $n, self::A))) {
                        $store->write([new Change('count', (string) $n, self::A)]);
                    }
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

    /** @param ?bool $inC null: as it is found */
    private static function appendInC(?bool $inC): void
    {
        \Closure::bind(static function () use ($inC): void {
            self::$inC = $inC;
        }, null, ChangeLog::class)();
    }

    private function file(): string
    {
        return (\glob($this->directory . '/tail.*') ?: [''])[0];
    }

    private function bytes(): string
    {
        return (string) \file_get_contents($this->file());
    }

    private function store(): SqliteStore
    {
        return new SqliteStore($this->directory, 8 << 20, 1.0);
    }
}
