<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\System\Quiet;
use PHPUnit\Framework\Assert;

/** Another time of day for a program that is started: by Debian's libfaketime. */
final class ShiftedClock
{
    private const LIBRARY = '/usr/lib/*/faketime/libfaketime.so.1';

    public static function isThere(): bool
    {
        return self::library() !== '';
    }

    /** Skips the test where it cannot be had. */
    public static function demand(): void
    {
        self::isThere() || Assert::markTestSkipped('There is no libfaketime.');
    }

    /**
     * @param string $offset seconds, with a sign
     *
     * @return array<string, string> the program's environment
     */
    public static function environment(string $offset): array
    {
        return ['LD_PRELOAD' => self::library(), 'FAKETIME' => $offset];
    }

    /**
     * @param string $file holds the seconds, with a sign, and may be changed while the program runs
     *
     * @return array<string, string> the program's environment
     */
    public static function changing(string $file): array
    {
        return ['LD_PRELOAD' => self::library(), 'FAKETIME_TIMESTAMP_FILE' => $file, 'FAKETIME_NO_CACHE' => '1', 'FAKETIME_DONT_FAKE_MONOTONIC' => '1'];
    }

    /** Removes the shared memory that the library makes for a program, and leaves when that ends. */
    public static function forget(int $pid): void
    {
        foreach (["/dev/shm/faketime_shm_$pid", "/dev/shm/sem.faketime_sem_$pid"] as $file) {
            \is_file($file) && \unlink($file);
        }
    }

    /** Whether the process waits for the library's semaphore, for ever where a process was killed that had it. */
    public static function hangs(int $pid): bool
    {
        $read = static fn(string $file): string => (string) Quiet::call(static fn(): string|false => \file_get_contents("/proc/$pid/$file"));
        $address = \hexdec(\explode(' ', $read('syscall'))[1] ?? '');
        \preg_match_all('~^([0-9a-f]+)-([0-9a-f]+) .*/sem\.faketime_~m', $read('maps'), $maps, \PREG_SET_ORDER);
        foreach ($maps as [, $from, $to]) {
            if ($address >= \hexdec($from) && $address < \hexdec($to)) {
                return true;
            }
        }

        return false;
    }

    private static function library(): string
    {
        return (\glob(self::LIBRARY) ?: [''])[0];
    }
}
