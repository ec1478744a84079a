<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Queue\Message;
use Larder\Queue\Queue;
use Larder\Queue\QueueFull;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/**
 * What every transport of a queue must keep. A test of a transport extends this class and adds what the transport
 * promises beyond it. The other parts are in QueueRetries, QueueRates, QueueUnique, QueueSchedules and
 * QueueBodies, and in QueueProcesses for those that several processes share.
 *
 * A claim ends early by extend() with a fraction of a second, so that no test waits for a whole one.
 */
abstract class QueueContract extends TestCase
{
    use Forks;
    use QueueListing;
    use QueueBodies;
    use QueueRates;
    use QueueRetries;
    use QueueSchedules;
    use QueueUnique;

    protected const FORKS = true;

    /** Seconds that a message may take on a busy machine; a test that waits so long has failed. */
    protected const PATIENCE = 30.0;

    /**
     * A queue, fresh and empty for each test; a second call within a test gives another instance over the same
     * messages, as another process would have.
     *
     * @param array<string, mixed> $options
     */
    abstract protected function queue(string $name = 'mail', array $options = []): Queue;

    protected function setUp(): void
    {
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
        $this->endChildren();
    }

    /** The next message, which must come. */
    protected static function next(Queue $queue, int $visibility = 60): Message
    {
        $message = $queue->pop($visibility, static::PATIENCE);
        self::assertNotNull($message, 'A message is there.');

        return $message;
    }

    /** Lets the claim of a message end now. */
    protected static function expire(Message $message): void
    {
        self::assertTrue($message->extend(0.001));
        \usleep(20_000);
    }

    /** @return list<mixed> the bodies of all messages that are due, acknowledged */
    protected static function drain(Queue $queue): array
    {
        $bodies = [];
        while (($message = $queue->pop()) !== null) {
            $bodies[] = $message->body;
            self::assertTrue($message->ack());
        }

        return $bodies;
    }

    public function testAFreshQueueIsEmpty(): void
    {
        $queue = $this->queue();
        self::assertSame(0, $queue->size());
        self::assertNull($queue->pop());
        self::assertSame([], $queue->popMany(10));
        self::assertSame([], $queue->dead());
        self::assertSame(0, $queue->purge());
        self::assertSame(0, $queue->retryDead());
        self::assertSame([], $queue->pushMany([]));
        self::assertSame(0, $queue->ackMany());
    }

    public function testAMessageIsHandedOutOnce(): void
    {
        $queue = $this->queue();
        $id = $queue->push('body');
        self::assertNotSame('', $id);
        self::assertSame(1, $queue->size());
        $message = self::next($this->queue());
        self::assertSame([$id, 'body', 1], [$message->id, $message->body, $message->attempts]);
        self::assertSame(0, $queue->size());
        self::assertNull($queue->pop());
        self::assertTrue($message->ack());
        self::assertNull($queue->pop());
        self::assertSame([], $queue->dead());
    }

    public function testADoneMessageIsDone(): void
    {
        $queue = $this->queue();
        $queue->push('body');
        $message = self::next($queue);
        self::assertTrue($message->ack());
        self::assertFalse($message->ack());
        self::assertFalse($message->release());
        self::assertFalse($message->extend(60));
        self::assertFalse($message->bury('why'));
        self::assertSame(0, $queue->ackMany($message));
        self::assertNull($queue->ackAndPop($message));
        self::assertSame([0, []], [$queue->size(), $queue->dead()]);
    }

    public function testIdsDiffer(): void
    {
        $queue = $this->queue();
        $ids = [...$queue->pushMany(\range(1, 50)), ...\array_map(static fn(int $i): string => $queue->push($i), \range(51, 100)), $this->queue('other')->push('other')];
        self::assertCount(101, \array_unique($ids));
    }

    public function testTheOldestOfAPriorityFirst(): void
    {
        $queues = [$this->queue(), $this->queue()];
        for ($i = 0; $i < 40; $i++) {
            $i % 5 === 4 ? $queues[$i % 2]->pushMany([$i]) : $queues[$i % 2]->push($i, key: $i % 3 === 0 ? "key $i" : null);
        }
        self::assertSame(\range(0, 39), self::drain($queues[0]));
    }

