<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Config\InvalidConfiguration;
use Larder\Queue\FakeQueue;
use Larder\Queue\Message;
use Larder\Queue\Queue;
use Larder\Queue\QueueFull;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

/** What a program's tests do with it; MemoryQueueTest has the rules that it shares with the real ones. */
#[CoversClass(FakeQueue::class)]
final class FakeQueueTest extends TestCase
{
    public function testItTellsWhatWasPushed(): void
    {
        $fake = new FakeQueue('mail');
        $id = $fake->queue->push(['to' => 'ada'], key: '7');
        $fake->queue->push(['to' => 'ada again'], key: '7');
        $fake->queue->push((object) ['to' => 'bob'], 1.5, 3, 'k', untilHandled: true);
        $fake->queue->pushMany(['x', 'y']);
        $pushed = $fake->pushed();
        self::assertSame(['id' => $id, 'body' => ['to' => 'ada'], 'delay' => 0, 'priority' => 0, 'key' => '7', 'untilHandled' => false], $pushed[0]);
        self::assertEquals(['body' => (object) ['to' => 'bob'], 'delay' => 1.5, 'priority' => 3, 'key' => 'k', 'untilHandled' => true], \array_diff_key($pushed[1], ['id' => 0]));
        self::assertSame(['x', 'y'], \array_column(\array_slice($pushed, 2), 'body'));
        self::assertSame(3, $fake->work(static fn() => null));
        self::assertCount(4, $fake->pushed(), 'Whatever became of them.');
    }

    // Seen to fail by the machine's clock.
    public function testTimePassesAsTheTestSays(): void
    {
        $fake = new FakeQueue();
        $fake->queue->push('later', 60);
        $fake->queue->push('claimed');
        self::assertNotNull($fake->queue->pop(90));
        $handled = [];
        $handler = static function (mixed $body, Message $message) use (&$handled): void {
            $handled[] = [$body, $message->attempts];
        };
        \usleep(5_000);
        self::assertSame(0, $fake->work($handler));
        $fake->pass(59.999);
        self::assertSame(0, $fake->work($handler));
        $fake->pass(0.001);
        self::assertSame(1, $fake->work($handler));
        $fake->pass(30);
        self::assertSame(1, $fake->work($handler));
        self::assertSame([['later', 1], ['claimed', 2]], $handled);
    }

    public function testAHandlerThatThrowsIsTriedAgainUntilItsMessageIsDead(): void
    {
        $fake = new FakeQueue('mail', ['attempts' => 2]);
        $fake->queue->push('bad');
        $handler = static function (): never {
            throw new \DomainException('no');
        };
        self::assertSame(1, $fake->work($handler));
        self::assertSame(0, $fake->work($handler), 'It rests.');
        $fake->pass(1.2);
        self::assertSame(1, $fake->work($handler));
        self::assertStringContainsString('DomainException: no', $fake->queue->dead()[0]['error']);
        self::assertSame(1, $fake->queue->retryDead());
        self::assertSame(1, $fake->work(static fn() => null));
        self::assertSame([0, []], [$fake->queue->size(), $fake->queue->dead()]);
    }

    public function testWhatAHandlerPushesIsHandledToo(): void
    {
        $fake = new FakeQueue();
        $fake->queue->push(3);
        self::assertSame(4, $fake->work(static fn(int $n) => $n > 0 ? $fake->queue->push($n - 1) : null));
    }

    public function testOptions(): void
    {
        $fake = new FakeQueue('mail', ['limit' => 1, 'secret' => 'a secret of thirty-two characters']);
        $fake->queue->push(['one']);
        self::assertSame([['one']], \array_column($fake->pushed(), 'body'));
        try {
            $fake->queue->push('two');
            self::fail('It is full.');
        } catch (QueueFull) {
        }
        $this->expectException(InvalidConfiguration::class);
        new FakeQueue('mail', ['attempt' => 1]);
    }

    public function testADsnOfMemoryIsNoQueue(): void
    {
        $this->expectExceptionMessage('FakeQueue');
        Queue::open('memory://', 'mail');
    }
}
