<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\Message;
use Larder\Queue\NotSupported;
use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Larder\Tests\Support\OneRedisServer;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** A server that is full, stopped, gone or set up to forget: what is said, and what is kept. */
final class RedisQueueFailureTest extends TestCase
{
    use OneRedisServer;

    /** @return iterable<string, array{string}> */
    public static function schemes(): iterable
    {
        yield 'phpredis' => ['redis'];
        yield 'Predis' => ['predis'];
    }

    private function queue(string $scheme, string $query = ''): Queue
    {
        return Queue::open("$scheme://{$this->server->socket}$query", 'mail');
    }

    /** @param \Closure(): mixed $call */
    private static function failure(\Closure $call): string
    {
        try {
            $call();
        } catch (QueueFailure $failure) {
            return $failure->getMessage();
        }
        self::fail('It was accepted.');
    }

    /** @return list<string> the number of elements of the list of wake-ups, and of calls of the server until now */
    private function calls(): array
    {
        \preg_match('/cmdstat_evalsha:calls=(\d+)/', (string) $this->server->command('INFO', 'commandstats'), $match);

        return [(string) $this->server->command('LLEN', 'larder:queue:{mail}:wake'), $match[1] ?? '0'];
    }

    #[DataProvider('schemes')]
    public function testABodyThatIsTooLargeForAWorkersMemoryStopsNobody(string $scheme): void
    {
        // Ten megabytes may take a slow machine longer than the two seconds that a call may take.
        $queue = $this->queue($scheme, $options = '?attempts=1&timeout=30');
        $queue->push($body = \str_repeat('large ', 1_600_000), priority: 1);
        $queue->push('small');
        $pop = fn(): Process => Process::snippet('echo Larder\Queue\Queue::open($argv[1], "mail")->pop(1)?->body;', ["$scheme://{$this->server->socket}$options"], ['memory_limit' => '8M']);
        self::assertNotSame(0, $pop()->wait());
        self::assertSame('small', $pop()->output());
        for ($end = \microtime(true) + 30; $queue->stats()['dead'] < 1 && \microtime(true) < $end; \usleep(50_000)) {
            $pop()->wait();
        }
        [$dead] = $queue->dead();
        self::assertSame([$body, 1], [$dead['body'], $dead['attempts']]);
        self::assertStringContainsString('No worker acknowledged it in time', $dead['error']);
    }

    #[DataProvider('schemes')]
    public function testAFullServerTakesNothingMoreAndGivesBackWhatItHas(string $scheme): void
    {
        $queue = $this->queue($scheme);
        $ids = $queue->pushMany(\range(1, 6));
        $buried = $queue->pop();
        self::assertTrue($buried?->bury('bad'));
        $messages = $queue->popMany(2);
        // As much as it uses now, of which every call takes some.
        $this->server->command('CONFIG', 'SET', 'maxmemory', '1');
        self::assertStringContainsString('nothing was done', $failure = self::failure(static fn() => $queue->push('more')));
        self::assertStringContainsString('OOM', $failure);
        self::assertStringContainsString('OOM', self::failure(static fn() => $queue->push('more', 5, 3, 'key')));
        self::assertStringContainsString('OOM', self::failure(static fn() => $queue->pushMany(\range(1, 100))));
        self::assertSame(3, $queue->size());
        self::assertSame($ids[3], ($fresh = $queue->pop())?->id);
        self::assertTrue($fresh->ack());
        self::assertTrue($messages[0]->extend(60));
        self::assertTrue($messages[0]->release(0, 'again'));
        self::assertSame(1, $queue->retryDead());
        $queue->pause();
        $queue->resume();
        $next = $queue->ackAndPop($messages[1]);
        self::assertSame($ids[0], $next?->id);
        self::assertTrue($next->ack());
        $rest = $queue->popMany(10);
        self::assertSame([$ids[1], $ids[4], $ids[5]], \array_map(static fn(Message $message): string => $message->id, $rest));
        self::assertSame(3, $queue->ackMany(...$rest));
        $this->server->command('CONFIG', 'SET', 'maxmemory', '0');
        $queue->push('more');
        self::assertSame(1, $queue->size());
    }

    #[DataProvider('schemes')]
    public function testAStoppedServerLeavesItOpenWhetherItHasTheMessage(string $scheme): void
    {
        $queue = $this->queue($scheme, '?timeout=1');
        $queue->push('first');
        $this->server->pause();
        self::assertStringContainsString('may have done it or not', self::failure(static fn() => $queue->push('second')));
        $this->server->resume();
        self::assertContains($queue->size(), [1, 2]);
        self::assertSame('first', $queue->pop()?->body);
    }

    #[DataProvider('schemes')]
    public function testNoIdComesTwiceFromAServerThatHasForgotten(string $scheme): void
    {
        $queue = $this->queue($scheme);
        $ids = [$queue->push('first'), ...$queue->pushMany(['second', 'third'])];
        $this->server->command('FLUSHALL');
        \array_push($ids, $queue->push('fourth'), ...$queue->pushMany(['fifth', 'sixth']));
        self::assertSame($ids, \array_values(\array_unique($ids)));
    }

