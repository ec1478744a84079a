<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\System\Clock;

/** When a worker ends by itself, always between two messages. Zero: never for this reason. */
final readonly class WorkerLimits
{
    /**
     * @param int  $jobs       messages
     * @param int  $seconds    since it began
     * @param int  $memory     bytes that it holds
     * @param bool $whileEmpty whether it ends once no message waits
     */
    public function __construct(private int $jobs = 0, private int $seconds = 0, private int $memory = 0, public bool $whileEmpty = false) {}

    public function areReached(int $handled, float $begin): bool
    {
        return ($this->jobs > 0 && $handled >= $this->jobs)
            || ($this->seconds > 0 && Clock::seconds() - $begin >= $this->seconds)
            || ($this->memory > 0 && \memory_get_usage(true) >= $this->memory);
    }
}
