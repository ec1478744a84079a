<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Leaves a failed part alone for a while, so that a request waits for its time-out once and not at every call.
 *
 * After that time the next call tries the part again.
 */
final class CircuitBreaker
{
    /** Seconds. */
    private const REST = 2.0;

    /**
     * hrtime() before which the part is left alone; 0: it works, or has not failed yet. For callers that may not afford a
     * call to learn that.
     */
    public int $until = 0;

    public function isOpen(): bool
    {
        return $this->until !== 0 && \hrtime(true) < $this->until;
    }

    /** The part has failed. */
    public function trip(): void
    {
        $this->until = \hrtime(true) + (int) (self::REST * 1e9);
    }

    /** The part works again. */
    public function close(): void
    {
        $this->until = 0;
    }
}
