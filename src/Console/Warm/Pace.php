<?php

declare(strict_types=1);

namespace Larder\Console\Warm;

/**
 * How many requests may be under way: one more after each good answer or two, half as many as soon as the site gets slower,
 * and a pause where it fails. Visitors come first.
 *
 * All times are seconds of the caller's clock.
 */
final class Pace
{
    /** Answers that make one round of judging. */
    private const ROUND = 8;

    /** A round this many times as slow as the quickest one, and this much slower in seconds, means load. */
    private const SLOWER = 2.0;
    private const NOTICEABLE = 0.1;

    /** After each round the quickest one counts for a little longer: a site that stays slower is not held back for ever. */
    private const FORGET = 1.02;

    /** The first pause, which doubles; the longest one; and the longest that a site may ask for. */
    private const FIRST_PAUSE = 1.0;
    private const LONGEST_PAUSE = 30.0;
    private const LONGEST_WISH = 120.0;

    /** Failures in a row after which nothing more is tried. */
    private const HOPELESS = 12;

    private int $limit = 1;
    private ?float $quickest = null;

    /** @var list<float> how long the answers of this round took */
    private array $round = [];

    /** No request begins before. */
    private float $until = 0.0;
    private int $failures = 0;
    private int $slowed = 0;

    public function __construct(private readonly int $most) {}

    public function mayBegin(int $running, float $now): bool
    {
        return $running < $this->limit && $now >= $this->until;
    }

    /** How long to wait before mayBegin() can change its mind by itself. */
    public function pause(float $now): float
    {
        return \max(0.0, $this->until - $now);
    }

    /** An answer that was no failure. */
    public function answered(float $seconds): void
    {
        $this->failures = 0;
        $this->round[] = $seconds;
        if ($this->quickest === null) {
            // Until there is a round to compare with.
            $this->limit = \min($this->most, $this->limit + 1);
        }
        if (\count($this->round) < self::ROUND) {
            return;
        }
        $mean = \array_sum($this->round) / self::ROUND;
        $this->round = [];
        if ($this->quickest !== null && $mean > $this->quickest * self::SLOWER && $mean > $this->quickest + self::NOTICEABLE) {
            $this->slowDown();
        } else {
            $this->limit = \min($this->most, $this->limit + 1);
        }
        $this->quickest = \min($mean, ($this->quickest ?? $mean) * self::FORGET);
    }

    /**
     * The site says that it has too much to do, fails, or does not answer.
     *
     * @param ?float $wish what it asks to wait (Retry-After)
     */
    public function failed(float $now, ?float $wish = null): void
    {
        $this->failures++;
        $this->round = [];
        $this->slowDown();
        $pause = $wish === null ? \min(self::LONGEST_PAUSE, self::FIRST_PAUSE * 2 ** ($this->failures - 1)) : \min(self::LONGEST_WISH, \max(0.0, $wish));
        $this->until = \max($this->until, $now + $pause);
    }

    public function isHopeless(): bool
    {
        return $this->failures >= self::HOPELESS;
    }

    /** How often it has slowed down. */
    public function slowed(): int
    {
        return $this->slowed;
    }

    private function slowDown(): void
    {
        $this->limit = \max(1, \intdiv($this->limit, 2));
        $this->slowed++;
    }
}
