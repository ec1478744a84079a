<?php

declare(strict_types=1);

namespace Larder\Lab\Queue;

/**
 * A queue as a process without HTTP uses it, over one engine.
 *
 * This folder measures those: QueueTask starts processes (lab/queue.php, Hand) that push and take, and counts what they took.
 */
interface Pile
{
    public function __construct(string $address);

    public function push(string $body): void;

    /** @param non-empty-list<string> $bodies in one step */
    public function pushMany(array $bodies): void;

    /**
     * The next message; the one before it is acknowledged in the same step where the engine can.
     *
     * @param float $wait seconds for one to come
     */
    public function take(float $wait): ?string;

    /** @return list<string> messages, acknowledged */
    public function takeMany(int $most): array;

    public function clear(): void;
}
