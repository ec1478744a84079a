<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\Message;
use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Larder\Tests\Faults\Clock;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** What a queue in SQLite survives: deaths at random, a full disk, damaged files. */
final class SqliteDeathsTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    private function queue(): Queue
    {
        // With five attempts a message whose workers are all killed would be among the dead, which is not lost.
        return Queue::open("sqlite://$this->directory?attempts=100", 'mail');
    }

    public function testNothingIsLostByDeathsAtRandom(): void
    {
        $this->dieAtRandom(1_200, 2, 3, 20_000);
    }

    #[Group('long')]
    public function testNothingIsLostByDeathsAtRandomOfTwelveProcesses(): void
    {
        $this->dieAtRandom(100_000, 4, 8, 50_000);
    }

    private function dieAtRandom(int $messages, int $producers, int $workers, int $pause): void
    {
        $run = new KillRun($this->queue(...), $messages, $producers, $workers, $pause);
        $run->run();
        self::assertSame([[], [], []], [$run->lost, $run->madeUp, $run->repeated]);
        \getenv('LARDER_TOLD') !== '1' || \fwrite(\STDERR, "\nsqlite: $run->accepted accepted, $run->unknown unknown, $run->kills kills, $run->duplicates handled again\n");
        self::assertGreaterThan(0, $run->kills);
        self::assertSame(0, $run->unknown);
        self::assertSame([0, []], [$this->queue()->size(), $this->queue()->dead()]);
    }

    public function testOnAFullDiskAProducerHearsWhatWasNotAccepted(): void
    {
        \exec("mount -t tmpfs -o size=1500k,mode=0700 larder $this->directory 2>&1", $said, $status);
        if ($status !== 0) {
            self::markTestSkipped('Needs root and the right to mount: ' . \implode(' ', $said));
        }
        try {
            $queue = $this->queue();
            $accepted = [];
            $refused = 0;
            for ($n = 0; $refused < 20 && $n < 5_000; $n++) {
                $body = \str_pad("$n ", $n % 7 * 1_000 + 1);
                try {
                    match ($n % 5) {
                        0 => $queue->push($body, key: "$n"),
                        1 => $queue->pushMany([$body]),
                        default => $queue->push($body),
                    };
                    $accepted[] = $n;
                } catch (QueueFailure $failure) {
                    self::assertMatchesRegularExpression('/full|space/', $failure->getMessage());
                    $refused++;
                }
            }
            self::assertSame(20, $refused);
            \exec("mount -o remount,size=8m $this->directory");
            $queue->push('and 9999');
            $handled = [];
            $worker = $this->queue();
            while (($message = $worker->pop()) !== null) {
                $handled[] = (int) \trim(\str_replace('and', '', $message->body));
                self::assertTrue($message->ack());
            }
            self::assertSame([], $worker->dead());
            self::assertSame([...$accepted, 9999], $handled);
            unset($queue, $worker, $message);
        } finally {
            \exec("umount -l $this->directory");
        }
    }

    public function testADamagedDatabaseIsSaidAndNotServed(): void
    {
        $queue = $this->queue();
        $queue->pushMany(\array_map(static fn(int $n): string => \str_pad("$n", 500), \range(1, 200)));
        unset($queue);
        $file = $this->directory->file('queue-mail.db');
        (new \PDO("sqlite:$file"))->exec('PRAGMA wal_checkpoint(TRUNCATE)');
        $bytes = (string) \file_get_contents($file);
        \file_put_contents($file, \substr($bytes, 0, 4_096) . \random_bytes(\strlen($bytes) - 4_096));
        foreach ([static fn(Queue $queue) => $queue->pop(), static fn(Queue $queue) => $queue->push('keyed', key: 'k'), static fn(Queue $queue) => $queue->size()] as $call) {
            try {
                $call($this->queue());
                self::fail('It served a damaged database.');
            } catch (QueueFailure $failure) {
                self::assertStringContainsString($file, $failure->getMessage());
                self::assertStringContainsString('damaged', $failure->getMessage());
            }
        }
        \file_put_contents($file, 'no database at all, but some other text that is long enough');
        $this->expectException(QueueFailure::class);
        $this->queue()->pop();
    }

    public function testADeletedDatabaseTakesNothingMore(): void
    {
        $queue = $this->queue();
        $queue->push('before', priority: 1);
        self::assertSame(1, $queue->size());
        \array_map(\unlink(...), (array) \glob($this->directory->file('queue-mail.*')));
        $queue->pushMany(['one', 'two']);
        self::assertSame(['one', 'two'], \array_map(static fn(Message $message): mixed => $message->body, $this->queue()->popMany(9)));

        \exec("rm -r $this->directory");
        try {
            $queue->push('nowhere');
            self::fail('It took a message that nobody can get.');
        } catch (QueueFailure $failure) {
            self::assertStringContainsString((string) $this->directory, $failure->getMessage());
        }
    }

    public function testADamagedBodyIsADeadLetter(): void
    {
        $queue = $this->queue();
        $queue->pushMany(['first', 'second', 'third']);
        (new \PDO('sqlite:' . $this->directory->file('queue-mail.db')))->exec("UPDATE ready SET body = replace(body, 'second', 'sEcond')");
        self::assertSame('first', $queue->pop()?->body);
        self::assertSame('third', $queue->pop()?->body);
        self::assertSame([null, 0], [$queue->pop(), $queue->size()]);
        [$dead] = $queue->dead();
        self::assertNull($dead['body']);
        self::assertStringContainsString('damaged', $dead['error']);
    }

    /** Whether it claims the message, takes back what another one has left, or lets a delayed one be ready. */
    #[Group('slow')]
    public function testABodyThatIsTooLargeForAWorkersMemoryStopsNobody(): void
    {
        $queue = Queue::open("sqlite://$this->directory?attempts=2", 'mail');
        $body = \str_repeat('large ', 1_600_000);
        $ids = [$queue->push($body, priority: 2), $queue->push($body, 0.001, 1), $queue->push($body, priority: 1, key: 'k')];
        $queue->pushMany(['small', 'and small']);
        self::assertTrue($queue->pop()?->extend(0.001));
        \usleep(5_000);
        $worker = Process::snippet(
            '$q = Larder\Queue\Queue::open($argv[1], "mail"); echo json_encode([$q->size(), $q->pop()->body, array_column($q->popMany(9), "body")]), "\n";'
                . ' do { $q->pop(60, 0.2); } while ($q->stats()["dead"] < 3); echo json_encode([$q->size(), array_column($q->dead(), "body"), array_column($q->dead(), "error")]), "\n";',
            ["sqlite://$this->directory?attempts=2"],
            ['memory_limit' => '8M'],
        );
        self::assertSame([5, 'small', ['and small']], \json_decode($worker->line() ?? '', true), $worker->errors());
        [$size, $bodies, $errors] = (array) \json_decode($worker->line() ?? '', true) + [null, null, []];
        self::assertSame([0, [null, null, null]], [$size, $bodies], $worker->errors());
        foreach ($errors as $error) {
            self::assertStringContainsString('memory_limit', $error);
        }
        $dead = $queue->dead();
        self::assertSame([$body, $body, $body], \array_column($dead, 'body'));
        self::assertEqualsCanonicalizing($ids, \array_column($dead, 'id'));
        self::assertSame(3, $queue->retryDead());
        self::assertSame([$ids[0], $ids[1], $ids[2]], \array_map(static fn(Message $message): string => $message->id, $queue->popMany(3)));
    }

    public function testADamagedLargeBodyIsADeadLetter(): void
    {
        $queue = $this->queue();
        $queue->push(\str_repeat('large ', 50_000) . 'second');
        $queue->push('third');
        self::assertSame(2, $queue->size());
        (new \PDO('sqlite:' . $this->directory->file('queue-mail.db')))->exec("UPDATE ready SET body = CAST(replace(body, 'second', 'sEcond') AS BLOB)");
        self::assertSame('third', $queue->pop()?->body);
        self::assertStringContainsString('damaged', $queue->dead()[0]['error']);
    }

    public function testTheCountIsThatOfTheTables(): void
    {
        $queue = $this->queue();
        self::assertSame(0, $queue->size());
        $database = new \PDO('sqlite:' . $this->directory->file('queue-mail.db'));
        \mt_srand(7);
        $held = [];
        for ($n = 0; $n < 300; $n++) {
            match (\mt_rand(0, 9)) {
                0, 1, 2 => $queue->push($n, key: \mt_rand(0, 2) === 0 ? 'k' . \mt_rand(0, 3) : null),
                3 => $queue->pushMany([$n, $n], \mt_rand(0, 1) * 0.001),
                4, 5, 6 => \array_push($held, ...$queue->popMany(\mt_rand(1, 3))),
                7 => $held === [] ? null : \array_pop($held)->release(\mt_rand(0, 1) * 0.001),
                8 => $held === [] ? null : (\mt_rand(0, 1) === 0 ? \array_pop($held)->bury() : \array_pop($held)->extend(0.001)),
                9 => \mt_rand(0, 5) === 0 ? $queue->purge() : $queue->retryDead(),
            };
            $size = $queue->size();
            $counted = $database->query('SELECT (SELECT COUNT(*) FROM ready) + (SELECT COUNT(*) FROM delayed)');
            self::assertSame($counted === false ? null : $counted->fetchAll(\PDO::FETCH_COLUMN), [$size], "after step $n");
        }
    }

    public function testAClockThatIsSetBackKeepsTheOrderAndOneThatIsSetForwardLosesNothing(): void
    {
        $clock = new Clock();
        $process = new Process([\PHP_BINARY, '-r', \sprintf(
            'require %s; $q = Larder\Queue\Queue::open(%s, "mail"); while ($line = fgets(STDIN)) { echo json_encode(eval($line)), "\n"; }',
            \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true),
            \var_export("sqlite://$this->directory", true),
        )], $clock->environment());
        $call = static function (string $code) use ($process): mixed {
            $process->write("$code\n");

            return \json_decode((string) $process->line(), true);
        };
        $ids = [$call('return $q->push("first");'), $call('return $q->push("second");')];
        $clock->set(-7_200);
        \array_push($ids, $call('return $q->push("third");'), $call('return $q->push("fourth", key: "k");'));
        $sorted = $ids;
        \sort($sorted);
        self::assertSame($sorted, $ids);
        self::assertCount(4, \array_unique($ids));
        self::assertSame(['first', 'second', 'third'], $call('return array_column($held = $q->popMany(3), "body");'));
        $clock->set(7_200);
        // Their time is over by this clock: another gets them, and who had them is told so.
        self::assertSame([4, ['first', 'second', 'third', 'fourth'], 0], $call('$size = $q->size(); $again = $q->popMany(9); return [$size, array_column($again, "body"), $q->ackMany(...$held)];'));
        $clock->set(0);
        self::assertSame([4, 0], $call('return [$q->ackMany(...$again), $q->size()];'));
    }

    public function testAnIdleWorkerWakesAtMostOnceASecond(): void
    {
        $trace = $this->directory->file('trace');
        $this->queue()->push('done');
        $process = new Process(['strace', '-o', $trace, '-e', 'trace=poll,select,pselect6,nanosleep,clock_nanosleep,epoll_wait', \PHP_BINARY, '-r', \sprintf(
            'require %s; $q = Larder\Queue\Queue::open(%s, "mail"); $q->pop()->ack(); echo "idle\n"; $q->pop(60, 3.0); echo "end\n";',
            \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true),
            \var_export("sqlite://$this->directory", true),
        )]);
        self::assertStringContainsString('end', $process->output());
        $waits = \preg_match_all('/^(poll|p?select6?|nanosleep|clock_nanosleep|epoll_wait)\(/m', (string) \file_get_contents($trace));
        self::assertGreaterThan(0, $waits);
        self::assertLessThanOrEqual(5, $waits);
    }
}
