<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\System\Failure;
use PHPUnit\Framework\Assert;

/** Waits for what another process, a server or the clock brings. */
final class Wait
{
    /**
     * Asks again and again until the answer comes in time, as it may not on a busy machine.
     *
     * @template T
     *
     * @param \Closure(): T $ask
     *
     * @return T
     */
    public static function answer(\Closure $ask): mixed
    {
        $answers = [];
        self::until(static function () use ($ask, &$answers): bool {
            try {
                $answers[] = $ask();
            } catch (Failure) {
            }

            return $answers !== [];
        }, 'an answer in time');

        return $answers[0];
    }

    /**
     * Asks again and again until the answer is yes.
     *
     * @param \Closure(): bool $condition
     * @param string           $what      is waited for, for the message where it does not come
     * @param float            $seconds   at most
     */
    public static function until(\Closure $condition, string $what, float $seconds = 60.0): void
    {
        for ($end = \hrtime(true) + (int) ($seconds * 1e9); !$condition(); \clearstatcache()) {
            \hrtime(true) < $end || Assert::fail("Waited in vain for $what.");
            \usleep(5_000);
        }
    }
}