    public function testTheGreatestPriorityFirst(): void
    {
        $queue = $this->queue();
        foreach ([0, 5, -3, 5, 0, 1_000_000, -1_000_000, -3] as $i => $priority) {
            $queue->push("$i", priority: $priority);
        }
        $queue->pushMany(['many 1', 'many 2'], priority: 7);
        self::assertSame(['5', 'many 1', 'many 2', '1', '3', '0', '4', '2', '7', '6'], self::drain($queue));
    }

    public function testADelayedMessageComesInItsTimeAndNotBefore(): void
    {
        $queue = $this->queue();
        $start = \hrtime(true);
        $queue->push('soon', 0.05);
        self::assertSame(1, $queue->size(), 'A delayed message waits.');
        self::assertSame('soon', self::next($queue)->body);
        self::assertGreaterThanOrEqual(49_000_000, \hrtime(true) - $start);
        $queue->push('later', 3600);
        $queue->pushMany(['too'], 3600, 9);
        self::assertSame([null, 2], [$queue->pop(), $queue->size()]);
    }

    public function testDelayedMessagesComeByTheirTime(): void
    {
        $queue = $this->queue();
        $queue->push('third', 0.9);
        $queue->push('first', 0.1);
        $queue->push('second', 0.5);
        self::assertSame(['first', 'second', 'third'], [self::next($queue)->body, self::next($queue)->body, self::next($queue)->body]);
    }

    public function testBatches(): void
    {
        $queue = $this->queue();
        $ids = $queue->pushMany((static fn(): \Generator => yield from \range(1, 10))());
        self::assertCount(10, $ids);
        $messages = $this->queue()->popMany(4);
        self::assertSame([\array_slice($ids, 0, 4), [1, 2, 3, 4]], [\array_column($messages, 'id'), \array_column($messages, 'body')]);
        self::assertSame(6, $queue->size());
        $rest = $queue->popMany(100);
        self::assertSame([5, 6, 7, 8, 9, 10], \array_column($rest, 'body'));
        self::assertTrue($rest[0]->ack());
        self::assertSame(9, $queue->ackMany(...$messages, ...$rest), 'One was acknowledged before.');
        self::assertNull($queue->pop());
    }

    public function testAKeyHasAtMostOneWaitingMessage(): void
    {
        $queue = $this->queue();
        $id = $queue->push('first', key: 'k');
        self::assertSame($id, $this->queue()->push('second', 3600, 9, 'k'));
        $delayed = $queue->push('delayed', 3600, key: 'l');
        self::assertSame($delayed, $queue->push('now', key: 'l'));
        self::assertNotSame($id, $queue->push('other', key: 'K'));
        self::assertSame(3, $queue->size());
        self::assertSame(['first', 'other'], self::drain($queue));
        self::assertSame(1, $queue->size());
    }

    public function testAKeyIsFreeOnceItsMessageIsHandedOut(): void
    {
        $queue = $this->queue();
        $first = $queue->push('first', key: 'k');
        $message = self::next($queue);
        $second = $queue->push('second', key: 'k');
        self::assertNotSame($first, $second);
        self::assertSame($second, $queue->push('third', key: 'k'));
        self::assertTrue($message->ack());
        self::assertSame(['second'], self::drain($queue));
        self::assertNotSame($second, $queue->push('fourth', key: 'k'));
        self::assertSame(['fourth'], self::drain($queue));
    }

    /** @return iterable<string, array{\Closure(Message): mixed}> */
    public static function returns(): iterable
    {
        yield 'released' => [static fn(Message $message): bool => $message->release()];
        yield 'released with a delay' => [static fn(Message $message): bool => $message->release(0.01)];
        yield 'its claim has ended' => [self::expire(...)];
    }

