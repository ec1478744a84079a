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
}
