<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Queue\Message;
use Larder\Queue\Queue;
use PHPUnit\Framework\Attributes\DataProvider;

/** Part of QueueContract: keys that stay until their message was handled. */
trait QueueUnique
{
    // Seen to fail where a claim frees each key: a second one was added while the first was handled.
    public function testAKeyStaysUntilItsMessageWasHandled(): void
    {
        $queue = $this->queue();
        $id = $queue->push('first', key: 'k', untilHandled: true);
        self::assertSame([$id, $id], [$queue->push('again', key: 'k', untilHandled: true), $queue->push('again', key: 'k')], 'It waits.');
        $message = self::next($this->queue());
        self::assertSame([$id, 'first'], [$message->id, $message->body]);
        self::assertSame([$id, $id], [$this->queue()->push('again', key: 'k', untilHandled: true), $queue->push('again', 60, 9, 'k')], 'It is handled.');
        self::assertSame([0, 1], [$queue->size(), $queue->stats()['claimed']]);
        self::assertNotSame($id, $queue->push('other', key: 'K', untilHandled: true));
        self::assertTrue($message->ack());
        self::assertNotSame($id, $queue->push('second', key: 'k', untilHandled: true));
        self::assertSame(['other', 'second'], self::drain($queue));
    }

    /** @return iterable<string, array{\Closure(Queue, Message): mixed}> what ends a message, which may have one attempt */
    public static function lastEnds(): iterable
    {
        yield 'acknowledged' => [static fn(Queue $queue, Message $message): bool => $message->ack()];
        yield 'with others' => [static fn(Queue $queue, Message $message): int => $queue->ackMany(self::next($queue), $message)];
        yield 'alone' => [static fn(Queue $queue, Message $message): int => $queue->ackMany($message)];
        yield 'while the next is taken' => [static fn(Queue $queue, Message $message): ?Message => $queue->ackAndPop($message)];
        yield 'while there is no next' => [static fn(Queue $queue, Message $message): array => [$queue->popMany(2), $queue->ackAndPop($message)]];
        yield 'dead' => [static fn(Queue $queue, Message $message): bool => $message->bury('bad')];
        yield 'dead after its last attempt' => [static fn(Queue $queue, Message $message): bool => $message->release()];
        yield 'dead of its worker' => [static fn(Queue $queue, Message $message) => self::expire($message)];
    }

    // Seen to fail: dead ones kept their keys for ever.
    /** @param \Closure(Queue, Message): mixed $end */
    #[DataProvider('lastEnds')]
    public function testAKeyIsFreeOnceItsMessageWasHandledOrIsDead(\Closure $end): void
    {
        $queue = $this->queue('mail', ['attempts' => 1]);
        $id = $queue->push('first', key: 'k', untilHandled: true);
        $queue->push('other');
        $queue->push('another', key: 'l');
        $end($queue, self::next($queue));
        $second = $queue->push('second', key: 'k', untilHandled: true);
        self::assertNotSame($id, $second);
        self::assertSame($second, $queue->push('third', key: 'k'));
        self::assertContains('second', self::drain($queue));
        self::assertNotSame($second, $queue->push('fourth', key: 'k'));
    }

    /** @param \Closure(Message): mixed $return */
    #[DataProvider('returns')]
    public function testWhatComesBackHasItsKeyStill(\Closure $return): void
    {
        $queue = $this->queue();
        $id = $queue->push('body', key: 'k', untilHandled: true);
        $message = self::next($queue);
        foreach ([2, 3] as $attempts) {
            $return($message);
            self::assertSame($id, $queue->push('again', key: 'k', untilHandled: true));
            self::assertSame(1, $queue->size());
            $message = self::next($queue);
            self::assertSame([$id, 'body', $attempts], [$message->id, $message->body, $message->attempts]);
            self::assertSame($id, $queue->push('again', key: 'k'));
        }
        self::assertTrue($message->ack());
        self::assertNotSame($id, $queue->push('next', key: 'k'));
        self::assertSame(['next'], self::drain($queue));
    }