    /** @param \Closure(Message): mixed $return */
    #[DataProvider('returns')]
    public function testWhatComesBackIsDroppedWhereANewerOneWaitsWithItsKey(\Closure $return): void
    {
        $queue = $this->queue();
        $queue->push('older', key: 'k');
        $message = self::next($queue);
        $id = $queue->push('newer', key: 'k');
        $return($message);
        \usleep(20_000);
        $next = self::next($queue);
        self::assertSame([$id, 'newer', 1], [$next->id, $next->body, $next->attempts]);
        self::assertTrue($next->ack());
        self::assertSame([null, 0, []], [$queue->pop(), $queue->size(), $queue->dead()]);
        self::assertFalse($message->ack());
    }

    /** @param \Closure(Message): mixed $return */
    #[DataProvider('returns')]
    public function testWhatComesBackWaitsWithItsKey(\Closure $return): void
    {
        $queue = $this->queue();
        $id = $queue->push('body', key: 'k');
        $return(self::next($queue));
        self::assertSame($id, $queue->push('again', key: 'k'));
        self::assertSame(1, $queue->size());
        $next = self::next($queue);
        self::assertSame([$id, 'body', 2], [$next->id, $next->body, $next->attempts]);
    }

    public function testSizeCountsWhatWaits(): void
    {
        $queue = $this->queue();
        $queue->pushMany(\range(1, 5));
        $queue->push('delayed', 3600);
        self::assertSame(6, $queue->size());
        [$one, $two, $three] = $queue->popMany(3);
        self::assertSame(3, $queue->size());
        $one->release();
        self::assertSame(4, $queue->size());
        $two->bury();
        self::assertSame(4, $queue->size());
        self::expire($three);
        self::assertSame(5, $queue->size(), 'Its claim has ended, so it waits again.');
        self::assertSame(1, $queue->retryDead());
        self::assertSame(6, $this->queue()->size());
    }

    public function testPurgeRemovesWhatWaits(): void
    {
        $queue = $this->queue();
        $queue->pushMany(\range(1, 5));
        $queue->push('delayed', 3600);
        $queue->push('keyed', key: 'k');
        [$handled, $buried] = $queue->popMany(2);
        $buried->bury();
        self::assertSame(5, $this->queue()->purge());
        self::assertSame([0, null], [$queue->size(), $queue->pop()]);
        self::assertCount(1, $queue->dead());
        self::assertTrue($handled->release());
        self::assertSame([1], self::drain($queue));
        $queue->push('new', key: 'k');
        self::assertSame(['new'], self::drain($queue));
    }

    public function testAPausedQueueHandsOutNothing(): void
    {
        $queue = $this->queue();
        $other = $this->queue('other');
        $other->push('other');
        $queue->push('before');
        $handled = self::next($queue);
        $queue->push('waits');
        $queue->pause();
        $queue->pause();
        $queue->push('pushed meanwhile');
        self::assertSame([null, []], [$queue->pop(), $this->queue()->popMany(5)]);
        self::assertNull($queue->pop(60, 0.02));
        self::assertSame(2, $queue->size());
        self::assertTrue($handled->extend(60));
        self::assertNull($queue->ackAndPop($handled));
        self::assertFalse($handled->ack());
        self::assertSame(['other'], self::drain($other));
        $this->queue()->resume();
        $queue->resume();
        self::assertSame(['waits', 'pushed meanwhile'], self::drain($queue));
        self::assertSame(0, $queue->size());
    }

    public function testAcknowledgeAndPopInOneStep(): void
    {
        $queue = $this->queue();
        $queue->pushMany([1, 2, 3]);
        $bodies = [];
        for ($message = $queue->pop(); $message !== null; $message = $queue->ackAndPop($message)) {
            $bodies[] = $message->body;
            self::assertSame(3 - \count($bodies), $queue->size());
        }
        self::assertSame([1, 2, 3], $bodies);
        self::assertSame([null, []], [$queue->pop(), $queue->dead()]);
    }

