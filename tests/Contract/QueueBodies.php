<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Codec\NotStorable;
use Larder\Queue\Queue;
use PHPUnit\Framework\Attributes\DataProvider;

/** Part of QueueContract: bodies, names, keys and numbers of every kind. */
trait QueueBodies
{
    /** @return iterable<string, array{mixed}> */
    public static function bodies(): iterable
    {
        yield 'null' => [null];
        yield 'false' => [false];
        yield 'true' => [true];
        yield 'zero' => [0];
        yield 'the greatest int' => [\PHP_INT_MAX];
        yield 'a float' => [0.1 + 0.2];
        yield 'minus zero' => [-0.0];
        yield 'infinity' => [\INF];
        yield 'no bytes' => [''];
        yield 'a number as a string' => ['007'];
        yield 'all bytes' => [\implode('', \array_map(\chr(...), \range(0, 255)))];
        yield 'a line' => ["a\nb\r\n\x00"];
        yield 'no UTF-8' => ["\xff\xfe"];
        yield 'an array' => [['a' => [1, 2, ['x' => null]], 5 => false]];
        yield 'an empty array' => [[]];
        yield 'an object' => [new \ArrayObject(['a' => 1])];
        yield 'a date' => [new \DateTimeImmutable('2026-01-02 03:04:05.678901', new \DateTimeZone('Europe/Berlin'))];
        yield 'objects in an array' => [[(object) ['a' => (object) []], (object) []]];
        yield 'a large one' => [\str_repeat("0123456789abcde\x00", 65_536 * 3)];
        yield 'one of 4,095 bytes' => [\str_repeat('x', 4_095)];
        yield 'one of 70,000 bytes' => [\str_repeat("\xff", 70_000)];
    }

    #[DataProvider('bodies')]
    public function testABodyIsNotChanged(mixed $body): void
    {
        foreach ([[], ['secret' => 'a secret of thirty-two characters']] as $i => $options) {
            $queue = $this->queue("mail$i", $options);
            $queue->push($body);
            $queue->push($body, 0.001, 1, 'key');
            $queue->pushMany([$body]);
            for ($n = 0; $n < 3; $n++) {
                $message = self::next($this->queue("mail$i", $options));
                \is_object($body) || \is_array($body) ? self::assertEquals($body, $message->body) : self::assertSame(\var_export($body, true), \var_export($message->body, true));
                self::assertTrue($message->ack());
            }
        }
    }

    public function testADeadBodyIsShownAsItWas(): void
    {
        $queue = $this->queue();
        $queue->push(new \ArrayObject(['a' => 1]));
        self::next($queue)->bury('bad');
        self::assertEquals(new \ArrayObject(['a' => 1]), $queue->dead()[0]['body']);
    }

    public function testABodyIsACopy(): void
    {
        $queue = $this->queue();
        $body = (object) ['n' => 1];
        $queue->push($body);
        $body->n = 2;
        self::assertEquals((object) ['n' => 1], self::next($queue)->body);
    }

    /** @return iterable<string, array{\Closure(): mixed}> */
    public static function unstorable(): iterable
    {
        yield 'a closure' => [static fn(): \Closure => static fn(): int => 1];
        yield 'a resource' => [static fn() => \fopen('php://memory', 'r')];
        yield 'a closure in an object' => [static fn(): object => (object) ['f' => static fn(): int => 1]];
        yield 'a generator' => [static fn(): \Generator => (static fn() => yield 1)()];
    }

    /** @param \Closure(): mixed $body */
    #[DataProvider('unstorable')]
    public function testWhatCannotBeStoredIsRefusedAndNothingIsAdded(\Closure $body): void
    {
        $queue = $this->queue();
        foreach ([static fn() => $queue->push($body()), static fn() => $queue->pushMany(['good', $body()])] as $push) {
            try {
                $push();
                self::fail('It was accepted.');
            } catch (NotStorable) {
                self::assertSame(0, $queue->size());
            }
        }
    }

    public function testABatchThatThrowsAddsNothing(): void
    {
        $queue = $this->queue();
        $bodies = (static function (): \Generator {
            yield 1;
            throw new \DomainException('no more');
        })();
        try {
            $queue->pushMany($bodies);
            self::fail('It did not throw.');
        } catch (\DomainException) {
            self::assertSame(0, $queue->size());
        }
    }

    public function testABodyWithTheWrongSignatureIsADeadLetter(): void
    {
        $secret = ['secret' => 'a secret of thirty-two characters'];
        $this->queue()->push('not signed');
        $this->queue('mail', ['secret' => 'another secret of some characters'])->push(['other' => 'secret']);
        $signed = $this->queue('mail', $secret);
        $signed->push('good');
        self::assertSame(['good'], self::drain($signed));
        $dead = $signed->dead();
        self::assertCount(2, $dead);
        foreach ($dead as $one) {
            self::assertNull($one['body']);
            self::assertStringContainsString('signed', $one['error']);
        }
    }

    /** @return iterable<string, array{string}> */
    public static function badNames(): iterable
    {
        foreach (['', '.', '..', '../up', 'a/b', "a\0b", "a\n", 'a b', '-a', 'ä', \str_repeat('a', 65), 'a*', 'a:b', "a'b", '{a}'] as $name) {
            yield \var_export($name, true) => [$name];
        }
    }

