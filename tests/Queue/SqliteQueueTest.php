<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Config\InvalidConfiguration;
use Larder\Queue\Message;
use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Larder\Tests\Contract\QueueContract;
use Larder\Tests\Contract\QueueProcesses;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;

final class SqliteQueueTest extends QueueContract
{
    use QueueProcesses;

    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        parent::setUp();
        $this->directory = new TemporaryDirectory();
    }

    protected function queue(string $name = 'mail', array $options = []): Queue
    {
        $dsn = 'sqlite://' . $this->directory;

        return Queue::open($options === [] ? $dsn : ['dsn' => $dsn] + $options, $name);
    }

    /** @param \Closure(Queue): mixed $push */
    #[DataProvider('pushes')]
    public function testWhatNobodyAcknowledgedCountsBeforeAnybodyLooks(\Closure $push): void
    {
        $queue = $this->queue('mail', ['limit' => 3]);
        $queue->pushMany(['1', '2', '3']);
        $held = $queue->popMany(3);
        $push($queue);
        \array_map(self::expire(...), $held);
        self::assertFull(static fn() => $push($queue));
    }

    // Seen to fail: free() without its deletions.
    public function testTheTimesOfARateAreFewAndASetClockHoldsUpNobody(): void
    {
        $queue = $this->queue();
        $queue->pushMany(\range(1, 40));
        $database = new \PDO("sqlite:$this->directory/queue-mail.db", null, null, [\PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION]);
        $count = static fn(): mixed => $database->query('SELECT COUNT(*) FROM handed')->fetchColumn();
        $limited = $queue->atMost(5, 3_600);
        self::assertCount(5, $limited->popMany(9));
        for ($i = 0; $i < 3; $i++) {
            $database->exec('UPDATE handed SET at = at - 3600000');
            self::assertCount(5, $limited->popMany(9));
            self::assertSame(5, $count());
        }
        $database->exec('UPDATE handed SET at = at + 3600000');
        self::assertCount(5, $limited->popMany(9), 'The clock was set back.');
        self::assertSame(5, $count());
        $database->exec('UPDATE handed SET at = at - 3600000');
        self::assertCount(1, $queue->atMost(1, 60)->popMany(9));
        self::assertSame(1, $count(), 'Those of other seconds go.');
    }

    /** Seen to fail: 292 MB stayed after a million messages. */
    public function testTheDatabaseIsSmallAgainAfterABacklog(): void
    {
        $queue = $this->queue();
        $body = \str_repeat('x', 10_000);
        $queue->pushMany(\array_fill(0, 1_000, $body));
        $queue->push('dead');
        $file = "$this->directory/queue-mail.db";
        foreach ([...$queue->popMany(1_000), self::next($queue)] as $message) {
            $message->body === 'dead' ? $message->bury('bad') : $message->ack();
        }
        \clearstatcache();
        self::assertGreaterThan(8_000_000, (int) \filesize($file) + (int) \filesize("$file-wal"));
        // Others have it open too, and the one that works has statements of its own.
        $other = $this->queue();
        self::assertSame(1, $other->stats()['dead']);
        self::assertNull($queue->pop(60, 0.05));
        \clearstatcache();
        self::assertLessThan(1_000_000, (int) \filesize($file) + (int) \filesize("$file-wal"));
        self::assertSame(['dead'], \array_column($other->dead(), 'body'));
        $other->push('after');
        self::assertSame(['after'], self::drain($queue));
    }

    /** A claim that finds messages looks for these only where the last look was some milliseconds ago. */
    public function testMessagesThatAreReadyDoNotHoldUpWhatBecomesDueOrComesBack(): void
    {
        $queue = $this->queue();
        $queue->pushMany(\range(1, 20));
        $first = $queue->pop();
        self::assertSame(1, $first?->body);
        $queue->push('delayed', 0.005, 9);
        self::assertTrue($first->extend(0.005));
        \usleep(30_000);
        self::assertSame(['delayed', 1, 2], \array_map(static fn(): mixed => $queue->pop()?->body, \range(1, 3)));
    }

    /** @return iterable<string, array{array<string, mixed>, string}> options, and what is said of them */
    public static function wrongOptions(): iterable
    {
        yield 'no directory' => [['dsn' => 'sqlite://'], 'names no directory'];
        yield 'no attempt' => [['dsn' => 'sqlite:///tmp/queue', 'attempts' => 0], '"attempts" is "0", but must be a whole number from 1 on. Write for example attempts=5.'];
        yield 'an endless call' => [['dsn' => 'sqlite:///tmp/queue', 'timeout' => \INF], '"timeout" is "INF", but must be a number of seconds above zero and below a billion.'];
        yield 'a word' => [['dsn' => 'sqlite:///tmp/queue', 'limit' => 'all'], '"limit" is "all", but must be a whole number from 1 on.'];
    }

    /** @param array<string, mixed> $options */
    #[DataProvider('wrongOptions')]
    public function testWrongOptionsAreSaid(array $options, string $said): void
    {
        try {
            Queue::open($options, 'mail')->push('body');
            self::fail('It was accepted.');
        } catch (InvalidConfiguration $wrong) {
            self::assertStringContainsString($said, $wrong->getMessage());
        }
    }

    /** @return iterable<string, array{\Closure(Queue, Message): mixed, list<int>}> call, and how many are claimed and dead in the end */
    public static function ends(): iterable
    {
        yield 'ack' => [static fn(Queue $queue, Message $message): bool => $message->ack(), [0, 0]];
        yield 'release' => [static fn(Queue $queue, Message $message): bool => $message->release(60), [0, 0]];
        yield 'bury' => [static fn(Queue $queue, Message $message): bool => $message->bury(), [0, 1]];
        yield 'ackMany' => [static fn(Queue $queue, Message $message): bool => $queue->ackMany($message) === 1, [0, 0]];
        yield 'ackAndPop' => [static fn(Queue $queue, Message $message): bool => $queue->ackAndPop($message)?->ack() === true, [0, 0]];
    }

    /**
     * @param \Closure(Queue, Message): mixed $end
     * @param list<int>                       $counts
     */
    #[DataProvider('ends')]
    public function testWhatTheDatabaseWasTooBusyForCanBeTriedAgain(\Closure $end, array $counts): void
    {
        $queue = $this->queue('mail', ['timeout' => 1]);
        $queue->pushMany(['handled', 'next']);
        $message = $queue->pop();
        self::assertNotNull($message);
        $other = new \PDO('sqlite:' . $this->directory->file('queue-mail.db'));
        $other->exec('BEGIN IMMEDIATE');
        try {
            $end($queue, $message);
            self::fail('It did not need the database.');
        } catch (QueueFailure) {
            $other->exec('ROLLBACK');
        }
        self::assertTrue($end($queue, $message));
        self::assertTrue($message->isDone());
        self::assertSame($counts, [$queue->stats()['claimed'], $queue->stats()['dead']]);
    }
}