    #[DataProvider('schemes')]
    public function testAServerThatIsGoneHasNothing(string $scheme): void
    {
        $queue = $this->queue($scheme);
        $queue->push('first');
        $this->server->kill();
        self::failure(static fn() => $queue->push('second'));
        self::assertStringContainsString('nothing was done', self::failure(static fn() => $queue->push('second')));
        self::assertStringContainsString('nothing was done', self::failure(static fn() => $queue->pop(60, 1)));
        $this->server->start();
        $queue->push('third');
        self::assertSame('third', $queue->pop()?->body, 'It keeps nothing on its disk, and the queue goes on.');
    }

    #[DataProvider('schemes')]
    public function testAServerThatMayForgetTheQueueIsRefused(string $scheme): void
    {
        $this->server->command('CONFIG', 'SET', 'maxmemory', '100mb');
        foreach (['allkeys-lru', 'allkeys-random'] as $policy) {
            $this->server->command('CONFIG', 'SET', 'maxmemory-policy', $policy);
            self::assertStringContainsString('noeviction', self::failure(fn() => $this->queue($scheme)->push('body')));
            self::assertSame(0, $this->queue($scheme)->size());
        }
        $this->server->command('CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru');
        $this->queue($scheme)->push('body');
        $this->server->command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
        \sleep(1);
        self::assertStringContainsString('noeviction', self::failure(fn() => $this->queue($scheme)->push('body')), 'It looks every second.');
        $this->server->command('CONFIG', 'SET', 'maxmemory', '0');
        $this->queue($scheme)->push('body');
    }

    #[DataProvider('schemes')]
    public function testDurabilityIsTheServersOwn(string $scheme): void
    {
        foreach (['normal', 'full'] as $value) {
            try {
                $this->queue($scheme, "?synchronous=$value");
                self::fail('It was accepted.');
            } catch (NotSupported $refused) {
                self::assertStringContainsString('appendfsync', $refused->getMessage());
            }
        }
    }

    #[DataProvider('schemes')]
    public function testEachCallIsOneRoundTripAndWakeUpsDoNotPileUp(string $scheme): void
    {
        $queue = $this->queue($scheme);
        // The server learns the scripts.
        $queue->push('learnt', key: 'k');
        $queue->push('learnt');
        $queue->ackAndPop($queue->pop() ?? self::fail('No message.'))?->ack();
        [, $before] = $this->calls();
        for ($i = 0; $i < 50; $i++) {
            $queue->push($i, priority: $i % 3);
        }
        $queue->pushMany(\range(1, 1_000));
        [$wakes, $after] = $this->calls();
        self::assertSame(['1', 51], [$wakes, (int) $after - (int) $before]);
        $messages = $queue->popMany(1_000);
        $queue->ackMany(...$messages);
        $message = $queue->pop();
        for ($i = 0; $i < 49; $i++) {
            $message = $queue->ackAndPop($message ?? self::fail('No message.'));
        }
        self::assertTrue($message?->ack());
        [$wakes, $last] = $this->calls();
        self::assertSame(['0', 2 + 50 + 1], [$wakes, (int) $last - (int) $after]);
        self::assertSame(0, $queue->size());
    }

    public function testAWaitingMessageTakesLittleMoreThanItsBody(): void
    {
        $queue = $this->queue('redis');
        $queue->pushMany(\array_fill(0, 10_000, \str_repeat('x', 100)));
        $list = $this->server->command('MEMORY', 'USAGE', 'larder:queue:{mail}:f:' . \sprintf('%016x', ~(0 ^ \PHP_INT_MIN)), 'SAMPLES', '0');
        self::assertIsInt($list);
        // A hash by id would take twice as much and more.
        self::assertLessThan(1.5 * 10_000 * 100, $list);
        self::assertSame(10_000, $queue->size());
        foreach (['m', 'd', 'r', 'c', 'k'] as $key) {
            self::assertSame(0, $this->server->command('EXISTS', "larder:queue:{mail}:$key"));
        }
    }

    public function testNothingStaysOfWhatIsDone(): void
    {
        $queue = $this->queue('predis');
        $queue->push('keyed', key: 'k');
        $queue->push('delayed', 0.01, 5, 'l');
        $queue->pushMany(\range(1, 5), priority: 3);
        \usleep(50_000);
        foreach ($queue->popMany(7) as $i => $message) {
            self::assertTrue($i % 2 === 0 ? $message->release(0, 'again') : $message->ack());
        }
        foreach ($queue->popMany(4) as $i => $message) {
            self::assertTrue($i % 2 === 0 ? $message->bury('bad') : $message->ack());
        }
        self::assertSame(2, $queue->retryDead());
        $queue->push('purged', 100, key: 'm');
        self::assertSame(3, $queue->purge());
        self::assertSame(['larder:queue:{mail}'], $this->server->command('KEYS', '*'));
    }
}
