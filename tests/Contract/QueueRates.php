<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Queue\Queue;
use Larder\Queue\Worker;
use Larder\Queue\WorkerLimits;

/** Part of QueueContract: messages that are handed out at a rate. */
trait QueueRates
{
    // Seen to fail: a rate that counts nothing, and one that holds back where nothing is ready.
    public function testAtARateSoManyAreHandedOutAndNoMore(): void
    {
        $queue = $this->queue();
        $queue->pushMany(\range(1, 6));
        $limited = $queue->atMost(3, 3_600);
        $messages = [...$limited->popMany(2), ...$limited->popMany(10)];
        self::assertSame([1, 2, 3], \array_column($messages, 'body'));
        self::assertNull($limited->pop());
        self::assertTrue($limited->isHeldBack());
        self::assertNull($limited->ackAndPop($messages[0]), 'It acknowledges all the same.');
        self::assertSame([], $this->queue()->atMost(3, 3_600)->popMany(10), 'another worker');
        self::assertSame([], $this->queue()->atMost(2, 3_600)->popMany(10), 'one that is allowed less');
        self::assertSame([4], \array_column($fourth = $this->queue()->atMost(4, 3_600)->popMany(10), 'body'), 'one that is allowed more');
        self::assertSame([5], \array_column($this->queue()->atMost(1, 60)->popMany(10), 'body'), 'other seconds');
        self::assertSame(2, $queue->ackMany($messages[1], ...$fourth));
        self::assertSame(['ready' => 1, 'claimed' => 2], \array_intersect_key($queue->stats(), ['ready' => 0, 'claimed' => 0]));
        $last = self::next($queue);
        self::assertSame([6, 1], [$last->body, $last->attempts], 'It was never claimed and put back.');
        self::assertNull($limited->pop());
        self::assertFalse($limited->isHeldBack(), 'There is nothing to hold back.');
        self::assertTrue($last->release());
        self::assertNull($limited->pop());
        self::assertTrue($limited->isHeldBack(), 'It comes again.');
    }

    public function testAtARateItGoesOnWhenTheTimeHasPassed(): void
    {
        $queue = $this->queue();
        $queue->pushMany(\range(1, 7));
        $limited = $queue->atMost(2, 0.2);
        $bodies = [];
        while (\count($bodies) < 7) {
            $bodies[] = self::next($limited)->body;
        }
        self::assertSame(\range(1, 7), $bodies);
    }

    // Seen to fail: a worker that takes a message that is held back for none.
    public function testAWorkerAtARateEndsWhenAllIsHandled(): void
    {
        $queue = $this->queue();
        $queue->pushMany(\range(-1, 5));
        $limited = $queue->atMost(2, 0.5);
        // What the worker meets first is held back.
        self::assertSame(2, $queue->ackMany(...$limited->popMany(2)));
        $bodies = [];
        $worker = new Worker($limited, static function (mixed $body) use (&$bodies): void {
            $bodies[] = $body;
        }, new WorkerLimits(whileEmpty: true));
        self::assertSame(5, $worker->run());
        self::assertSame(\range(1, 5), $bodies);
        self::assertSame(0, $queue->stats()['claimed']);
    }

    public function testAPausedQueueHoldsNothingBackForItsRate(): void
    {
        $queue = $this->queue();
        $queue->pushMany([1, 2]);
        $limited = $queue->atMost(1, 3_600);
        self::next($limited);
        $queue->pause();
        self::assertNull($limited->pop());
        self::assertFalse($limited->isHeldBack());
    }

    public function testARateThatIsNoneIsRefused(): void
    {
        foreach ([static fn(Queue $queue) => $queue->atMost(0, 60), static fn(Queue $queue) => $queue->atMost(10_001, 60), static fn(Queue $queue) => $queue->atMost(1, 0), static fn(Queue $queue) => $queue->atMost(1, \NAN), static fn(Queue $queue) => $queue->atMost(1, 4e8)] as $call) {
            try {
                $call($this->queue());
                self::fail('It is no rate.');
            } catch (\InvalidArgumentException $refusal) {
                self::assertStringContainsString('rate', $refusal->getMessage());
            }
        }
    }
}