    public function testMessagesOfSeveralQueuesAreAcknowledgedTogether(): void
    {
        $mail = $this->queue();
        $other = $this->queue('other');
        $mail->pushMany([1, 2, 3]);
        $other->pushMany([1, 2]);
        self::assertSame(2, $mail->ackMany(self::next($mail), self::next($other)));
        $next = $mail->ackAndPop(self::next($other));
        self::assertSame(2, $next?->body);
        // Another object for the same queue.
        self::assertSame(3, $this->queue()->ackAndPop($next)?->body);
        self::assertSame([1, 0], [$mail->stats()['claimed'], $other->stats()['claimed']]);
    }

    public function testTwoQueuesInOnePlaceAreTwo(): void
    {
        $mail = $this->queue();
        $other = $this->queue('other');
        $id = $mail->push('mail', key: 'k');
        self::assertNotSame($id, $other->push('other', key: 'k'));
        self::assertSame([1, 1], [$mail->size(), $other->size()]);
        self::next($other)->bury('bad');
        self::assertSame([], $mail->dead());
        self::assertSame([0, 0], [$mail->retryDead(), $other->purge()]);
        self::assertSame(['mail'], self::drain($mail));
        self::assertSame(1, $other->retryDead());
        self::assertSame(['other'], self::drain($other));
    }

    public function testAFullQueueSaysSoAndTakesNothing(): void
    {
        $queue = $this->queue('mail', ['limit' => 3]);
        $first = $queue->push('1', key: 'k');
        $queue->pushMany(['2']);
        self::assertFull(static fn() => $queue->pushMany(['3', '4']));
        self::assertSame(2, $queue->size());
        $queue->push('3', 3600);
        self::assertFull(static fn() => $queue->push('4'));
        self::assertFull(static fn() => $queue->push('4', 60));
        self::assertFull(static fn() => $queue->push('4', key: 'l'));
        self::assertSame($first, $queue->push('1', key: 'k'), 'It adds nothing.');
        $this->queue('other', ['limit' => 3])->push('there is room');
        $message = self::next($queue);
        self::assertSame('1', $message->body);
        $queue->push('4');
        self::assertTrue($message->release(), 'What was accepted once is kept.');
        self::assertFull(static fn() => $queue->push('5'));
        self::assertSame(4, $queue->size());
        self::drain($queue);
        $queue->push('6');
        self::assertSame(['6'], self::drain($queue));
    }

    /** @return iterable<string, array{\Closure(Queue): mixed}> */
    public static function pushes(): iterable
    {
        yield 'push' => [static fn(Queue $queue): string => $queue->push('more')];
        yield 'priority' => [static fn(Queue $queue): string => $queue->push('more', priority: 1)];
        yield 'delay' => [static fn(Queue $queue): string => $queue->push('more', 60)];
        yield 'key' => [static fn(Queue $queue): string => $queue->push('more', key: \uniqid())];
        yield 'pushMany' => [static fn(Queue $queue): array => $queue->pushMany(['more'])];
    }

    /** @param \Closure(Queue): mixed $push */
    #[DataProvider('pushes')]
    public function testWhatComesBackCountsAgain(\Closure $push): void
    {
        $queue = $this->queue('mail', ['limit' => 3]);
        $queue->pushMany(['1', '2', '3']);
        $held = $queue->popMany(3);
        $push($queue);
        $push($queue);
        \array_map(static fn(Message $message): bool => $message->release(), $held);
        self::assertFull(static fn() => $push($queue));
        self::assertSame(5, $queue->size());
        $queue->purge();
        $push($queue);
    }

    /** @param \Closure(Queue): mixed $push */
    #[DataProvider('pushes')]
    public function testWhatNobodyAcknowledgedCountsAgain(\Closure $push): void
    {
        $queue = $this->queue('mail', ['limit' => 3]);
        $queue->pushMany(['1', '2', '3']);
        $held = $queue->popMany(3);
        $push($queue);
        \array_map(self::expire(...), $held);
        self::assertSame(4, $queue->size());
        self::assertFull(static fn() => $push($queue));
    }

    /** @param \Closure(): mixed $push */
    protected static function assertFull(\Closure $push): void
    {
        try {
            $push();
        } catch (QueueFull $full) {
            self::assertStringContainsString('3', $full->getMessage());

            return;
        }
        self::fail('The queue is not full.');
    }
}
