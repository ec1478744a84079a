<?php

declare(strict_types=1);

namespace Larder\Queue;

/** A message in the memory of ZeroMQ's broker. */
final class ZmqMessage
{
    /** One of ZmqQueue's; null before it has one. */
    public ?int $state = null;
    public int $due = 0;
    public int $attempts = 0;
    /** Of the claim; '': nobody has it. */
    public string $token = '';
    public string $error = '';
    /** Milliseconds of the Unix time at which it was buried. */
    public int $died = 0;

    public function __construct(
        public readonly string $id,
        public readonly string $body,
        public readonly int $priority,
        public readonly int $order,
        public readonly ?string $key,
    ) {}
}
