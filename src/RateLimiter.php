<?php

declare(strict_types=1);

namespace Larder;

use Larder\Config\InvalidConfiguration;
use Larder\RateLimiter\Algorithm;
use Larder\RateLimiter\Decision;
use Larder\RateLimiter\Engine;
use Larder\RateLimiter\Engines;
use Larder\RateLimiter\RateLimiterFailure;
use Larder\System\WrongUser;

/**
 * Limits how often something may happen, exactly, over all processes, and over all servers where they share a Redis.
 *
 * What was counted is no cache entry and is never evicted. Over Redis it is as durable as that server is: a fail-over may lose
 * the last that was counted. A call that is not allowed counts nothing.
 */
final class RateLimiter
{
    /** Bytes of a key. */
    public const LONGEST_KEY = 1_000;

    /** What a sliding window may allow: it keeps a time for each. */
    public const LARGEST_SLIDING = 10_000;

    /** Milliseconds. */
    private const LONGEST = 31_536_000_000;

    /** Numbers up to this are exact in a script of Redis. */
    private const LARGEST = 2 ** 53;

    private function __construct(private readonly Engine $engine) {}

    /**
     * @param string|array<string, mixed> $source a DSN (sqlite:///directory, redis://…, redis+sentinel://…, redis+cluster://…, redis+single://…,
     *                                            predis://…), or an array with "dsn" and options: `timeout` (seconds that a call
     *                                            waits for other processes or for the server; 5), `credentials` (of redis://: a
     *                                            closure, see docs/several-servers.md)
     *
     * @throws InvalidConfiguration
     * @throws WrongUser          the directory belongs to another user
     * @throws RateLimiterFailure the directory cannot be had now
     */
    public static function open(#[\SensitiveParameter] string|array $source): self
    {
        return new self(Engines::make($source));
    }

    /**
     * At most $limit in each window. A window begins with what is first counted after the end of the one before, so twice the
     * limit may come within a window's length, about its end.
     *
     * @param string $key     what is limited, for example an address with the name of what it does; any bytes. Each kind of limit
     *                        and each length of a window counts by itself, also with the same key; so let the length stay the same
     * @param float  $seconds of a window, at least 0.001
     * @param int    $cost    what this call counts for; 0: it only asks
     *
     * @throws RateLimiterFailure
     * @throws \InvalidArgumentException
     */
    public function fixedWindow(string $key, int $limit, float $seconds, int $cost = 1): Decision
    {
        return $this->count(Algorithm::FixedWindow, $key, $limit, $seconds, 1, $cost);
    }

    /**
     * At most $limit within any $seconds.
     *
     * @param string $key     as in fixedWindow()
     * @param int    $limit   at most 10,000: the time of each is kept
     * @param float  $seconds at least 0.001
     * @param int    $cost    what this call counts for; 0: it only asks
     *
     * @throws RateLimiterFailure
     * @throws \InvalidArgumentException
     */
    public function slidingWindow(string $key, int $limit, float $seconds, int $cost = 1): Decision
    {
        if ($limit > self::LARGEST_SLIDING) {
            throw new \InvalidArgumentException('A sliding window allows at most ' . self::LARGEST_SLIDING . ', since it keeps the time of each. Take a token bucket for more.');
        }

        return $this->count(Algorithm::SlidingWindow, $key, $limit, $seconds, 1, $cost);
    }

    /**
     * At most $burst at once; $tokens come back in each $seconds, evenly.
     *
     * @param string $key     as in fixedWindow(); a bucket of another size or filling is another one
     * @param float  $seconds at least 0.001
     * @param int    $cost    what this call counts for; 0: it only asks
     *
     * @throws RateLimiterFailure
     * @throws \InvalidArgumentException
     */
    public function tokenBucket(string $key, int $burst, int $tokens, float $seconds, int $cost = 1): Decision
    {
        return $this->count(Algorithm::TokenBucket, $key, $burst, $seconds, $tokens, $cost);
    }

    /**
     * Forgets what was counted for a key, by whatever algorithm and in whatever window.
     *
     * @throws RateLimiterFailure
     * @throws \InvalidArgumentException
     */
    public function clear(string $key): void
    {
        $this->engine->forget(self::key($key));
    }

    private function count(Algorithm $algorithm, string $key, int $limit, float $seconds, int $fill, int $cost): Decision
    {
        $window = $seconds * 1000;
        if (!($window >= 1.0 && $window <= self::LONGEST)) {
            throw new \InvalidArgumentException('A rate limit counts over a thousandth of a second to a year. Write seconds, for example 60.');
        }
        if ($limit < 1 || $fill < 1 || $limit > \intdiv(self::LARGEST, (int) $window) || $fill > self::LARGEST) {
            throw new \InvalidArgumentException('A rate limit allows at least 1, and its number times its milliseconds is at most 2 to the power of 53. Write for example 100 and 60 seconds.');
        }
        if ($cost < 0 || $cost > $limit) {
            throw new \InvalidArgumentException("A call counts for 0 to $limit here, the whole limit. It would never be allowed to count for $cost.");
        }

        return $this->engine->count($algorithm, self::key($key), $limit, (int) $window, $fill, $cost);
    }

    private static function key(string $key): string
    {
        return $key !== '' && \strlen($key) <= self::LONGEST_KEY ? $key
            : throw new \InvalidArgumentException('A rate limit\'s key has 1 to ' . self::LONGEST_KEY . ' bytes. Write for example "login 192.0.2.1", or a hash of what is longer.');
    }
}
