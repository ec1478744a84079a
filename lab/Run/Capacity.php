<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Plan\Cell;

/**
 * Whether this machine can have done what was measured: processes take no more processor time than cores and clock
 * allow, and what an operation takes of a processor, times the rate that is reported, is no more than the cores either.
 */
final class Capacity
{
    /** What two clocks may differ by. */
    private const TOLERANCE = 1.05;

    /** Seconds: the longest step of a kernel's account of processor time (HZ=100), below which it says nothing. */
    private const STEP = 0.01;

    private int $checked = 0;
    private int $over = 0;
    private float $most = 0.0;

    public function __construct(private readonly int $cores) {}

    /** @return ?string what is impossible, with its figures */
    public function excess(Cell $cell, Measured $measured): ?string
    {
        if ($measured->spent === null || $measured->samples === []) {
            return null;
        }
        [$operations, $seconds, $processor] = $measured->spent;
        // One process does one thing after the other.
        $cores = $cell->concurrency === 1 && !$cell->moreIsBetter() ? 1 : $this->cores;
        $center = \array_sum($measured->samples) / \count($measured->samples);
        $rate = \max($measured->perSecond ?? 0.0, match ($cell->unit) {
            Cell::MICROSECONDS => $cell->concurrency * 1e6 / \max($center, 1e-9),
            Cell::PER_SECOND => $center,
            default => 0.0,
        });
        $processor = \max(0.0, $processor - self::STEP);
        $busy = $processor / \max($seconds, 1e-9);
        $implied = $rate * $processor / \max($operations, 1);
        ++$this->checked;
        if (\max($busy, $implied) <= $cores * self::TOLERANCE) {
            $this->most = \max($this->most, $busy, $implied);

            return null;
        }
        ++$this->over;

        return \sprintf(
            'impossible: %d operations took %.4f processor seconds in %.4f seconds, and %.0f a second were reported, which is the work of %.2f cores, not of %d',
            $operations,
            $processor,
            $seconds,
            $rate,
            \max($busy, $implied),
            $cores,
        );
    }

    /** For the report: that it was looked at, and what was found. */
    public function sentence(): string
    {
        if ($this->checked === 0) {
            return 'No figure could be held against the processor time that it took.';
        }

        return \sprintf(
            'Every figure of the laboratory\'s own processes was held against the processor time that they took. Of %s, %s more than this machine\'s %d cores can do%s.',
            \number_format($this->checked),
            $this->over === 0 ? 'none is' : \number_format($this->over) . ' are',
            $this->cores,
            $this->most > 0.0 ? \sprintf(' (the busiest of the others: %.2f cores)', $this->most) : '',
        );
    }
}
