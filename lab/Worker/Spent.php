<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

/** What operations have taken, all together. */
final class Spent
{
    public int $operations = 0;
    /** Nanoseconds. */
    public int $time = 0;
    /** Seconds of a processor. */
    public float $processor = 0.0;

    public function add(int $operations, int $time, float $processor): void
    {
        $this->operations += $operations;
        $this->time += $time;
        $this->processor += $processor;
    }

    /** Seconds that this process has been on a processor (getrusage(2)). */
    public static function processor(): float
    {
        /** @var array<string, int> $usage */
        $usage = \getrusage();

        return $usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec'] + ($usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec']) / 1e6;
    }
}
