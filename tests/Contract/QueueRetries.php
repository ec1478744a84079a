<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Queue\Message;
use Larder\Queue\QueueFull;
use PHPUnit\Framework\Attributes\DataProvider;

/** Part of QueueContract: what is not acknowledged comes again, until it is dead. */
trait QueueRetries
{
    public function testWhatNobodyAcknowledgesIsHandedOutAgain(): void
    {
        $queue = $this->queue();
        $id = $queue->push('body');
        $start = \hrtime(true);
        self::assertNotNull($queue->pop(1));
        $again = self::next($this->queue());
        self::assertGreaterThanOrEqual(990_000_000, \hrtime(true) - $start);
        self::assertSame([$id, 'body', 2], [$again->id, $again->body, $again->attempts]);
    }

    public function testWhatIsExtendedIsNobodyElses(): void
    {
        $queue = $this->queue();
        $queue->push('body');
        $message = $queue->pop(1);
        self::assertTrue($message?->extend(60));
        self::assertNull($queue->pop(60, 1.1));
        self::assertTrue($message->ack());
    }

    /** @return iterable<string, array{\Closure(Message): bool}> */
    public static function lateCalls(): iterable
    {
        yield 'ack' => [static fn(Message $message): bool => $message->ack()];
        yield 'release' => [static fn(Message $message): bool => $message->release()];
        yield 'release with a delay' => [static fn(Message $message): bool => $message->release(5, 'late')];
        yield 'extend' => [static fn(Message $message): bool => $message->extend(0.001)];
        yield 'bury' => [static fn(Message $message): bool => $message->bury('late')];
    }

    /** @param \Closure(Message): bool $call */
    #[DataProvider('lateCalls')]
    public function testALateCallNeverTouchesTheNewOwnersMessage(\Closure $call): void
    {
        $queue = $this->queue();
        $queue->push('body');
        $late = self::next($queue);
        self::expire($late);
        $owner = self::next($queue);
        self::assertFalse($call($late));
        \usleep(20_000);
        self::assertSame([null, 0, []], [$queue->pop(), $queue->size(), $queue->dead()]);
        self::assertTrue($owner->extend(60));
        self::assertSame(0, $queue->ackMany($late));
        self::assertNull($queue->ackAndPop($late));
        self::assertTrue($owner->ack());
    }

    public function testALateAcknowledgementStillTakesTheNextMessage(): void
    {
        $queue = $this->queue();
        $queue->pushMany(['late', 'next', 'last']);
        $late = self::next($queue);
        self::expire($late);
        $owner = self::next($queue);
        self::assertSame($late->id, $owner->id);
        self::assertSame('next', $queue->ackAndPop($late)?->body);
        self::assertTrue($owner->extend(60));
        self::assertSame('last', $queue->ackAndPop($owner)?->body);
        self::assertFalse($owner->extend(60));
        self::assertSame(0, $queue->size());
    }

    public function testALateCallOfManyCountsItsOwn(): void
    {
        $queue = $this->queue();
        $queue->pushMany(['late', 'in time']);
        $messages = $queue->popMany(2);
        self::expire($messages[0]);
        $owner = self::next($queue);
        self::assertSame('late', $owner->body);
        self::assertSame(1, $queue->ackMany(...$messages));
        self::assertTrue($owner->ack());
    }

    public function testAReleasedMessageComesAgain(): void
    {
        $queue = $this->queue();
        $id = $queue->push('first');
        $queue->push('second');
        self::assertTrue(self::next($queue)->release());
        $again = self::next($queue);
        self::assertSame([$id, 2], [$again->id, $again->attempts], 'Its place is as before.');
        $start = \hrtime(true);
        self::assertTrue($again->release(0.1));
        self::assertSame(['second'], self::drain($queue));
        self::assertSame([$id, 3], [($third = self::next($queue))->id, $third->attempts]);
        self::assertGreaterThanOrEqual(99_000_000, \hrtime(true) - $start);
    }

    public function testAFailedMessageRestsBeforeItComesAgain(): void
    {
        $queue = $this->queue();
        $queue->push('body');
        $start = \hrtime(true);
        self::assertTrue(self::next($queue)->release(null, 'It failed.'));
        self::assertSame([null, 1], [$queue->pop(), $queue->size()]);
        self::assertSame(2, self::next($queue)->attempts);
        self::assertGreaterThanOrEqual(999_000_000, \hrtime(true) - $start);
    }

    public function testAfterItsLastAttemptAMessageIsDeadAndItsErrorIsKept(): void
    {
        $queue = $this->queue('mail', ['attempts' => 3]);
        $before = \time();
        $id = $queue->push(['to' => 'all']);
        foreach ([1, 2, 3] as $attempt) {
            $message = self::next($queue);
            self::assertSame($attempt, $message->attempts);
            self::assertTrue($message->release(0, "The server said no, $attempt."));
        }
        self::assertSame([null, 0], [$queue->pop(), $queue->size()]);
        $dead = $this->queue()->dead();
        self::assertCount(1, $dead);
        self::assertSame([$id, ['to' => 'all'], 3, 'The server said no, 3.'], [$dead[0]['id'], $dead[0]['body'], $dead[0]['attempts'], $dead[0]['error']]);
        self::assertGreaterThanOrEqual($before, $dead[0]['at']);
        self::assertLessThanOrEqual(\time(), $dead[0]['at']);
    }

