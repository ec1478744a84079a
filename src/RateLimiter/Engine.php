<?php

declare(strict_types=1);

namespace Larder\RateLimiter;

/** Where it is kept what was counted. Every call is atomic. */
interface Engine
{
    /**
     * @param int $window milliseconds
     *
     * @see Algorithm::count()
     *
     * @throws RateLimiterFailure
     */
    public function count(Algorithm $algorithm, string $key, int $limit, int $window, int $fill, int $cost): Decision;

    /**
     * Forgets what was counted for a key, by whatever algorithm and in whatever window.
     *
     * @throws RateLimiterFailure
     */
    public function forget(string $key): void;
}
