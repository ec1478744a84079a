<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Contracts\Queue\ClearableQueue;
use Illuminate\Contracts\Queue\Queue as QueueContract;
use Illuminate\Queue\Queue as LaravelQueue;
use Larder\Queue\Queue;

/** The queues of a place, by their names, as a connection of Laravel. */
final class LarderQueue extends LaravelQueue implements QueueContract, ClearableQueue
{
    /** @var array<string, Queue> */
    private array $open = [];

    /** @param array<string, mixed> $source of Queue::open() */
    public function __construct(
        private readonly Opened $opened,
        #[\SensitiveParameter]
        private readonly array $source,
        private readonly string $default,
        private readonly int $visibility,
        private readonly int $wait,
        bool $dispatchAfterCommit,
    ) {
        $this->dispatchAfterCommit = $dispatchAfterCommit;
    }

    /**
     * As in Laravel's other drivers, jobs that a worker has now count too.
     *
     * @param ?string $queue
     */
    public function size($queue = null): int
    {
        $stats = $this->queue($queue)->stats();

        return $stats['ready'] + $stats['delayed'] + $stats['claimed'];
    }

    /** @param ?string $queue */
    public function pendingSize($queue = null): int
    {
        return $this->queue($queue)->stats()['ready'];
    }

    /** @param ?string $queue */
    public function delayedSize($queue = null): int
    {
        return $this->queue($queue)->stats()['delayed'];
    }

    /** @param ?string $queue */
    public function reservedSize($queue = null): int
    {
        return $this->queue($queue)->stats()['claimed'];
    }

    /** @param ?string $queue */
    public function creationTimeOfOldestPendingJob($queue = null): ?int
    {
        $late = $this->queue($queue)->stats()['late'];

        return $late === null ? null : \time() - (int) $late;
    }

    /**
     * @param object|string $job
     * @param mixed         $data
     * @param ?string       $queue
     */
    public function push($job, $data = '', $queue = null): mixed
    {
        return $this->enqueueUsing($job, $this->createPayload($job, $this->name($queue), $data), $queue, null, fn(string $payload, ?string $queue): string => $this->pushRaw($payload, $queue));
    }

    /**
     * @param string               $payload
     * @param ?string              $queue
     * @param array<string, mixed> $options
     */
    public function pushRaw($payload, $queue = null, array $options = []): string
    {
        return $this->queue($queue)->push($payload);
    }

    /**
     * @param \DateTimeInterface|\DateInterval|int $delay
     * @param object|string                        $job
     * @param mixed                                $data
     * @param ?string                              $queue
     */
    public function later($delay, $job, $data = '', $queue = null): mixed
    {
        return $this->enqueueUsing($job, $this->createPayload($job, $this->name($queue), $data, $delay), $queue, $delay, fn(string $payload, ?string $queue, mixed $delay): string => $this->queue($queue)->push($payload, \max(0, $this->secondsUntil($delay))));
    }

    /**
     * @param ?string $queue
     * @param int     $index of this queue among those that the worker looks into: it waits for the first alone
     */
    public function pop($queue = null, $index = 0): ?LarderJob
    {
        $message = $this->queue($queue)->pop(\max(1, $this->visibility), $index === 0 ? $this->wait : 0);

        return $message === null ? null : new LarderJob($this->container, $message, $this->connectionName, $this->name($queue));
    }

    /** @param string $queue */
    public function clear($queue): int
    {
        return $this->queue($queue)->purge();
    }

    private function queue(?string $queue): Queue
    {
        $name = $this->name($queue);

        return $this->open[$name] ??= $this->opened->once(Queue::class, [$this->source, $name], fn(): Queue => Queue::open($this->source, $name));
    }

    private function name(?string $queue): string
    {
        return $queue === null || $queue === '' ? $this->default : $queue;
    }
}