    /** @param \Closure(Message): bool $call */
    #[DataProvider('lateCalls')]
    public function testALateCallDoesNotFreeTheKey(\Closure $call): void
    {
        $queue = $this->queue();
        $id = $queue->push('body', key: 'k', untilHandled: true);
        $late = self::next($queue);
        self::expire($late);
        $owner = self::next($queue);
        self::assertFalse($call($late));
        self::assertSame([0, null], [$queue->ackMany($late), $queue->ackAndPop($late)]);
        self::assertSame($id, $queue->push('again', key: 'k', untilHandled: true));
        self::assertTrue($owner->ack());
        self::assertNotSame($id, $queue->push('again', key: 'k', untilHandled: true));
    }

    public function testADeadOneThatWaitsAgainHasItsKeyUntilItWasHandled(): void
    {
        $queue = $this->queue();
        $dead = $queue->push('dead', key: 'k', untilHandled: true);
        self::assertTrue(self::next($queue)->bury('bad'));
        $other = $queue->push('other', key: 'k', untilHandled: true);
        $message = self::next($queue);
        self::assertSame([0, 0], [$queue->retryDead(), $queue->retryDead($dead)], 'Its key is that of the one being handled.');
        self::assertSame($other, $queue->push('again', key: 'k'));
        self::assertTrue($message->ack());
        self::assertSame(1, $queue->retryDead());
        $message = self::next($queue);
        self::assertSame([$dead, $dead], [$message->id, $queue->push('again', key: 'k')]);
        self::assertTrue($message->ack());
        self::assertNotSame($dead, $queue->push('again', key: 'k'));
    }

    // Seen to fail: the key of the one being handled was free.
    public function testPurgeFreesTheKeysOfWhatWaitsAlone(): void
    {
        $queue = $this->queue();
        $handled = $queue->push('handled', key: 'k', untilHandled: true);
        $message = self::next($queue);
        $queue->push('plain', key: 'p');
        $plain = self::next($queue);
        $queue->push('plain again', key: 'p');
        $waits = [$queue->push('waits', key: 'l', untilHandled: true), $queue->push('delayed', 60, key: 'm', untilHandled: true)];
        self::assertSame(3, $queue->purge());
        self::assertSame($handled, $queue->push('again', key: 'k'));
        self::assertNotContains($queue->push('new', key: 'l'), $waits);
        self::assertNotContains($queue->push('new', key: 'm'), $waits);
        self::assertNotSame($plain->id, $queue->push('new', key: 'p'));
        self::assertTrue($message->release());
        self::assertSame(['handled', 'new', 'new', 'new'], self::drain($queue));
    }

    /** How the message was pushed that has the key counts, not how the next one is. */
    public function testBesideAPlainKey(): void
    {
        $queue = $this->queue();
        $plain = $queue->push('plain', key: 'k');
        self::assertSame($plain, $queue->push('stays', key: 'k', untilHandled: true));
        $message = self::next($queue);
        $id = $queue->push('stays', key: 'k', untilHandled: true);
        self::assertNotSame($plain, $id);
        $second = self::next($queue);
        self::assertSame('stays', $second->body);
        self::assertTrue($message->release());
        self::assertSame([0, null], [$queue->size(), $queue->pop()], 'What came back is dropped: the other one is handled.');
        self::assertSame($id, $queue->push('plain', key: 'k'));
        self::assertTrue($second->ack());
        self::assertNotSame($id, $queue->push('plain', key: 'k'));
    }

    public function testKeysThatStayAreBytes(): void
    {
        $queue = $this->queue();
        $keys = ['0', '00', ' ', "\0", "a\nb", "\xff", "'", '5 x', 'ä', \str_repeat('k', 1_000), 'K', 'k'];
        $ids = \array_map(static fn(string $key): string => $queue->push($key, key: $key, untilHandled: true), $keys);
        $messages = $queue->popMany(100);
        self::assertSame([$ids, $keys], [\array_column($messages, 'id'), \array_column($messages, 'body')]);
        self::assertSame($ids, \array_map(static fn(string $key): string => $queue->push('again', key: $key), $keys));
        self::assertSame(\count($keys), $queue->ackMany(...$messages));
        self::assertCount(\count($keys), \array_diff(\array_map(static fn(string $key): string => $queue->push($key, key: $key), $keys), $ids));
    }

    public function testOnlyAKeyCanStay(): void
    {
        $queue = $this->queue();
        try {
            $queue->push('body', untilHandled: true);
            self::fail('It has no key.');
        } catch (\InvalidArgumentException) {
            self::assertSame(0, $queue->size());
        }
    }
}
