<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Config\InvalidConfiguration;

/**
 * A queue for the tests of a program: it lies in memory, and its time stands still until the test lets it pass. The program gets
 * `$queue`, a Queue like any other; delays, keys, retries and dead letters are as on the real ones.
 */
final class FakeQueue
{
    /** A queue in memory has no server and no time-out. */
    private const KNOWN = ['limit', 'attempts', 'keep', 'secret'];

    public readonly Queue $queue;
    private readonly MemoryTransport $transport;
    private int $now;

    /**
     * @param array<string, mixed> $options `limit`, `attempts`, `keep` and `secret`, as of Queue::open()
     *
     * @throws InvalidConfiguration
     */
    public function __construct(string $name = 'default', #[\SensitiveParameter] array $options = [])
    {
        InvalidConfiguration::refuseUnknown($options, self::KNOWN);
        $checked = QueueOptions::from(['dsn' => 'memory://'] + $options, $name);
        $this->now = MessageTables::now();
        $this->transport = new MemoryTransport($name, $checked->limit, $checked->retry, fn(): int => $this->now);
        $this->queue = Queue::over($this->transport, $checked, $name);
    }

    /**
     * All that was added since the beginning, in order, whatever became of it. A push that added nothing, because its key had
     * a message, is not in it.
     *
     * @return list<array{id: string, body: mixed, delay: int|float, priority: int, key: ?string, untilHandled: bool}> delay: seconds
     */
    public function pushed(): array
    {
        return \array_map(fn(array $pushed): array => [
            'id' => $pushed[0], 'body' => $this->queue->body($pushed[1]['body']), 'delay' => $pushed[1]['delay'] / 1000,
            'priority' => $pushed[1]['priority'], 'key' => $pushed[1]['key'], 'untilHandled' => $pushed[1]['stays'],
        ], $this->transport->pushed());
    }

    /** The Unix time at which it stands, in seconds. */
    public function now(): float
    {
        return $this->now / 1000;
    }

    /** Lets so many seconds pass. */
    public function pass(int|float $seconds): void
    {
        $this->now += Seconds::milliseconds('time', $seconds);
    }

    /**
     * Handles what is due, and what is pushed meanwhile, as a worker does: what the handler throws is an attempt.
     *
     * @param callable(mixed, Message): mixed $handler gets the body and the message
     *
     * @return int messages handled
     */
    public function work(callable $handler): int
    {
        return (new Worker($this->queue, $handler(...), new WorkerLimits(whileEmpty: true)))->run();
    }
}
