<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Queue\Schedule;

/** Beside QueueContract: several processes at one queue. */
trait QueueProcesses
{
    public function testAMissingClassIsADeadLetterWithItsReason(): void
    {
        $queue = $this->queue();
        $class = 'Gone' . \bin2hex(\random_bytes(4));
        $this->inProcesses(1, function () use ($class): int {
            eval("final class $class { public int \$n = 1; }");
            \assert(\class_exists($class));
            $this->queue()->push(new $class());

            return 1;
        });
        $queue->push('good');
        self::assertSame(['good'], self::drain($queue), 'A worker gets the next one at once.');
        [$dead] = $queue->dead();
        self::assertNull($dead['body']);
        self::assertStringContainsString($class, $dead['error']);
        self::assertSame(0, $queue->size());
    }

    // Seen to fail: a rate that each process counts for itself, and one that is not noted in the step that hands out.
    public function testAtARateAllProcessesTogetherGetExactlySoMany(): void
    {
        $this->queue()->pushMany(\range(1, 60));
        $handled = $this->inProcesses(6, function (int $i): array {
            $queue = $this->queue()->atMost(17, 3_600);
            $bodies = [];
            $message = null;
            for ($n = 0; $n < 10; $n++) {
                $messages = $i === 0 ? $queue->popMany(3) : \array_filter([$message === null ? $queue->pop() : $queue->ackAndPop($message)]);
                $message = $messages[0] ?? null;
                \array_push($bodies, ...\array_column($messages, 'body'));
            }

            return $bodies;
        });
        $all = \array_merge(...$handled);
        \sort($all);
        self::assertSame(\range(1, 17), $all);
        self::assertSame(43, $this->queue()->size());
    }

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

    // Seen to fail where what comes back does not find its own key: a second one was added.
    /** Workers are killed while they handle messages, and others take what comes back: of each key there is one message at any time. */
    public function testAKeyThatStaysHasOneMessageHoweverManyPushAndDie(): void
    {
        $keys = ['a', 'b'];
        $children = [];
        $start = function (bool $works) use ($keys, &$children): void {
            [$pid] = $this->fork(function () use ($works, $keys): int {
                $queue = $this->queue('mail', ['attempts' => 1_000]);
                for ($n = 0, $end = \microtime(true) + 60; \microtime(true) < $end; $n++) {
                    if (!$works) {
                        $queue->push('body', $n % 7 === 0 ? 0.005 : 0, key: $keys[$n % 2], untilHandled: true);
                        continue;
                    }
                    $message = $queue->pop(60, 0.05);
                    if ($message !== null) {
                        // It is due again soon after a death.
                        $message->extend(0.05);
                        \usleep(5_000);
                        match ($n % 4) {
                            0 => $message->release(),
                            1 => $message->release(0.01),
                            default => $message->ack(),
                        };
                    }
                }

                return 1;
            });
            $children[$pid] = $works;
        };
        $queue = $this->queue('mail', ['attempts' => 1_000]);
        foreach ($keys as $key) {
            $queue->push('body', key: $key, untilHandled: true);
        }
        \array_map($start, [false, false, true, true, true]);
        $most = $looks = 0;
        // However slow the machine is, so many are killed.
        for ($end = \microtime(true) + 2.5; $looks <= 100 || \microtime(true) < $end;) {
            ['ready' => $ready, 'delayed' => $delayed, 'claimed' => $claimed] = $queue->stats();
            $most = \max($most, $ready + $delayed + $claimed);
            $looks++;
            if ($looks % 20 === 0) {
                $pid = \array_rand($children);
                $works = $children[$pid];
                $this->killChild($pid);
                unset($children[$pid]);
                $start($works);
            }
            \usleep(2_000);
        }
        \array_map($this->killChild(...), \array_keys($children));
        self::assertSame(2, $most);
    }

    // Seen to fail where a clock that is behind takes the noted time back: some were pushed twice.
    public function testAScheduleOfManyWorkersThatDiePushesEachTimeOnce(): void
    {
        // Fewer than clocks may differ by, and three messages in each.
        $minutes = 134;
        $add = static fn(Schedule $schedule): Schedule => $schedule->add('a', '* * * * *', 'a', 'UTC')->add('b', '* * * * *', 'b', 'UTC')->add('c', '* * * * *', 'c', 'UTC');
        // Each worker's clock runs through the minutes, at a speed of its own.
        $start = fn(int $i, int $from): int => $this->fork(function () use ($i, $from, $minutes, $add): int {
            $at = $from * 60;
            $schedule = $add(new Schedule($this->queue(), static function () use (&$at): int {
                return $at;
            }));
            for ($minute = $from; $minute <= $minutes; $minute++) {
                $at = $minute * 60 + $i;
                $schedule->push();
            }

            return 1;
        })[0];
        $add(new Schedule($this->queue(), static fn(): int => 0))->push();
        $workers = [];
        foreach ([1, 2, 3] as $i) {
            $workers[$start($i, 1)] = $i;
        }
        $n = 0;
        while ($workers !== []) {
            \usleep(30_000);
            foreach ($workers as $pid => $i) {
                if (\pcntl_waitpid($pid, $status, \WNOHANG) !== 0) {
                    unset($workers[$pid]);
                }
            }
            if ($n++ < 5 && \count($workers) === 3) {
                $pid = \array_rand($workers);
                $i = $workers[$pid];
                $this->killChild($pid);
                unset($workers[$pid]);
                // It goes through all minutes again: others have pushed some of them.
                $workers[$start($i, 1)] = $i;
            }
        }
        self::assertSame(3 * $minutes, $this->queue()->size());
    }
}
