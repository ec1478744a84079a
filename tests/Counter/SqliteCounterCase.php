<?php

declare(strict_types=1);

namespace Larder\Tests\Counter;

use Larder\Counter;
use Larder\Counter\CounterFailure;
use Larder\Tests\Support\TemporaryDirectory;

/** Counters over SQLite, with what can happen to its file. */
abstract class SqliteCounterCase extends CounterContract
{
    protected TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    public function testADiskThatIsFullIsSaidAndWhatWasAddedStays(): void
    {
        \mkdir($path = $this->directory->path . '/counters', 0o700);
        if (\posix_geteuid() !== 0 || \exec('mount -t tmpfs -o size=128k,mode=0700 larder ' . \escapeshellarg($path) . ' 2>&1', $said, $status) === false || $status !== 0) {
            self::markTestSkipped('Needs root and the right to mount a tmpfs.');
        }
        try {
            $counter = $this->counter();
            $added = 0;
            $failures = 0;
            for ($end = \microtime(true) + 60; $failures < 3 && \microtime(true) < $end;) {
                try {
                    $added += $counter->add() > 0 ? 1 : 0;
                } catch (CounterFailure $failure) {
                    self::assertStringContainsString('the disk', $failure->getMessage());
                    $failures++;
                }
                if ($this instanceof CombiningCounterTest) {
                    // What else is there fills it.
                    \file_put_contents("$path/else", \str_repeat('x', 200_000));
                    \usleep(40_000);
                }
            }
            self::assertSame(3, $failures);
            \is_file("$path/else") && \unlink("$path/else");
            \exec('mount -o remount,size=8m ' . \escapeshellarg($path));
            self::assertSame($added, $this->counter()->value());
            self::assertSame($added + 1, $counter->add());
        } finally {
            unset($counter);
            \exec('umount -l ' . \escapeshellarg($path));
        }
    }

    public function testDamageIsSaidAndNeverCountedOn(): void
    {
        $counter = $this->counter();
        for ($i = 0; $i < 300; $i++) {
            Counter::open('sqlite://' . $this->directory->path . '/counters', "counter $i")->add($i);
        }
        unset($counter);
        $file = $this->directory->path . '/counters/counters.db';
        (new \PDO("sqlite:$file"))->exec('PRAGMA wal_checkpoint(TRUNCATE)');
        $bytes = (string) \file_get_contents($file);
        for ($page = 1; $page < \strlen($bytes) / 4096; $page++) {
            $bytes = \substr_replace($bytes, \str_repeat("\xa5", 200), $page * 4096, 200);
        }
        \file_put_contents($file, $bytes);
        $this->expectException(CounterFailure::class);
        $this->expectExceptionMessage('the database is damaged');
        Counter::open('sqlite://' . $this->directory->path . '/counters', 'counter 7')->add();
    }

    public function testNobodyElseMayReadIt(): void
    {
        $this->counter()->add();
        $mode = static fn(string $path): int => \fileperms($path) & 0o777;
        self::assertSame(0o700, $mode($this->directory->path . '/counters'));
        self::assertSame(0o600, $mode($this->directory->path . '/counters/counters.db'));
    }
}