    public function testTheDeadWaitAgainOnlyIfAllMayWait(): void
    {
        $queue = $this->queue('mail', ['limit' => 4]);
        $ids = [];
        foreach (['a', 'b', 'c', 'd'] as $body) {
            $ids[] = $queue->push($body);
            self::next($queue)->bury('bad');
        }
        $queue->push('waits');
        foreach ([[], $ids] as $all) {
            try {
                $queue->retryDead(...$all);
                self::fail('Five wait.');
            } catch (QueueFull $full) {
                self::assertStringContainsString('holds 1 waiting', $full->getMessage());
                self::assertStringContainsString('4 dead', $full->getMessage());
            }
            self::assertSame([1, 4], [$queue->size(), \count($queue->dead())]);
        }
        self::assertSame(3, $queue->retryDead($ids[0], $ids[1], $ids[2], $ids[0]));
        self::assertSame(4, $queue->size());
        try {
            $queue->retryDead($ids[3]);
            self::fail('Five wait.');
        } catch (QueueFull) {
            self::assertSame(['a', 'b', 'c', 'waits'], self::drain($queue));
        }
        self::assertSame(1, $queue->retryDead());
        self::assertSame(['d'], self::drain($queue));
    }

    public function testAMessageThatItsWorkersDoNotSurviveIsDeadToo(): void
    {
        $queue = $this->queue('mail', ['attempts' => 2]);
        $queue->push('killer');
        self::assertTrue(self::next($queue)->release(0, 'The original error.'));
        self::expire(self::next($queue));
        self::assertSame([0, null], [$queue->size(), $queue->pop()]);
        [$dead] = $queue->dead();
        self::assertSame(['killer', 2], [$dead['body'], $dead['attempts']]);
        self::assertStringContainsString('The original error.', $dead['error']);
        $queue->push('unknown killer');
        self::expire(self::next($queue));
        self::expire(self::next($queue));
        [, $dead] = $queue->dead();
        self::assertSame('unknown killer', $dead['body']);
        self::assertNotSame('', $dead['error']);
    }

    public function testABuriedMessageIsDead(): void
    {
        $queue = $this->queue();
        $ids = $queue->pushMany([1, 2, 3], priority: 4);
        $messages = $queue->popMany(2);
        self::assertTrue($messages[1]->bury("Binary: \x00\xff."));
        self::assertTrue($messages[0]->bury());
        self::assertFalse($messages[0]->ack());
        $dead = $queue->dead();
        self::assertEqualsCanonicalizing([$ids[0], $ids[1]], \array_column($dead, 'id'));
        self::assertSame("Binary: \x00\xff.", $dead[\array_search($ids[1], \array_column($dead, 'id'), true)]['error']);
        self::assertCount(1, $queue->dead(1));
        self::assertSame([], $queue->dead(0));
        self::assertSame([3], self::drain($queue));
    }

    public function testTheDeadCanBeTriedAgain(): void
    {
        $queue = $this->queue();
        $ids = $queue->pushMany([1, 2, 3, 4]);
        foreach ($queue->popMany(4) as $message) {
            $message->bury('bad');
        }
        self::assertSame(0, $queue->retryDead('unknown', "\x00", ''));
        self::assertSame(1, $queue->retryDead($ids[1], $ids[1], 'unknown'));
        $message = self::next($queue);
        self::assertSame([$ids[1], 2, 1], [$message->id, $message->body, $message->attempts], 'Its attempts begin anew.');
        self::assertTrue($message->ack());
        self::assertSame(3, $this->queue()->retryDead());
        self::assertSame([], $queue->dead());
        self::assertEqualsCanonicalizing([1, 3, 4], self::drain($queue));
        self::assertSame(0, $queue->retryDead());
    }

    public function testTheDeadCanBeRemoved(): void
    {
        $queue = $this->queue();
        $ids = $queue->pushMany([1, 2, 3, 4, 'waits']);
        foreach ($queue->popMany(4) as $message) {
            $message->bury('bad');
        }
        self::assertSame(0, $queue->removeDead(3600), 'None is so old.');
        self::assertSame(0, $queue->removeDead(0, 'unknown', "\x00", '', $ids[4]));
        self::assertSame(0, $queue->removeDead(3600, $ids[0]));
        self::assertSame(2, $queue->removeDead(0, $ids[1], $ids[1], $ids[2]));
        self::assertSame([1, 4], \array_column($queue->dead(), 'body'));
        self::assertSame(2, $this->queue()->removeDead());
        self::assertSame([[], 0, ['waits'], 0], [$queue->dead(), $queue->stats()['dead'], self::drain($queue), $queue->retryDead()]);
    }

    public function testTheDeadStayAsLongAsTheOptionSays(): void
    {
        $this->queue()->push('body');
        self::next($this->queue())->bury('bad');
        self::assertCount(1, $this->queue('mail', ['keep' => 3600])->dead());
        for ($end = \hrtime(true) + 10_000_000_000; $this->queue('mail', ['keep' => 0.05])->dead() !== [] && \hrtime(true) < $end;) {
            \usleep(10_000);
        }
        self::assertSame([], $this->queue()->dead());
    }

    public function testADeadMessageStaysDeadWhereItsKeyWaits(): void
    {
        $queue = $this->queue();
        $dead = $queue->push('dead', key: 'k');
        self::next($queue)->bury('bad');
        $queue->push('waits', key: 'k');
        self::assertSame([0, 0], [$queue->retryDead($dead), $queue->retryDead()]);
        self::assertSame(['waits'], self::drain($queue));
        self::assertSame(1, $queue->retryDead());
        self::assertSame($dead, $queue->push('again', key: 'k'));
        self::assertSame(['dead'], self::drain($queue));
    }
}
