<?php

declare(strict_types=1);

namespace Larder\RateLimiter;

/** What a rate limiter answers. */
final class Decision
{
    public function __construct(
        /** False: it is over the limit, and was not counted. */
        public readonly bool $isAllowed,
        /** What may follow at once. */
        public readonly int $remaining,
        /** Seconds until the same call is allowed; 0: it is allowed. */
        public readonly float $retryAfter,
        /** Seconds until the limit is whole again, if nothing follows. */
        public readonly float $resetAfter,
    ) {}
}
