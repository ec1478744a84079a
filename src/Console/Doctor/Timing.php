<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

/** Reduces several times to the one that the doctor reports. */
final class Timing
{
    /** @param list<float> $times */
    public static function median(array $times): float
    {
        if ($times === []) {
            return 0.0;
        }
        \sort($times);
        $middle = \intdiv(\count($times), 2);

        return \count($times) % 2 === 1 ? $times[$middle] : ($times[$middle - 1] + $times[$middle]) / 2;
    }
}
