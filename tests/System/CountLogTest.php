<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\System\CountLog;
use Larder\System\Failure;
use Larder\System\Quiet;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(CountLog::class)]
final class CountLogTest extends TestCase
{
    private TemporaryDirectory $directory;
    private string $path;
    private CountLog $log;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        $this->path = $this->directory->file('counts');
        $this->log = new CountLog($this->path);
    }

    public function testItAddsUp(): void
    {
        self::assertSame([], $this->log->read());

        self::assertSame(['a|' => 1, 'b|x' => 2], $this->log->add(['a|' => 1, 'b|x' => 2]));
        self::assertSame(['b|x' => 40], (new CountLog($this->path))->add(['b|x' => 40]));

        self::assertSame(['a|' => 1, 'b|x' => 42], $this->log->read());
        self::assertSame(0o100600, \fileperms($this->path));
    }

    public function testItIsSummedUpBeforeItGrowsLong(): void
    {
        $most = 0;
        for ($i = 0; $i < 5000; $i++) {
            $this->log->add(['a|' => 1, 'b|' . $i % 7 => 2]);
            \clearstatcache();
            $most = \max($most, \filesize($this->path));
        }

        $counts = $this->log->read();
        self::assertSame(5000, $counts['a|']);
        self::assertSame(10_000, \array_sum($counts) - $counts['a|']);
        self::assertLessThan(70_000, $most);
        self::assertSame(['counts', 'counts-lock', 'counts-sums'], $this->files());
    }

    public function testALineThatAKilledProcessLeftUnfinishedSpoilsNoOther(): void
    {
        $this->log->add(['a|' => 1]);
        \file_put_contents($this->path, "\n0123456789abcdef {\"a|\":50", \FILE_APPEND);
        $this->log->add(['a|' => 2]);

        self::assertSame(['a|' => 3], $this->log->read());
    }

    // Seen to fail: a name that is a number, which PHP's arrays do not keep as text.
    public function testADamagedLineWithNamesThatAreNoneIsLeftOut(): void
    {
        \file_put_contents($this->path, "\n0123456789abcdef {\"0\":5,\"b\":7}\n\n0123456789abcdef {\"a|\":1}\n");
        \file_put_contents($this->path . '-sums', '["x",0,{"3":4,"a|":10}]');

        self::assertSame(['a|' => 11], $this->log->read());
    }

    public function testOnlyTheFirstNamesAreKeptApart(): void
    {
        for ($i = 0; $i < 300; $i++) {
            $this->log->add(["gets|hit|group$i" => 1, 'calls|' => 1]);
        }
        for ($again = 0; $again < 30; $again++) {
            $this->log->add(\array_fill_keys(\array_map(static fn(int $i): string => "gets|hit|group$i", \range(0, 299)), 1));
        }

        $counts = $this->log->read();
        self::assertSame(300, $counts['calls|']);
        self::assertSame(300 * 31, \array_sum($counts) - 300, 'nothing is lost');
        self::assertSame(31, $counts['gets|hit|group0']);
        self::assertGreaterThan(1000, $counts['gets|hit|' . CountLog::OTHERS]);
        self::assertLessThanOrEqual(CountLog::MOST + 2, \count($counts));
        self::assertSame($counts, $this->log->read(), 'the same ones each time');
    }

    public function testAnEndlessNameCountsUnderTheOthers(): void
    {
        $this->log->add(['gets|hit|' . \str_repeat('x', 100_000) => 3, 'gets|hit|' . \str_repeat('y', 100_000) => 4]);

        self::assertSame(['gets|hit|' . CountLog::OTHERS => 7], $this->log->read());
        self::assertLessThan(4000, \filesize($this->path));
    }

    /** At each step of summing up the summer may die: what it leaves is counted once. */
    public function testADeadSummersWorkIsDoneOnce(): void
    {
        $this->log->add(['a|' => 1]);
        // It died before it had read anything.
        \rename($this->path, $this->path . '-old');
        $this->log->add(['a|' => 10]);
        self::assertSame(['a|' => 11], $this->log->read());
        self::assertSame(['counts', 'counts-lock', 'counts-sums'], $this->files());

        // It died when it had the sums, and not removed the file; and a writer that had opened the file appends to it.
        $this->log->add(['a|' => 100]);
        $lines = (string) \file_get_contents($this->path);
        \rename($this->path, $this->path . '-old');
        self::assertSame(['a|' => 111], $this->log->read());
        \file_put_contents($this->path . '-old', $lines . "\n0123456789abcdef {\"a|\":1000}\n");
        \chmod($this->path . '-old', 0o600);

        self::assertSame(['a|' => 1111], $this->log->read());
        self::assertSame(['a|' => 1111], $this->log->read());
    }

    public function testAWriterThatStopsInItsLineHoldsUpNobody(): void
    {
        $this->log->add(['a|' => 1]);
        $file = \fopen($this->path, 'a');
        self::assertNotFalse($file);
        \flock($file, \LOCK_SH);
        for ($i = 0; $i < 3000; $i++) {
            self::assertSame(['a|' => 1], $this->log->add(['a|' => 1]));
        }
        self::assertSame(3001, $this->log->read()['a|']);
        self::assertFileExists($this->path . '-old');

        \fwrite($file, "\n0123456789abcdef {\"a|\":5}\n");
        \fclose($file);
        self::assertSame(3006, $this->log->read()['a|']);
        self::assertFileDoesNotExist($this->path . '-old');
    }

    public function testAWriterThatHasOpenedAFileWhichIsThenSummedUpWritesIntoTheNext(): void
    {
        $this->log->add(['a|' => 1]);
        $trace = $this->directory->file('trace');
        $writer = new Process(['strace', '-f', '-o', $trace, '-e', 'trace=flock', '-e', 'inject=flock:delay_enter=3000000:when=1', \PHP_BINARY, '-r',
            'require ' . \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true) . '; exit((new Larder\System\CountLog($argv[1]))->add(["a|" => 10]) ? 0 : 1);', '--', $this->path]);
        Wait::until(function () use ($writer): bool {
            // Each time anew: strace begins with a child of its own, to try what the kernel can.
            $program = (int) \file_get_contents("/proc/$writer->pid/task/$writer->pid/children");

            return \in_array($this->path, Quiet::call(static fn(): array => \array_map(\readlink(...), \glob("/proc/$program/fd/*") ?: [])), true);
        }, 'the writer to open the file');
        \rename($this->path, $this->path . '-old');
        self::assertSame(['a|' => 1], $this->log->read());
        self::assertFileDoesNotExist($this->path . '-old');

        self::assertSame(0, $writer->wait(60.0), $writer->errors());
        self::assertSame(['a|' => 11], $this->log->read());
    }

    public function testManyProcessesAtOnceLoseNothing(): void
    {
        $code = '$log = new Larder\System\CountLog($argv[1]); for ($i = 0; $i < 2000; $i++) { $log->add(["a|" => 1, "b|" . $argv[2] => 1]) || exit(1); }';
        $children = \array_map(fn(int $i): Process => Process::snippet($code, [$this->path, (string) $i]), \range(1, 6));
        foreach ($children as $child) {
            $before = $this->log->read()['a|'] ?? 0;
            self::assertGreaterThanOrEqual($before, $this->log->read()['a|'] ?? 0);
            self::assertSame(0, $child->wait(60.0), $child->errors());
        }

        self::assertSame(['a|' => 12_000] + \array_fill_keys(['b|1', 'b|2', 'b|3', 'b|4', 'b|5', 'b|6'], 2000), self::sorted($this->log->read()));
    }

    public function testWhatCannotBeWrittenIsToldTheCaller(): void
    {
        self::assertSame([], (new CountLog($this->directory->file('none/counts')))->add(['a|' => 1]));

        \symlink($this->directory->file('elsewhere'), $this->path);
        self::assertSame([], $this->log->add(['a|' => 1]), 'somebody else may have put the link there');
        self::assertFileDoesNotExist($this->directory->file('elsewhere'));
    }

    /** A disk that is full in the middle of a line. */
    public function testWhatIsWrittenIsToldByTheNamesThatWereGiven(): void
    {
        $counts = \array_combine(\array_map(static fn(int $i): string => \str_repeat('x', 900) . "|$i", \range(1, 12)), \range(1, 12));
        $code = 'pcntl_signal(SIGXFSZ, SIG_IGN); posix_setrlimit(POSIX_RLIMIT_FSIZE, (int) $argv[2], -1);'
            . ' echo json_encode((new Larder\System\CountLog($argv[1]))->add(json_decode($argv[3], true))), "\n";';
        $whole = $this->log->add($counts);
        self::assertSame($counts, $whole);
        $first = (int) \strpos((string) \file_get_contents($this->path), "\n\n") + 1;
        // Of the second line all but its end, of which a reader needs nothing; and one byte less.
        $second = (int) \strpos((string) \file_get_contents($this->path), "\n\n", $first) + 1;
        foreach ([$first => 4, $first + 100 => 4, $second - 2 => 4, $second - 1 => 8, $second => 8] as $bytes => $count) {
            \unlink($this->path);
            $child = Process::snippet($code, [$this->path, (string) $bytes, (string) \json_encode($counts)]);
            $written = (array) \json_decode((string) $child->line(), true);
            self::assertSame(0, $child->wait(), $child->errors());
            self::assertSame(\array_slice($counts, 0, $count), $written, "$bytes bytes");
            $rest = \array_diff_key($counts, $written);
            self::assertSame($rest, $this->log->add($rest));
            self::assertSame($counts, $this->log->read());
        }
        $endless = \str_repeat('y', 5000) . '|last';
        self::assertSame([$endless => 7], $this->log->add([$endless => 7]));
    }

    public function testAReaderDoesNotWaitForEver(): void
    {
        $lock = \fopen($this->path . '-lock', 'c+');
        self::assertNotFalse($lock);
        \flock($lock, \LOCK_EX);

        $this->expectException(Failure::class);
        $this->expectExceptionMessage('locked by another process');
        $this->log->read();
    }

    /** @return list<string> */
    private function files(): array
    {
        return \array_values(\array_diff(\scandir($this->directory->path) ?: [], ['.', '..']));
    }

    /**
     * @param array<string, int> $counts
     *
     * @return array<string, int>
     */
    private static function sorted(array $counts): array
    {
        \ksort($counts);

        return $counts;
    }
}
