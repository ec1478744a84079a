<?php

declare(strict_types=1);

namespace Larder\Queue;

/** As many messages wait as the queue may hold (option `limit`), or it takes all bytes that the server allows; none of those pushed was added. */
final class QueueFull extends QueueFailure
{
    public static function holding(string $queue, int $count, int $limit): self
    {
        return new self("The queue \"$queue\" holds $count waiting messages, and may hold $limit (option \"limit\"). Start more workers (bin/larder queue:work $queue), or raise the limit.");
    }

    /** @param string $policy the file that says how many bytes it may take */
    public static function taking(string $queue, int $count, string $policy): self
    {
        return new self("The queue \"$queue\" takes as many bytes as this server allows (key \"queue\" in $policy); $count messages wait. Start more workers (bin/larder queue:work $queue), remove dead ones (bin/larder queue:dead $queue --delete --all), or ask the server's administrator for more.");
    }

    /** @param int $dead messages that were to wait again, and stay dead */
    public static function retrying(string $queue, int $dead, int $count, int $limit): self
    {
        return new self("The queue \"$queue\" holds $count waiting messages, and may hold $limit (option \"limit\"): $dead dead ones cannot wait again. Retry some of them (bin/larder queue:retry $queue ID…), start more workers, or raise the limit.");
    }
}