    #[DataProvider('badNames')]
    public function testABadNameIsRefused(string $name): void
    {
        $this->expectException(\InvalidArgumentException::class);
        $this->queue($name);
    }

    public function testNamesAreKeptApart(): void
    {
        $names = ['mail', 'Mail', 'mail.', 'mail-', 'mail_', 'mail.dead', 'mail-wal', 'queue.db', '0', '00', \str_repeat('a', 64), \str_repeat('a', 63)];
        foreach ($names as $name) {
            $this->queue($name)->push("of $name", key: 'k');
        }
        foreach ($names as $name) {
            self::assertSame(["of $name"], self::drain($this->queue($name)));
        }
    }

    public function testKeysAreBytes(): void
    {
        $queue = $this->queue();
        $keys = ['0', '00', ' ', "\0", "\0\0", "a\nb", "\xff", "'", '"', 'ä', 'a:b', '*', '{k}', \str_repeat('k', 1_000), \str_repeat('k', 999), 'K', 'k'];
        $ids = \array_map(static fn(string $key): string => $queue->push($key, key: $key), $keys);
        self::assertCount(\count($keys), \array_unique($ids));
        foreach ($keys as $i => $key) {
            self::assertSame($ids[$i], $queue->push('again', key: $key));
        }
        self::assertSame($keys, self::drain($queue));
    }

    /** @return iterable<string, array{\Closure(Queue): mixed}> */
    public static function badArguments(): iterable
    {
        foreach (['below zero' => -0.001, 'not a number' => \NAN, 'infinite' => \INF, 'below infinity' => -\INF, 'of centuries' => 1e11, 'the greatest' => \PHP_INT_MAX] as $what => $seconds) {
            yield "a delay $what" => [static fn(Queue $queue) => $queue->push('bad', $seconds)];
            yield "a delay of many $what" => [static fn(Queue $queue) => $queue->pushMany(['bad'], $seconds)];
            yield "a wait $what" => [static fn(Queue $queue) => $queue->pop(60, $seconds)];
            yield "a wait for many $what" => [static fn(Queue $queue) => $queue->popMany(2, 60, $seconds)];
            yield "a release $what" => [static fn(Queue $queue) => $queue->pop()?->release($seconds)];
            yield "an extension $what" => [static fn(Queue $queue) => $queue->pop()?->extend($seconds)];
        }
        foreach ([0, -1, \PHP_INT_MIN, \PHP_INT_MAX] as $visibility) {
            yield "a visibility of $visibility" => [static fn(Queue $queue) => $queue->pop($visibility)];
            yield "a visibility of many of $visibility" => [static fn(Queue $queue) => $queue->popMany(2, $visibility)];
            yield "a visibility after an ack of $visibility" => [static fn(Queue $queue) => $queue->ackAndPop($queue->pop() ?? self::fail('No message.'), $visibility)];
            yield "an extension of $visibility" => [static fn(Queue $queue) => $queue->pop()?->extend($visibility)];
        }
        yield 'none' => [static fn(Queue $queue) => $queue->popMany(0)];
        yield 'fewer than none' => [static fn(Queue $queue) => $queue->popMany(-1)];
        yield 'fewer dead than none' => [static fn(Queue $queue) => $queue->dead(-1)];
        yield 'an empty key' => [static fn(Queue $queue) => $queue->push('bad', key: '')];
        yield 'a long key' => [static fn(Queue $queue) => $queue->push('bad', key: \str_repeat('k', 1_001))];
        yield 'too great a priority' => [static fn(Queue $queue) => $queue->push('bad', priority: \PHP_INT_MAX)];
        yield 'too small a priority' => [static fn(Queue $queue) => $queue->pushMany(['bad'], priority: \PHP_INT_MIN)];
    }

    /** @param \Closure(Queue): mixed $call */
    #[DataProvider('badArguments')]
    public function testABadNumberIsRefusedAndChangesNothing(\Closure $call): void
    {
        $queue = $this->queue();
        $queue->push('good');
        try {
            $call($queue);
            self::fail('It was accepted.');
        } catch (\InvalidArgumentException $refused) {
            self::assertNotSame('', $refused->getMessage());
        }
        $claimed = $queue->size() === 0;
        self::assertSame($claimed ? [] : ['good'], self::drain($queue));
        self::assertSame([], $queue->dead());
    }

    public function testTheGreatestNumbersThatAreAccepted(): void
    {
        $queue = $this->queue();
        $queue->push('delayed', 315_360_000);
        $queue->push('greatest', priority: 2_147_483_647);
        $queue->push('smallest', priority: -2_147_483_648);
        $message = $queue->pop(315_360_000);
        self::assertSame('greatest', $message?->body);
        self::assertTrue($message->extend(315_360_000));
        self::assertTrue($message->release(315_360_000));
        self::assertCount(1, $queue->popMany(\PHP_INT_MAX));
        self::assertSame(2, $queue->size());
        $queue = $this->queue('mail', ['limit' => \PHP_INT_MAX, 'attempts' => \PHP_INT_MAX]);
        $queue->push('next');
        self::assertTrue($queue->pop()?->bury());
        self::assertCount(1, $queue->dead(\PHP_INT_MAX));
        self::assertSame(1, $queue->retryDead());
    }

}
