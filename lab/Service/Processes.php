<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** What the kernel says of processes (proc(5)). */
final class Processes
{
    /** @return list<int> the process and all that it has started */
    public static function of(int $pid): array
    {
        $all = [$pid];
        for ($i = 0; $i < \count($all); $i++) {
            $children = \trim((string) Silence::of(static fn(): string|false => \file_get_contents("/proc/$all[$i]/task/$all[$i]/children")));
            \array_push($all, ...($children === '' ? [] : \array_map(\intval(...), \explode(' ', $children))));
        }

        return $all;
    }

    /**
     * Time on a processor of all threads of these together, those that have ended left out (proc(5), schedstat: nanoseconds).
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
