<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

/** Part of QueueContract: several processes at one queue. */
trait QueueProcesses
{
    public function testProducersAndWorkersLoseNothingAndDoNothingTwice(): void
    {
        $each = 60;
        $handled = $this->inProcesses(6, function (int $i) use ($each): array {
            $queue = $this->queue();
            if ($i < 3) {
                for ($n = 0; $n < $each; $n++) {
                    match ($n % 3) {
                        0 => $queue->push("$i-$n"),
                        1 => $queue->pushMany(["$i-$n"]),
                        2 => $queue->push("$i-$n", key: "$i-$n"),
                    };
                }

                return [];
            }
            $bodies = [];
            $message = null;
            while (true) {
                $message = match (true) {
                    $message === null || $i === 3 => $queue->pop(60, 1.5),
                    default => $queue->ackAndPop($message, 60, 1.5),
                };
                if ($message === null) {
                    return $bodies;
                }
                $bodies[] = $message->body;
                $i === 3 && self::assertTrue($message->ack());
            }
        });
        $all = \array_merge(...$handled);
        self::assertCount(3 * $each, $all);
        self::assertCount(3 * $each, \array_unique($all));
        foreach ($handled as $of) {
            foreach ([0, 1, 2] as $producer) {
                $own = \array_map(static fn(string $body): int => (int) \substr($body, 2), \array_values(\array_filter($of, static fn(string $body): bool => \str_starts_with($body, "$producer-"))));
                $sorted = $own;
                \sort($sorted);
                self::assertSame($sorted, $own, 'Each worker gets the messages of a producer in their order.');
            }
        }
        self::assertSame(0, $this->queue()->size());
    }

    public function testAKeyHasOneMessageUnderManyProducers(): void
    {
        $ids = $this->inProcesses(4, function (): array {
            $queue = $this->queue();

            return \array_map(static fn(int $n): string => $queue->push($n, key: 'k' . $n % 5), \range(0, 24));
        });
        self::assertCount(5, \array_unique(\array_merge(...$ids)));
        self::assertSame(5, $this->queue()->size());
    }

    public function testTheLimitHoldsUnderManyProducers(): void
    {
        $accepted = $this->inProcesses(4, function (): int {
            $queue = $this->queue('mail', ['limit' => 50]);
            $accepted = 0;
            for ($n = 0; $n < 25; $n++) {
                try {
                    $queue->push($n);
                    $accepted++;
                } catch (\Larder\Queue\QueueFull) {
                }
            }

            return $accepted;
        });
        self::assertSame(50, \array_sum($accepted));
        self::assertSame(50, $this->queue()->size());
    }

    public function testAPushWakesAWorkerOfAnotherProcess(): void
    {
        $bodies = $this->inProcesses(3, function (int $i): ?string {
            $queue = $this->queue();
            if ($i === 2) {
                \usleep(200_000);
                $queue->push('one');
                \usleep(50_000);
                $queue->pushMany(['two']);

                return null;
            }
            $message = self::next($queue);
            self::assertTrue($message->ack());

            return $message->body;
        });
        \sort($bodies);
        self::assertSame([null, 'one', 'two'], $bodies);
    }

    public function testAWaitEndsWithoutAMessage(): void
    {
        $start = \hrtime(true);
        self::assertNull($this->queue()->pop(60, 0.05));
        self::assertGreaterThanOrEqual(49_000_000, \hrtime(true) - $start);
        self::assertSame([], $this->queue()->popMany(2, 60, 0.01));
    }

    public function testAWaitingWorkerGetsWhatComesBackAndWhatIsResumed(): void
    {
        $queue = $this->queue();
        $queue->push('one');
        $message = self::next($queue);
        $queue->push('two');
        $queue->pause();
        [$pid] = $this->fork(function (): int {
            \usleep(100_000);
            $this->queue()->resume();

            return 1;
        });
        self::assertSame('two', self::next($queue)->body);
        \pcntl_waitpid($pid, $status);
        self::assertTrue($message->extend(0.1));
        self::assertSame('one', self::next($queue)->body);
    }

    public function testAForkedChildGoesOnByItself(): void
    {
        $queue = $this->queue();
        $queue->push('before', priority: -1);
        $n = 0;
        $this->inProcesses(3, static function (int $i) use ($queue): int {
            for ($n = 0; $n < 20; $n++) {
                $queue->push("$i-$n");
                self::next($queue)->ack();
            }

            return 1;
        }, static function () use ($queue, &$n): void {
            $queue->push('parent ' . $n++);
            self::next($queue)->ack();
        });
        self::assertSame(1, $queue->size());
        self::assertSame(['before'], self::drain($queue));
    }

    public function testAMessageMayBeAcknowledgedByAForkedChild(): void
    {
        $queue = $this->queue();
        $queue->push('body');
        $message = self::next($queue);
        self::assertSame([true], $this->inProcesses(1, static fn(): bool => $message->ack()));
        self::assertFalse($message->ack());
        self::assertSame([null, 0], [$queue->pop(), $queue->size()]);
    }
}
