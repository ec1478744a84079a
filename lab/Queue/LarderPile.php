<?php

declare(strict_types=1);

namespace Larder\Lab\Queue;

use Larder\Queue\Message;
use Larder\Queue\Queue;

final class LarderPile implements Pile
{
    private readonly Queue $queue;
    private ?Message $message = null;

    public function __construct(string $address)
    {
        $this->queue = Queue::open($address, 'lab');
    }

    public function push(string $body): void
    {
        $this->queue->push($body);
    }

    public function pushMany(array $bodies): void
    {
        $this->queue->pushMany($bodies);
    }

    public function take(float $wait): ?string
    {
        $this->message = $this->message === null ? $this->queue->pop(wait: $wait) : $this->queue->ackAndPop($this->message, wait: $wait);

        return self::body($this->message);
    }

    public function takeMany(int $most): array
    {
        $messages = $this->queue->popMany($most);
        $this->queue->ackMany(...$messages);

        return \array_map(static fn(Message $message): string => (string) self::body($message), $messages);
    }

    public function clear(): void
    {
        $this->queue->purge();
    }

    private static function body(?Message $message): ?string
    {
        return $message !== null && \is_string($message->body) ? $message->body : null;
    }
}
