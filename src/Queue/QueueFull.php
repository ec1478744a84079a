<?php

declare(strict_types=1);

namespace Larder\Queue;

/** As many messages wait as the queue may hold (option `limit`); none of those pushed was added. */
final class QueueFull extends QueueFailure
{
    public static function holding(string $queue, int $count, int $limit): self
    {
        return new self("The queue \"$queue\" holds $count waiting messages, and may hold $limit (option \"limit\"). Start more workers (bin/larder queue:work $queue), or raise the limit.");
    }
}
