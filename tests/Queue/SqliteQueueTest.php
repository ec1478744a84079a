<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\Queue;
use Larder\Tests\Contract\QueueContract;
use Larder\Tests\Support\TemporaryDirectory;

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
}
