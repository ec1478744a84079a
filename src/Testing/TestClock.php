<?php

declare(strict_types=1);

namespace Larder\Testing;

use Larder\System\Clock;

/**
 * A clock that stands still until a test moves it.
 *
 * @internal
 */
final class TestClock
{
    /** Milliseconds. */
    public int $now;

    public function __construct()
    {
        $this->now = Clock::now();
    }
}
