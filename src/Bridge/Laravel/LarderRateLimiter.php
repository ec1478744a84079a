<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Cache\RateLimiter;

/**
 * Laravel's rate limiter over a store of Larder's, whose counts are exact.
 *
 * Laravel's own makes a counter, adds to it, and puts a 1 over it if it seems that there is none: of two callers that begin
 * a window together, the second puts its 1 over what others have counted meanwhile. And who sees a full counter whose timer has
 * ended removes the counter, which may be the next window's by then. Here the counter makes itself and ends by itself.
 */
final class LarderRateLimiter extends RateLimiter
{
    /** The same limiter, if it counts in Larder, and is none of the application's own. */
    public static function over(RateLimiter $limiter): RateLimiter
    {
        if ($limiter::class !== RateLimiter::class || !$limiter->cache->getStore() instanceof LarderStore) {
            return $limiter;
        }
        $exact = new self($limiter->cache);
        $exact->limiters = $limiter->limiters;

        return $exact;
    }

    /**
     * @param string                                    $key
     * @param \DateTimeInterface|\DateInterval|int $decaySeconds
     * @param int                                       $amount
     *
     * @return int hits in this window; 0: the store is down
     */
    public function increment($key, $decaySeconds = 60, $amount = 1): int
    {
        $store = $this->cache->getStore();
        \assert($store instanceof LarderStore);
        $key = $this->cleanRateLimiterKey($key);
        $hits = (int) $store->hit($key, (int) $amount, \max(1, $this->secondsUntil($decaySeconds)));
        // The call that has made the counter says until when it counts.
        $hits === (int) $amount && $this->cache->put("$key:timer", $this->availableAt($decaySeconds), $decaySeconds);

        return $hits;
    }

    /**
     * @param string $key
     * @param int    $maxAttempts
     */
    public function tooManyAttempts($key, $maxAttempts): bool
    {
        return $this->attempts($key) >= $maxAttempts;
    }
}
