<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** Time that processes have spent on a processor. */
final class Processor
{
    /**
     * Of all threads of these processes together, those that have ended left out (proc(5), schedstat: nanoseconds).
     *
     * @param list<int> $pids
     */
    public static function microseconds(array $pids): float
    {
        return (float) Silence::of(static function () use ($pids): float {
            $time = 0;
            foreach ($pids as $pid) {
                foreach (\glob("/proc/$pid/task/*/schedstat") ?: [] as $file) {
                    $time += (int) \file_get_contents($file);
                }
            }

            return $time / 1e3;
        });
    }
}
