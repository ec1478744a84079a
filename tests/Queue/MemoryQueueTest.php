<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\MemoryTransport;
use Larder\Queue\MessageTables;
use Larder\Queue\Queue;
use Larder\Queue\QueueOptions;
use Larder\Tests\Contract\QueueContract;

/** The contract over the memory of one process, by the machine's clock. */
final class MemoryQueueTest extends QueueContract
{
    protected const FORKS = false;

    /** @var array<string, MemoryTransport> by the queue's name */
    private array $transports = [];

    protected function queue(string $name = 'mail', array $options = []): Queue
    {
        $checked = QueueOptions::from(['dsn' => 'memory://'] + $options, $name);
        $this->transports[$name] ??= new MemoryTransport($name, $checked->limit, $checked->retry, MessageTables::now(...));

        return Queue::over($this->transports[$name], $checked, $name);
    }
}
