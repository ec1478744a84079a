<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Queue\Message;

/** What waits can be looked at and removed, without handing it out. */
trait QueueListing
{
    public function testWhatWaitsIsListedInTheOrderInWhichItIsHandedOut(): void
    {
        $queue = $this->queue();
        $ids = ['low' => $queue->push('low', priority: -1)];
        // It has come back, and what is pushed later comes before it.
        self::next($queue)->release();
        $ids += [
            'a' => $queue->push('a'), 'b' => $queue->push('b'), 'high' => $queue->push('high', priority: 2),
            'latest' => $queue->push('latest', 7_200), 'later' => $queue->push('later', 3_600, 5), 'keyed' => $queue->push('keyed', key: 'k'),
        ];
        $first = self::next($queue);
        self::assertSame('high', $first->body);
        self::assertTrue($first->release());
        $order = ['high', 'a', 'b', 'keyed', 'low', 'later', 'latest'];
        self::assertSame($order, \array_column($this->queue()->waiting(), 'body'));
        self::assertSame(\array_map(static fn(string $body): string => $ids[$body], $order), \array_column($queue->waiting(), 'id'));
        self::assertSame([1, 0, 0, 0, 1, 0, 0], \array_column($queue->waiting(), 'attempts'));
        foreach ([0, 1, 3, 6] as $limit) {
            self::assertSame(\array_slice($order, 0, $limit), \array_column($queue->waiting($limit), 'body'));
        }
        foreach ($ids as $body => $id) {
            self::assertSame([$body], \array_column($queue->waiting(100, $id), 'body'));
        }
        self::assertSame([[], []], [$queue->waiting(100, 'unknown'), $queue->waiting(100, '')]);
        self::assertSame([5, 2], [$queue->stats()['ready'], $queue->stats()['delayed']]);
        self::assertSame(['high', 'a', 'b', 'keyed', 'low'], \array_map(static fn(Message $message): mixed => $message->body, $queue->popMany(9)));
        self::assertSame(['later', 'latest'], \array_column($queue->waiting(), 'body'));
        $this->expectException(\InvalidArgumentException::class);
        $queue->waiting(-1);
    }

    public function testWhatWaitsIsRemovedByItsId(): void
    {
        $queue = $this->queue('mail', ['attempts' => 1]);
        $ids = \array_map(static fn(string $body): string => $queue->push($body), ['claimed', 'dead', 'again', 'fresh', 'other']);
        $ids[] = $queue->push('delayed', 3_600);
        $ids[] = $queue->push('keyed', key: 'k');
        [$claimed, $dead] = $queue->popMany(2);
        $dead->bury();
        self::assertSame(0, $queue->remove('unknown', '', "\x00", $ids[0], $ids[1]), 'These do not wait.');
        self::assertSame(0, $queue->remove());
        self::assertSame(4, $this->queue()->remove($ids[2], $ids[3], $ids[3], $ids[5], $ids[6]));
        self::assertSame(['other'], \array_column($queue->waiting(), 'body'));
        self::assertSame([1, 0, 1, 1], \array_values(\array_slice($queue->stats(), 0, 4)));
        self::assertTrue($claimed->ack());
        // Its key is free.
        self::assertNotSame($ids[6], $queue->push('anew', key: 'k'));
        self::assertSame(['other', 'anew'], \array_map(static fn(Message $message): mixed => $message->body, $queue->popMany(9)));
        self::assertSame(0, $queue->size());
    }

    public function testWhatHasComeBackIsRemovedToo(): void
    {
        $queue = $this->queue();
        $id = $queue->push('again', key: 'k', untilHandled: true);
        self::next($queue)->release();
        self::assertSame([$id], \array_column($queue->waiting(), 'id'));
        self::assertSame(1, $queue->remove($id));
        self::assertSame([[], 0, null], [$queue->waiting(), $queue->size(), $queue->pop()]);
        self::assertNotSame($id, $queue->push('new', key: 'k'));
    }
}
