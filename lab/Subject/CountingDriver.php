<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/** An engine that counts. */
interface CountingDriver extends Driver
{
    /**
     * Adds one, so many times.
     *
     * @param int<1, max> $times
     *
     * @return mixed the last result; false or null where it could not
     */
    public function increment(string $key, int $times): mixed;
}
