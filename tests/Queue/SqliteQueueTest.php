<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\Queue;
use Larder\Tests\Contract\QueueContract;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;

final class SqliteQueueTest extends QueueContract
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        parent::setUp();
        $this->directory = new TemporaryDirectory();
    }

    protected function queue(string $name = 'mail', array $options = []): Queue
    {
        $dsn = 'sqlite://' . $this->directory;

        return Queue::open($options === [] ? $dsn : ['dsn' => $dsn] + $options, $name);
    }

    /** @param \Closure(Queue): mixed $push */
    #[DataProvider('pushes')]
    public function testWhatNobodyAcknowledgedCountsBeforeAnybodyLooks(\Closure $push): void
    {
        $queue = $this->queue('mail', ['limit' => 3]);
        $queue->pushMany(['1', '2', '3']);
        $held = $queue->popMany(3);
        $push($queue);
        \array_map(self::expire(...), $held);
        self::assertFull(static fn() => $push($queue));
    }

    /** A claim that finds messages looks for these only where the last look was some milliseconds ago. */
    public function testMessagesThatAreReadyDoNotHoldUpWhatBecomesDueOrComesBack(): void
    {
        $queue = $this->queue();
        $queue->pushMany(\range(1, 20));
        $first = $queue->pop();
        self::assertSame(1, $first?->body);
        $queue->push('delayed', 0.005, 9);
        self::assertTrue($first->extend(0.005));
        \usleep(30_000);
        self::assertSame(['delayed', 1, 2], \array_map(static fn(): mixed => $queue->pop()?->body, \range(1, 3)));
    }
}
