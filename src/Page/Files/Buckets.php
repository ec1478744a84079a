<?php

declare(strict_types=1);

namespace Larder\Page\Files;

/**
 * Buckets of time. A bucket is a directory that the web server looks into only while its time lasts; so a file that lies
 * only in buckets which end before its page's life does ends by itself, though web servers compare no ages.
 *
 *     time      1700000000 … 1700000999 | 1700001000 …                       the label is
 *     long      [        1700000       ] [   1700001                         the clock without its last digits
 *     short     … [170000099]             [170000100][170000101]
 *
 * nginx gives Unix time ($msec). Apache gives a clock on the wall only (%{TIME}, as 20231114221320): there a long bucket
 * has ten minutes. Such a clock shows some hours twice, so near the day on which it is set no bucket is used.
 */
final readonly class Buckets
{
    /** Seconds of a short bucket. */
    private const SHORT = 10;

    /** Buckets that a file is put in at once. Before they end, or just after, PHP puts it in the next ones. */
    private const MOST = 8;

    /** Web servers look at the clock once for several requests. */
    private const MARGIN = 1;

    /** Seconds around the setting of a clock in which no bucket is used: more than any clock is set by. */
    private const SETTING = 10_800;

    /** Seconds by which two looks at one clock may differ, in one request. */
    private const SLOW = 120;

    /** @param ?\DateTimeZone $zone of a clock on the wall; null: Unix time */
    private function __construct(private int $long, private ?\DateTimeZone $zone) {}

    public static function unix(): self
    {
        return new self(1_000, null);
    }

    /**
     * @param string $zone  the web server's, as "Europe/Berlin"
     * @param string $shown what its clock showed at the request's begin, as 20231114221320
     * @param int    $now   Unix time
     *
     * @return ?self null: its clock is in another zone
     */
    public static function wall(string $zone, string $shown, int $now): ?self
    {
        try {
            $zone = new \DateTimeZone($zone);
        } catch (\Exception) {
            return null;
        }
        $read = \DateTimeImmutable::createFromFormat('YmdHis', $shown, $zone);

        return $read !== false && \abs($read->getTimestamp() - $now) <= self::SLOW ? new self(600, $zone) : null;
    }

    /**
     * Labels of buckets from now on, of which each ends before the end of the life. The first one is the present one.
     *
     * @param int $now Unix time
     * @param int $end Unix time of the end of the life
     *
     * @return list<string>
     */
    public function cover(int $now, int $end): array
    {
        $labels = [];
        $end -= self::MARGIN;
        for ($time = $now; \count($labels) < self::MOST; $time = $next) {
            $span = $this->end($time, $this->long) <= $end ? $this->long : self::SHORT;
            $next = $this->end($time, $span);
            if ($next > $end || $this->isSet($time, $next)) {
                break;
            }
            $labels[] = $this->label($time, $span);
        }

        return $labels;
    }

    /** Whether a bucket's time is over, so that no process looks into it again. */
    public function isOver(string $label, int $now): bool
    {
        if ($this->isSet($now, $now)) {
            return false;
        }
        foreach ([$this->long, self::SHORT] as $span) {
            $present = $this->label($now - self::MARGIN, $span);
            if (\strlen($label) === \strlen($present)) {
                return $label < $present;
            }
        }

        return false;
    }

    /** The label of the bucket that the time lies in. */
    private function label(int $time, int $span): string
    {
        $zone = $this->zone;

        return $zone === null ? (string) \intdiv($time, $span)
            : \substr((new \DateTimeImmutable("@$time"))->setTimezone($zone)->format('YmdHis'), 0, $span === self::SHORT ? 13 : 11);
    }

    /** The time at which the bucket ends that this time lies in. */
    private function end(int $time, int $span): int
    {
        $ahead = $this->zone?->getOffset(new \DateTimeImmutable("@$time")) ?? 0;

        return (\intdiv($time + $ahead, $span) + 1) * $span - $ahead;
    }

    /** Whether the clock is set about then. */
    private function isSet(int $from, int $to): bool
    {
        return $this->zone !== null && \count($this->zone->getTransitions($from - self::SETTING, $to + self::SETTING)) !== 1;
    }
}
