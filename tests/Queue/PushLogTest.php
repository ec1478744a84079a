<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\Message;
use Larder\Queue\PushLog;
use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** Pushes go by a log into the database: none is lost, none comes twice, whoever dies when. */
final class PushLogTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
    }

    private function dsn(): string
    {
        return "sqlite://$this->directory";
    }

    private function queue(): Queue
    {
        return Queue::open($this->dsn() . '?timeout=1', 'mail');
    }

    private function log(): string
    {
        return $this->directory->file('queue-mail.log');
    }

    /** The log has three messages, and the database none of them. */
    private function pushThree(): Queue
    {
        $queue = $this->queue();
        $queue->push('makes the log');
        self::assertSame('makes the log', $queue->pop()?->body);
        foreach (['one', 'two', 'three'] as $body) {
            $queue->push($body);
        }

        return $queue;
    }

    /** @return list<mixed> bodies of all messages, also of those that a killed process has claimed */
    private static function drain(Queue $queue, float $wait = 0): array
    {
        $bodies = [];
        while (($message = $queue->pop(60, $wait)) !== null) {
            $bodies[] = \is_string($message->body) ? \rtrim($message->body) : $message->body;
            self::assertTrue($message->ack());
        }

        return $bodies;
    }

    public function testAPushNeitherOpensNorLocksTheDatabase(): void
    {
        $this->pushThree();
        $database = new \PDO('sqlite:' . $this->directory->file('queue-mail.db'));
        $database->exec('BEGIN IMMEDIATE');
        $queue = $this->queue();
        $queue->push('four');
        $database->exec('COMMIT');
        self::assertSame(0o600, \fileperms($this->log()) & 0o777);
        self::assertSame(['one', 'two', 'three', 'four'], self::drain($queue));
    }

    public function testAPushNeedsNeitherTransportNorDriverNorCodec(): void
    {
        $this->pushThree();
        $process = new Process([\PHP_BINARY, '-r', \sprintf(
            'require %s; Larder\Queue\Queue::open(%s, "mail")->push("four"); echo implode(" ", preg_grep("~/src/(Codec|Driver|Queue/.*Transport)~", get_included_files()));',
            \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true),
            \var_export($this->dsn(), true),
        )]);
        self::assertSame(0, $process->wait(), $process->errors());
        self::assertSame('', $process->output());
        self::assertSame(['one', 'two', 'three', 'four'], self::drain($this->queue()));
    }

    /** @return iterable<string, array{int}> */
    public static function cuts(): iterable
    {
        foreach ([1, 8, 12, 13, 30, 55, 57] as $bytes) {
            yield "$bytes bytes too few" => [$bytes];
        }
    }

    #[DataProvider('cuts')]
    public function testATornRecordIsLeftOutAndWhatFollowsIsNot(int $bytes): void
    {
        foreach ([false, true] as $looks) {
            $this->directory = new TemporaryDirectory();
            $queue = $this->pushThree();
            $file = \fopen($this->log(), 'r+');
            self::assertIsResource($file);
            \ftruncate($file, (int) \filesize($this->log()) - $bytes);
            \clearstatcache();
            $looks && self::assertSame(2, $this->queue()->size());
            $queue->push('later');
            $this->queue()->push('and later');
            $queue->push('and last');
            self::assertSame(['one', 'two', 'later', 'and later', 'and last'], self::drain($queue));
            self::assertSame([], $queue->dead());
        }
    }

    public function testADamagedRecordIsADeadLetterAndTheOthersAreNot(): void
    {
        $queue = $this->pushThree();
        $bytes = (string) \file_get_contents($this->log());
        \file_put_contents($this->log(), \str_replace('two', 'owt', $bytes));
        $queue->push('four');
        self::assertSame(['one', 'three', 'four'], self::drain($this->queue()));
        self::assertSame(0, $queue->size());
        [$dead] = $queue->dead();
        self::assertNull($dead['body']);
        self::assertStringContainsString('damaged', $dead['error']);
    }

    public function testARecordOfUnknownLengthIsAnErrorUntilTheLogIsMovedAway(): void
    {
        $queue = $this->pushThree();
        // The length of the second record.
        $at = PushLog::HEADER + self::recordOf((string) \file_get_contents($this->log()));
        $this->spoil($at + 2, $at + 4);
        foreach ([$queue->pop(...), $this->queue()->size(...)] as $call) {
            try {
                $call();
                self::fail('nothing was said');
            } catch (QueueFailure $failure) {
                self::assertStringContainsString('queue-mail.log is damaged', $failure->getMessage());
            }
        }
        $this->spoil($at + 2, $at + 4);
        self::assertSame(['one', 'two', 'three'], self::drain($this->queue()), 'nothing was thrown away');
    }

    public function testALogOfAnotherReleaseIsAnErrorUntilThatOneHasEmptiedIt(): void
    {
        $this->pushThree();
        $bytes = (string) \file_get_contents($this->log());
        \file_put_contents($this->log(), \str_replace('LrdQlog3', 'LrdQlog2', $bytes));
        foreach (['pop' => fn() => $this->queue()->pop(), 'push' => fn() => $this->queue()->push('four')] as $call) {
            try {
                $call();
                self::fail('nothing was said');
            } catch (QueueFailure $failure) {
                self::assertStringContainsString('another release', $failure->getMessage());
            }
        }
        \file_put_contents($this->log(), $bytes);
        self::assertSame(['one', 'two', 'three'], self::drain($this->queue()));
    }

    /** The worst that a message may hold: records of this very log. Seen to fail: they came out as messages of their own. */
    public function testTornAnywhereNothingInAMessagePassesForAnother(): void
    {
        $this->tear(37);
    }

    #[Group('long')]
    public function testTornAfterEachByteNothingInAMessagePassesForAnother(): void
    {
        $this->tear(1);
    }

    private function tear(int $step): void
    {
        for ($cut = 1, $last = 1; $cut < $last + $step; $cut += $step) {
            $this->directory = new TemporaryDirectory();
            $queue = $this->pushThree();
            $whole = (string) \file_get_contents($this->log());
            $queue->push('text ' . \substr($whole, PushLog::HEADER) . ' text');
            $torn = \substr((string) \file_get_contents($this->log()), \strlen($whole));
            $last = \strlen($torn) - 1;
            \file_put_contents($this->log(), $whole . \substr($torn, 0, \min($cut, $last)));
            $isFollowed = $cut % 2 === 0;
            $isFollowed || $this->queue()->push('after');
            self::assertSame(['one', 'two', 'three', ...($isFollowed ? [] : ['after'])], self::drain($this->queue()), "torn after $cut bytes");
            self::assertSame([], $queue->dead(), "torn after $cut bytes");
        }
    }

    /** Bytes of the first record. */
    private static function recordOf(string $log): int
    {
        /** @var array{1: int} $length */
        $length = \unpack('N', $log, PushLog::HEADER);

        return 8 + $length[1] + 16;
    }

    // Seen to fail: the log was begun anew, without what was in it.
    #[DataProvider('headers')]
    public function testADamagedHeaderTakesNoMessageWithIt(int $from, int $to): void
    {
        foreach ([false, true] as $some) {
            $this->directory = new TemporaryDirectory();
            $queue = $this->pushThree();
            $some && self::assertSame('one', $queue->pop()?->body);
            $this->spoil($from, $to);
            $queue->push('four');
            self::assertSame([...($some ? [] : ['one']), 'two', 'three', 'four'], self::drain($this->queue()));
            self::assertSame([], $queue->dead());
            self::assertSame('five', [$queue->push('five'), $this->queue()->pop()?->body][1]);
        }
    }

    /** @return iterable<string, array{int, int}> */
    public static function headers(): iterable
    {
        yield 'all' => [0, PushLog::HEADER];
        yield 'the mark' => [0, 1];
        yield 'the epoch' => [9, 12];
        yield 'the room' => [16, 20];
        yield 'the checksum' => [22, 23];
        yield 'the note' => [24, 28];
    }

    public function testALogThatSaysNothingAnyMoreIsAnErrorUntilItIsMovedAway(): void
    {
        $queue = $this->pushThree();
        $this->spoil(0, PushLog::HEADER + 20);
        $calls = [$queue->pop(...), $this->queue()->size(...), fn() => $this->queue()->push('four')];
        foreach ($calls as $call) {
            try {
                $call();
                self::fail('nothing was said');
            } catch (QueueFailure $failure) {
                self::assertStringContainsString('queue-mail.log is damaged', $failure->getMessage());
            }
        }
        \rename($this->log(), $this->log() . '.away');
        $queue->push('four');
        self::assertSame(['four'], self::drain($this->queue()));
    }

    /** As a file system may leave it that has kept the file's length before a power cut, and not what it held. */
    public function testALogOfZeroBytesHoldsNothing(): void
    {
        $queue = $this->pushThree();
        \file_put_contents($this->log(), \str_repeat("\0", (int) \filesize($this->log())));
        $queue->push('four');
        self::assertSame(['four'], self::drain($this->queue()));
    }

    private function spoil(int $from, int $to): void
    {
        $bytes = (string) \file_get_contents($this->log());
        for ($i = $from; $i < $to; ++$i) {
            $bytes[$i] = \chr(\ord($bytes[$i]) ^ 0x5A);
        }
        \file_put_contents($this->log(), $bytes);
    }

    public function testAPushTouchesNoFileThatIsNoPipe(): void
    {
        $queue = Queue::open("sqlite://$this->directory", 'mail');
        self::assertSame(0, $queue->size());
        $other = new TemporaryDirectory();
        \file_put_contents($other->file('precious'), 'kept');
        \symlink("$other", $this->directory->file('queue-mail.waiters'));
        $queue->push('one');
        $queue->pushMany(['two', 'three']);
        self::assertSame('kept', \file_get_contents($other->file('precious')));
    }

    public function testALogThatHasGoneIsMadeAnew(): void
    {
        $queue = $this->pushThree();
        self::assertSame(3, $queue->size());
        \unlink($this->log());
        $queue->push('four');
        $queue->push('five');
        self::assertFileExists($this->log());
        self::assertSame(['one', 'two', 'three', 'four', 'five'], self::drain($this->queue()));
    }

    /**
     * As a power cut may leave them: the database, which the disk had, knows records of the log that the disk had not. What is
     * pushed then lies where those have been.
     */
    #[DataProvider('growths')]
    public function testWhatIsPushedAfterAPowerCutIsFound(int $kept, int $pushed): void
    {
        $queue = $this->queue();
        $queue->push('makes the log');
        self::assertSame('makes the log', $queue->pop()?->body);
        $sizes = [];
        foreach (['one', 'two', 'six', ''] as $body) {
            \clearstatcache();
            $sizes[] = (int) \filesize($this->log());
            $body === '' || $queue->push($body);
        }
        self::assertSame(3, $queue->size());
        $log = \fopen($this->log(), 'r+');
        self::assertNotFalse($log);
        \ftruncate($log, \max(0, $sizes[$kept]));
        \fclose($log);

        $new = [];
        for ($i = 0; $i < $pushed; ++$i) {
            $this->queue()->push($new[] = \chr(97 + $i) . 'ew');
        }
        $bodies = \array_map(static fn(Message $message): mixed => $message->body, $this->queue()->popMany(20));
        self::assertSame([], \array_diff(['one', 'two', 'six', ...$new], $bodies));
        self::assertLessThanOrEqual(3 + $kept + $pushed, \count($bodies));
        self::assertSame(0, $this->queue()->size());
        $this->queue()->push('last');
        self::assertSame('last', $this->queue()->pop()?->body);
    }

    /** @return iterable<string, array{int, int}> records that the disk has; pushes */
    public static function growths(): iterable
    {
        yield 'shorter than it was' => [0, 1];
        yield 'as long as it was' => [1, 2];
        yield 'longer than it was' => [1, 4];
        yield 'nothing new' => [1, 0];
    }

    public function testALogOutlivesItsDatabase(): void
    {
        $this->pushThree();
        \array_map(\unlink(...), \glob($this->directory->file('queue-mail.db*')) ?: []);
        $queue = $this->queue();
        $queue->push('four');
        self::assertSame(['one', 'two', 'three', 'four'], self::drain($queue));
        self::assertSame([], self::drain($this->queue()));
    }

    public function testWhatTheDeletedDatabaseHadDoesNotComeAgain(): void
    {
        $queue = $this->pushThree();
        self::assertSame(['one', 'two', 'three'], self::drain($queue));
        $queue->push('four');
        \array_map(\unlink(...), \glob($this->directory->file('queue-mail.db*')) ?: []);
        self::assertSame(['four'], self::drain($this->queue()));
        $queue->push('five');
        self::assertSame(['five'], self::drain($queue));
        \array_map(\unlink(...), \glob($this->directory->file('queue-mail.db*')) ?: []);
        self::assertSame([], self::drain($this->queue()));
        $this->queue()->push('six');
        self::assertSame(['six'], self::drain($queue));
    }

    public function testASymbolicLinkInPlaceOfTheLogTakesNothing(): void
    {
        $queue = $this->pushThree();
        $other = new TemporaryDirectory();
        \rename($this->log(), $other->file('elsewhere'));
        \symlink($other->file('elsewhere'), $this->log());
        $before = (string) \file_get_contents($other->file('elsewhere'));
        foreach (['push' => fn() => $this->queue()->push('lost'), 'pop' => fn() => $this->queue()->pop(), 'pushMany' => fn() => $this->queue()->pushMany(['lost'])] as $call) {
            try {
                $call();
                self::fail('It went by the link.');
            } catch (QueueFailure $failure) {
                self::assertStringContainsString($this->log() . ' is a symbolic link', $failure->getMessage());
            }
        }
        self::assertSame($before, \file_get_contents($other->file('elsewhere')));
        \unlink($this->log());
        \rename($other->file('elsewhere'), $this->log());
        $this->queue()->push('four');
        self::assertSame(['one', 'two', 'three', 'four'], self::drain($this->queue()));
    }

    public function testAProcessThatCanOpenNoMoreFilesIsToldSo(): void
    {
        $this->pushThree();
        foreach (['$new->push("lost")', '$used->pop()', '$used->push("lost", 5)'] as $call) {
            $process = Process::snippet(
                'set_error_handler(static fn() => true); posix_setrlimit(POSIX_RLIMIT_NOFILE, 40, 40);'
                    . ' $used = Larder\Queue\Queue::open($argv[1], "mail"); $used->size(); $new = Larder\Queue\Queue::open($argv[1], "mail"); Larder\Queue\Queue::open($argv[1], "mail")->push("kept");'
                    . ' while (($files[] = fopen("/dev/null", "r")) !== false);'
                    . " try { $call; echo 'done'; } catch (Larder\Queue\QueueFailure \$failure) { echo \$failure->getMessage(); }"
                    . ' $files = []; echo "\n", Larder\Queue\Queue::open($argv[1], "mail")->push("later") > "";',
                [$this->dsn()],
            );
            self::assertMatchesRegularExpression('/^.*queue-mail\.log cannot be opened.*open files.*\n1$/D', $process->output(), $process->errors());
        }
        self::assertSame(['one', 'two', 'three', 'kept', 'later', 'kept', 'later', 'kept', 'later'], self::drain($this->queue()));
    }

    public function testWhereAnotherProcessKeepsTheLogLockedPushesGoToTheDatabase(): void
    {
        $queue = $this->pushThree();
        $stopped = \fopen($this->log(), 'r');
        self::assertIsResource($stopped);
        self::assertTrue(\flock($stopped, \LOCK_EX));
        $queue->push('four');
        self::assertSame(4, $queue->size());
        \flock($stopped, \LOCK_UN);
        $queue->push('five');
        self::assertSame(['one', 'two', 'three', 'four', 'five'], self::drain($queue));
    }

    public function testTheLogBeginsAnewBeforeItIsLong(): void
    {
        $queue = $this->queue();
        $expected = [];
        for ($n = 0; $n < 60; $n++) {
            $queue->push(\str_pad($expected[] = "$n", 20_000));
            self::assertLessThan(300_000, (int) \filesize($this->log()));
            \clearstatcache();
        }
        self::assertSame($expected, self::drain($queue));
    }

    public function testALimitCountsWhatTheLogHas(): void
    {
        $queue = Queue::open($this->dsn() . '?limit=5', 'mail');
        for ($n = 0; $n < 4; $n++) {
            $queue->push($n);
        }
        $queue->push('delayed', 3600);
        try {
            $queue->push('too many');
            self::fail('The queue is not full.');
        } catch (\Larder\Queue\QueueFull) {
            self::assertSame(5, $queue->size());
        }
    }

    public function testWithSynchronousFullTheDiskHasAMessageBeforePushReturns(): void
    {
        $this->pushThree();
        $trace = $this->directory->file('trace');
        $process = new Process(['strace', '-o', $trace, '-e', 'trace=fdatasync,write', \PHP_BINARY, __DIR__ . '/child.php', $this->dsn() . '?synchronous=full', 'push', 'four', 'five']);
        self::assertStringContainsString("pushed five\ndone\n", $process->output());
        self::assertMatchesRegularExpression('/"push four.*\n.*write.*\n.*fdatasync.*\n.*"pushed four/', (string) \file_get_contents($trace));
    }

    #[TestWith(['normal'])]
    #[TestWith(['full'])]
    public function testWhatTheDiskHasNoRoomForIsNotAccepted(string $synchronous): void
    {
        $this->pushThree();
        // 100 kB, as the shell counts them, and "file too large" instead of the signal's death.
        $shell = 'trap "" XFSZ; ulimit -f 200; exec "$0" "$@"';
        $process = new Process(['sh', '-c', $shell, \PHP_BINARY, __DIR__ . '/child.php', $this->dsn() . "?synchronous=$synchronous", 'large', 'four', 'five', 'six', 'seven', 'eight']);
        $said = $process->output();
        self::assertStringEndsWith("done\n", $said);
        self::assertStringContainsString('refused ', $said);
        \preg_match_all('/^pushed (.*)$/m', $said, $pushed);
        self::assertNotEmpty($pushed[1]);
        self::assertSame(['one', 'two', 'three', ...$pushed[1]], self::drain($this->queue()));
    }

    /** @return iterable<string, array{string, string, list<int>}> */
    public static function kills(): iterable
    {
        foreach (['push', 'large', 'handle'] as $work) {
            foreach (['write' => 10, 'pwrite64' => 40, 'ftruncate' => 2, 'flock' => 12] as $call => $most) {
                yield "$work, $call" => [$work, $call, \range(1, $most)];
            }
        }
    }

    /** @param list<int> $steps */
    #[DataProvider('kills')]
    #[Group('long')]
    public function testAProcessIsKilledAnywhere(string $work, string $call, array $steps): void
    {
        $this->killAt($work, $call, $steps);
    }

    public function testAProcessIsKilledSomewhere(): void
    {
        $this->killAt('push', 'write', [2]);
        $this->killAt('large', 'ftruncate', [1]);
        $this->killAt('handle', 'pwrite64', [3, 9]);
        $this->killAt('handle', 'ftruncate', [1]);
    }

    /** @param list<int> $steps */
    private function killAt(string $work, string $call, array $steps): void
    {
        foreach ($steps as $step) {
            $this->directory = new TemporaryDirectory();
            $queue = $this->pushThree();
            $more = $work === 'large' ? ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'] : ['a', 'b'];
            if ($work === 'handle') {
                foreach (['x', 'y', 'z'] as $body) {
                    $queue->push(\str_pad($body, 30_000));
                }
            }
            $process = new Process([
                'strace', '-o', $this->directory->file('trace'), '-e', "trace=$call", '-e', "inject=$call:signal=KILL:when=$step",
                \PHP_BINARY, __DIR__ . '/child.php', $this->dsn(), $work, ...$more,
            ]);
            $said = $process->output();
            $process->wait();
            \preg_match_all('/^(push|pushed|handle|handled) (\w+)$/m', $said, $lines, \PREG_SET_ORDER);
            $of = static fn(string $verb): array => \array_column(\array_filter($lines, static fn(array $line): bool => $line[1] === $verb), 2);
            $isDone = \str_contains($said, 'done');
            self::assertNotSame($isDone, \str_contains((string) \file_get_contents($this->directory->file('trace')), 'killed by SIGKILL'));

            $this->queue()->push('after');
            $queue->push('and after');
            $left = self::drain($this->queue(), 1.2);
            $before = ['one', 'two', 'three', ...($work === 'handle' ? ['x', 'y', 'z'] : [])];
            $where = "$work, killed before $call number $step: " . \implode(' ', $left);
            self::assertSame($left, \array_values(\array_unique($left)), "None comes twice: $where");
            self::assertSame([], \array_diff([...$before, ...$of('pushed'), 'after', 'and after'], $left, $of('handled'), \array_diff($of('handle'), $of('handled'))), "None is lost: $where");
            self::assertSame([], \array_intersect($left, $of('handled')), "What was acknowledged is gone: $where");
            self::assertSame([], \array_diff($left, $before, $of('push'), ['after', 'and after']), $where);
            $order = \array_values(\array_intersect([...$before, ...$more, 'after', 'and after'], $left));
            if ($work === 'handle' && $left !== $order) {
                // What was claimed comes behind.
                $order[] = \array_shift($order);
            }
            self::assertSame($order, $left, "The order is kept: $where");
            self::assertSame([0, []], [$queue->size(), $queue->dead()]);
            if ($isDone) {
                break;
            }
        }
    }
}
