<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Larder\Queue\RedisTransport;
use Larder\Tests\Contract\QueueContract;
use Larder\Tests\Contract\QueueProcesses;
use Larder\Tests\Support\BehindStrictEndpoint;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;

#[CoversClass(RedisTransport::class)]
#[Group('slow')]
final class SingleQueueTest extends QueueContract
{
    use BehindStrictEndpoint;
    use QueueProcesses;

    protected function queue(string $name = 'mail', array $options = []): Queue
    {
        return Queue::open(['dsn' => $this->dsn()] + $options, $name);
    }

    public function testMoreThanOneStepTakesIsSaid(): void
    {
        $this->queue()->pushMany(\range(1, 990));
        try {
            $this->queue()->pushMany(\range(1, 991));
            self::fail('All or none.');
        } catch (QueueFailure $failure) {
            self::assertStringContainsString('at most 990 messages', $failure->getMessage());
        }
        self::assertSame(990, $this->queue()->size());
    }

    public function testAQueueOfAPlainServerGoesOn(): void
    {
        $queue = $this->queue();
        foreach ([3, -1, 3, 0] as $i => $priority) {
            $queue->push("$i", priority: $priority);
        }
        $queue->push('later', 100);
        self::assertSame([4, 1], [$queue->stats()['ready'], $queue->stats()['delayed']]);
        $plain = Queue::open('redis://' . self::behind()->socket, 'mail');
        $bodies = [];
        while (($message = $plain->pop()) !== null) {
            $bodies[] = $message->body;
            self::assertTrue($message->ack());
        }
        self::assertSame(['0', '2', '3', '1'], $bodies);
    }
}
