<?php

declare(strict_types=1);

namespace Larder\Queue;

/** What a transport cannot do, and another one can. All that is refused so stands here. */
final class NotSupported extends QueueFailure
{
    public static function synchronous(string $scheme): self
    {
        return new self(\str_starts_with($scheme, 'zmq')
            ? 'ZeroMQ has no option "synchronous": its broker keeps messages in memory, and they go when it ends. Use sqlite:// or redis:// for messages that must outlive it.'
            : 'Redis has no option "synchronous": how durable a message is says redis.conf (appendonly, appendfsync). Leave the option out.');
    }

    public static function large(int $bytes, int $most): self
    {
        return new self("A message of $bytes bytes is too large for ZeroMQ's broker, which takes $most. Push a name of it, and keep the bytes elsewhere.");
    }
}
