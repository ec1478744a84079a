<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Assert;

/**
 * A wall clock that a test can set, for child processes: a library that is loaded before the C library answers the
 * questions for the time, with the seconds added that a file names. The monotonic clock stays as it is, as it does
 * when a real clock is set.
 */
final class Clock
{
    private const SOURCE = <<<'C'
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/time.h>
        #include <time.h>

        static long offset(void)
        {
            const char *name = getenv("CLOCK_OFFSET_FILE");
            FILE *file = name ? fopen(name, "re") : NULL;
            long seconds = 0;
            if (file) {
                if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
                fclose(file);
            }
            return seconds;
        }

        int gettimeofday(struct timeval *tv, void *tz)
        {
            static int (*real)(struct timeval *, void *);
            if (!real) real = (int (*)(struct timeval *, void *)) dlsym(RTLD_NEXT, "gettimeofday");
            int result = real(tv, tz);
            if (tv) tv->tv_sec += offset();
            return result;
        }

        int clock_gettime(clockid_t id, struct timespec *ts)
        {
            static int (*real)(clockid_t, struct timespec *);
            if (!real) real = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
            int result = real(id, ts);
            if (id == CLOCK_REALTIME) ts->tv_sec += offset();
            return result;
        }

        time_t time(time_t *t)
        {
            struct timespec ts;
            clock_gettime(CLOCK_REALTIME, &ts);
            if (t) *t = ts.tv_sec;
            return ts.tv_sec;
        }
        C;

    private readonly TemporaryDirectory $directory;
    private readonly string $library;
    private readonly string $file;

    public function __construct()
    {
        $this->directory = new TemporaryDirectory();
        $this->library = $this->directory->file('clock.so');
        $this->file = $this->directory->write('offset', '0');
        $source = $this->directory->write('clock.c', self::SOURCE);
        \exec('cc -shared -fPIC -O1 -o ' . \escapeshellarg($this->library) . ' ' . \escapeshellarg($source) . ' -ldl 2>&1', $said, $status);
        if ($status !== 0) {
            Assert::markTestSkipped('Needs a C compiler to make a clock that can be set: ' . \implode(' ', $said));
        }
    }

    /** @return array<string, string> */
    public function environment(): array
    {
        return ['LD_PRELOAD' => $this->library, 'CLOCK_OFFSET_FILE' => $this->file];
    }

    /** From now on the clock is so many seconds before or behind the real one, for all that were started with it. */
    public function set(int $offset): void
    {
        $new = $this->directory->write('offset.new', (string) $offset);
        \rename($new, $this->file);
    }
}
