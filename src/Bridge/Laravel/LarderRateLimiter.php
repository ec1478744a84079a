<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Cache\RateLimiter;

/**
 * Laravel's rate limiter over a store of Larder's, whose counts are exact.
 *
 * Laravel's own makes a counter, adds to it, and puts a 1 over it if it seems that nobody has made it: of two callers that begin
 * a window together, the second puts its 1 over what others have counted meanwhile.
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
        $this->cache->add("$key:timer", $this->availableAt($decaySeconds), $decaySeconds);

        return (int) $store->hit($key, (int) $amount, \max(1, $this->secondsUntil($decaySeconds)));
    }
}
