<?php

declare(strict_types=1);

namespace Larder\RateLimiter;

/** How a limit counts. What each keeps for a key is a list of integers; times are in milliseconds. */
enum Algorithm: string
{
    /** Its end, and what was counted. */
    case FixedWindow = 'f';

    /** The time of each that was counted. */
    case SlidingWindow = 's';

    /** What is in it, in parts of a token so small that it fills by a whole number of them each millisecond; and when. */
    case TokenBucket = 'b';

    /**
     * The name of what it keeps for a key: what counts otherwise has another state. Windows of one length share theirs, whatever
     * they allow. How full a bucket is means something to a bucket of that size and filling alone.
     */
    public function state(int $limit, int $window, int $fill): string
    {
        return $this->value . $window . ($this === self::TokenBucket ? " $limit $fill" : '');
    }

    /**
     * Counts, if that is allowed.
     *
     * @param list<int> $state empty: a new one
     * @param int       $limit of a bucket: what fits into it
     * @param int       $fill  of a bucket: the tokens that come in each window
     *
     * @return array{list<int>, Decision, int} the new state, the answer, and when the state may be forgotten
     */
    public function count(array $state, int $now, int $limit, int $window, int $fill, int $cost): array
    {
        return match ($this) {
            self::FixedWindow => self::fixed($state, $now, $limit, $window, $cost),
            self::SlidingWindow => self::sliding($state, $now, $limit, $window, $cost),
            self::TokenBucket => self::bucket($state, $now, $limit, $window, $fill, $cost),
        };
    }

    /**
     * @param list<int> $state
     *
     * @return array{list<int>, Decision, int}
     */
    private static function fixed(array $state, int $now, int $limit, int $window, int $cost): array
    {
        [$end, $count] = $state === [] || $state[0] <= $now ? [$now + $window, 0] : $state;
        $isAllowed = $count + $cost <= $limit;
        $count += $isAllowed ? $cost : 0;
        $left = $count === 0 ? 0 : $end - $now;

        return [[$end, $count], self::decision($isAllowed, $limit - $count, $left, $left), $end];
    }

    /**
     * @param list<int> $state
     *
     * @return array{list<int>, Decision, int}
     */
    private static function sliding(array $state, int $now, int $limit, int $window, int $cost): array
    {
        $old = 0;
        $count = \count($state);
        while ($old < $count && $state[$old] <= $now - $window) {
            $old++;
        }
        $old === 0 || $state = \array_slice($state, $old);
        $count -= $old;
        $isAllowed = $count + $cost <= $limit;
        if ($isAllowed && $cost > 0) {
            \array_push($state, ...\array_fill(0, $cost, $now));
            $count += $cost;
        }
        // Where so many have become old as this one needs.
        $free = $isAllowed ? $now : ($state[$count + $cost - $limit - 1] ?? $now) + $window;
        $last = ($state[$count - 1] ?? $now - $window) + $window;

        return [$state, self::decision($isAllowed, $limit - $count, $free - $now, $last - $now), $last];
    }

    /**
     * @param list<int> $state
     *
     * @return array{list<int>, Decision, int}
     */
    private static function bucket(array $state, int $now, int $limit, int $window, int $fill, int $cost): array
    {
        $whole = $limit * $window;
        [$level, $then] = $state === [] ? [$whole, $now] : $state;
        // Without an overflow, also after a year.
        $level = $now - $then >= \intdiv($whole, $fill) + 1 ? $whole : \min($whole, $level + \max(0, $now - $then) * $fill);
        $isAllowed = $cost * $window <= $level;
        $level -= $isAllowed ? $cost * $window : 0;
        $full = self::divided($whole - $level, $fill);

        return [[$level, $now], self::decision($isAllowed, \intdiv($level, $window), self::divided($cost * $window - $level, $fill), $full), $now + $full];
    }

    /** Divides and rounds up. */
    private static function divided(int $sum, int $by): int
    {
        return \intdiv($sum + $by - 1, $by);
    }

    /** @param int $retry milliseconds; meant only where it is not allowed */
    private static function decision(bool $isAllowed, int $remaining, int $retry, int $reset): Decision
    {
        return new Decision($isAllowed, \max(0, $remaining), $isAllowed ? 0.0 : $retry / 1000, $reset / 1000);
    }
}
