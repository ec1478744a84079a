<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

/** Stops a process as a hang does. */
final class Halt
{
    /** Returns when it has stopped: its threads do so one by one, and answer until then. */
    public static function process(int $pid): void
    {
        \posix_kill($pid, \SIGSTOP);
        for ($i = 0; $i < 1000; $i++) {
            $states = \array_map(static fn(string $file): string => \explode(') ', (string) \file_get_contents($file))[1][0] ?? '', \glob("/proc/$pid/task/*/stat") ?: []);
            if (\array_unique($states) === ['T']) {
                return;
            }
            \usleep(1000);
        }
    }
}
