<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Identifies the current boot of the machine.
 *
 * Writes to the database do not wait for the disk, so after a power cut it may be behind, and the process that finds it
 * must start cold. Linux names each boot (random(4), /proc/sys/kernel/random/boot_id). If PHP cannot read that name, as
 * under open_basedir, the time of the boot takes its place: the wall clock minus the clock that counts from the boot
 * (clock_gettime(2), CLOCK_MONOTONIC). Both run at one rate, so the difference is constant. Only when the wall clock is
 * set, or the machine sleeps, does it change, and the cache starts cold needlessly.
 */
final class MachineBoot
{
    public const FILE = '/proc/sys/kernel/random/boot_id';

    /** Seconds by which two readings of one boot's time may differ. */
    private const TOLERANCE = 2;

    public function __construct(
        /** '' if unknown. */
        public readonly string $id,
        /** Seconds since 1970. */
        public readonly int $time,
    ) {}

    public static function current(): self
    {
        return new self(self::id(), self::time());
    }

    /** Seconds since 1970, by the wall clock as it is set now. */
    public static function time(): int
    {
        return (int) \round(\microtime(true) - \hrtime(true) / 1e9);
    }

    /** A UUID that Linux makes once a boot (Documentation/admin-guide/sysctl/kernel.rst, random/boot_id); '' if PHP cannot read it. */
    public static function id(): string
    {
        return \PHP_OS_FAMILY === 'Linux'
            ? \substr(\trim((string) Quiet::call(static fn(): string|false => \file_get_contents(self::FILE, length: 64))), 0, 36)
            : '';
    }

    public function is(self $other): bool
    {
        return $this->id !== '' && $other->id !== ''
            ? $this->id === $other->id
            : \abs($this->time - $other->time) <= self::TOLERANCE;
    }
}
