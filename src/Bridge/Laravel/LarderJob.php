<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Container\Container;
use Illuminate\Contracts\Queue\Job as JobContract;
use Illuminate\Queue\Jobs\Job;
use Larder\Queue\Message;

/** A message as a job of Laravel. */
final class LarderJob extends Job implements JobContract
{
    public function __construct(Container $container, private readonly Message $message, string $connection, string $queue)
    {
        $this->container = $container;
        $this->connectionName = $connection;
        $this->queue = $queue;
    }

    public function getJobId(): string
    {
        return $this->message->id;
    }

    public function getRawBody(): string
    {
        return \is_string($this->message->body) ? $this->message->body : '';
    }

    public function attempts(): int
    {
        return $this->message->attempts;
    }

    public function delete(): void
    {
        parent::delete();
        $this->message->ack();
    }

    /** @param int $delay seconds */
    public function release($delay = 0): void
    {
        parent::release($delay);
        $this->message->release(\max(0, $delay));
    }
}
