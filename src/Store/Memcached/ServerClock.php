<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

/**
 * The clock of the server that holds the log, by which all of its clients judge what has ended.
 *
 * Memcached counts whole seconds from its start, by a clock that nobody can set, and adds the time of day at which it
 * started (memcached: memcached.c, clock_handler and realtime). It says where it is in one word: the head ends at a
 * moment that is far ahead and always the same, and "mg" with the flag "t" answers how many seconds are left until
 * then. From there this process goes on by its own hrtime().
 *
 * That leaves a second in doubt. So who begins an epoch writes into its name how far his time of day was ahead of the
 * server's, and whoever is as far ahead as that, give or take the second, takes the fraction from his own: clients
 * whose clocks agree then agree on this one. A client whose clock does not fit goes without, and may be a second away
 * from the others. For him too no lock ends too early: the server keeps such a record until its time is over
 * (Item::exptime()), and who finds one there whose end seems to be over goes back to before that (stands()).
 */
final class ServerClock
{
    /** Seconds since 1970 at which the head ends: the last that memcached can take. */
    public const HEAD = 2_147_483_647;

    /** Nanoseconds after which the server is asked again, in the same packet as other things. */
    private const DUE = 1_000_000_000;

    private const SECOND = 1_000_000;

    /** Microseconds that a server may keep a record after its time, and in which whoever has read it judges it. */
    private const LATE = 2 * self::SECOND;

    /** Microseconds that the server's clock is ahead of hrtime(); null: it has not been asked yet. */
    private ?int $ahead = null;

    /** Milliseconds that the time of day was ahead of the server's where the epoch began; null: not known. */
    private ?int $fraction = null;

    /** hrtime() at which it is to be asked again. */
    private int $due = 0;

    public function isDue(): bool
    {
        return $this->ahead === null || \hrtime(true) >= $this->due;
    }

    /** Milliseconds since 1970 as the server counts them; null: it has not been asked yet. */
    public function now(): ?int
    {
        return $this->ahead === null ? null : \intdiv(\intdiv(\hrtime(true), 1000) + $this->ahead, 1000);
    }

    /**
     * Another epoch begins.
     *
     * @param string $epoch its name, which ends with what mark() gave
     */
    public function enter(string $epoch): void
    {
        $this->fraction = \strlen($epoch) === 16 ? (int) \hexdec(\substr($epoch, 12)) - 0x8000 : null;
        $this->due = 0;
    }

    /** What the name of a new epoch ends with: four digits. */
    public function mark(): string
    {
        $now = $this->now();
        $fraction = $now === null ? 0 : (int) (\microtime(true) * 1000) - $now;

        // Where it does not fit, one that nobody will find to be his.
        return \sprintf('%04x', \abs($fraction) < 0x8000 ? $fraction + 0x8000 : 0);
    }

    /**
     * Takes the answer to "mg" for the head.
     *
     * @param array{string, int, int} $time as Batch::$time
     *
     * @return bool false: it does not say
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
     * The server said this between two moments.
     *
     * @param int $seconds  since 1970
     * @param int $sent     hrtime() before it was asked
     * @param int $received hrtime() after it had answered
     */
    public function read(int $seconds, int $sent, int $received): void
    {
        // It says 7 from 7.0 to 7.999: not before the one when it was asked, nor after the other when it has answered.
        $least = $seconds * self::SECOND - \intdiv($received, 1000);
        $most = ($seconds + 1) * self::SECOND - \intdiv($sent, 1000);
        if ($this->fraction !== null) {
            $own = (int) (\microtime(true) * self::SECOND) - \intdiv(\hrtime(true), 1000) - $this->fraction * 1000;
            // Who began the epoch was himself up to a second behind.
            if ($own >= $least - self::SECOND && $own <= $most) {
                $this->ahead = $least = $most = $own;
            }
        }
        if ($this->ahead === null || $this->ahead < $least || $this->ahead > $most) {
            $this->ahead = $least;
        }
        $this->due = $received + self::DUE;
    }

    /** The server still has a record that ends then: so it is not over. */
    public function stands(int $expiry): void
    {
        if ($expiry !== 0 && $this->ahead !== null) {
            $this->ahead = \min($this->ahead, $expiry * 1000 - self::LATE - \intdiv(\hrtime(true), 1000));
        }
    }
}
