<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

/**
 * The clock of the server that holds the journal, by which all of its clients judge what has expired.
 *
 * Memcached counts whole seconds from its start, by a clock that cannot be set, and adds the time of day at which it
 * started (memcached: memcached.c, clock_handler and realtime). A client learns that time cheaply: the head expires at a
 * fixed moment far ahead, and "mg" with the flag "t" answers how many seconds are left until then. From there on this
 * process counts by its own hrtime().
 *
 * That leaves the fraction of a second open. So a client that begins an epoch writes into the epoch's name how far its own
 * wall clock was ahead of the server's. A client whose wall clock is as far ahead, to within a second, takes the fraction
 * from it: so clients whose wall clocks agree also agree on this clock. Any other client goes without the fraction, and may
 * be a second away from the others. Even for such a client no lock ends too early: the server keeps the record until it
 * expires (Item::exptime()), and a client that finds a record past its expiry sets its clock back (stands()).
 */
final class ServerClock
{
    /** Seconds since 1970 at which the head expires: the latest time that memcached can take. */
    public const HEAD = 2_147_483_647;

    /** Nanoseconds after which the server is asked again, in the same packet as other commands. */
    private const DUE = 1_000_000_000;

    private const SECOND = 1_000_000;

    /** Microseconds within which a server removes an expired record and a client that has read it judges it. */
    private const LATE = 2 * self::SECOND;

    /** Microseconds that the server's clock is ahead of hrtime(); null: not asked yet. */
    private ?int $ahead = null;

    /** Milliseconds that the wall clock of the client that began the epoch was ahead of the server's; null: unknown. */
    private ?int $fraction = null;

    /** hrtime() at which to ask the server again. */
    private int $due = 0;

    public function isDue(): bool
    {
        return $this->ahead === null || \hrtime(true) >= $this->due;
    }

    /** Milliseconds since 1970 by the server's clock; null: not asked yet. */
    public function now(): ?int
    {
        return $this->ahead === null ? null : \intdiv(\intdiv(\hrtime(true), 1000) + $this->ahead, 1000);
    }

    /**
     * Another epoch begins.
     *
     * @param string $epoch its name, which ends with a result of mark()
     */
    public function enter(string $epoch): void
    {
        $this->fraction = \strlen($epoch) === 16 ? (int) \hexdec(\substr($epoch, 12)) - 0x8000 : null;
        $this->due = 0;
    }

    /** The end of a new epoch's name: four hexadecimal digits. */
    public function mark(): string
    {
        $now = $this->now();
        $fraction = $now === null ? 0 : (int) (\microtime(true) * 1000) - $now;

        // If the difference does not fit, 0, which matches no client.
        return \sprintf('%04x', \abs($fraction) < 0x8000 ? $fraction + 0x8000 : 0);
    }

    /**
     * Takes the answer to "mg" for the head.
     *
     * @param array{string, int, int} $time as Batch::$time
     *
     * @return bool false: the answer holds no time
     */
    public function learn(array $time): bool
    {
        [$line, $sent, $received] = $time;
        // "OK" before 1.6.10; "-1" where an older release of this library has written the head.
        if (!\str_starts_with($line, 'HD t') && !\str_starts_with($line, 'OK t')) {
            return false;
        }
        $left = (int) \substr($line, 4);
        $left > 0 && $this->read(self::HEAD - $left, $sent, $received);

        return $left > 0;
    }

    /**
     * Takes the time that the server answered.
     *
     * @param int $seconds  since 1970
     * @param int $sent     hrtime() before it was asked
     * @param int $received hrtime() after it had answered
     */
    public function read(int $seconds, int $sent, int $received): void
    {
        // The answer 7 means 7.0 to 7.999, at some moment between sending and receiving.
        $least = $seconds * self::SECOND - \intdiv($received, 1000);
        $most = ($seconds + 1) * self::SECOND - \intdiv($sent, 1000);
        if ($this->fraction !== null) {
            $own = (int) (\microtime(true) * self::SECOND) - \intdiv(\hrtime(true), 1000) - $this->fraction * 1000;
            // The client that began the epoch was itself up to a second behind.
            if ($own >= $least - self::SECOND && $own <= $most) {
                $this->ahead = $least = $most = $own;
            }
        }
        if ($this->ahead === null || $this->ahead < $least || $this->ahead > $most) {
            $this->ahead = $least;
        }
        $this->due = $received + self::DUE;
    }

    /** Sets the clock back if needed: the server still has a record with this expiry, so it has not expired. */
    public function stands(int $expiry): void
    {
        if ($expiry !== 0 && $this->ahead !== null) {
            $this->ahead = \min($this->ahead, $expiry * 1000 - self::LATE - \intdiv(\hrtime(true), 1000));
        }
    }
}
