<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

use Larder\Lab\Plan\Cell;

/** What became of one cell that both reports have. */
final readonly class Change
{
    /**
     * @param float  $old    the median of its rounds, in the cell's unit
     * @param float  $new    likewise
     * @param float  $ratio  new to old, after the common shift where that is asked for; above 1 is a loss. INF: it was 0 bytes
     * @param float  $low    of its 95 % interval
     * @param float  $high   of its 95 % interval
     * @param ?float $chance to look lost beyond the limit without being so; null where that is not asked: bytes, too few rounds
     */
    public function __construct(
        public Cell $cell,
        public float $old,
        public float $new,
        public float $ratio,
        public float $low,
        public float $high,
        public ?float $chance,
        public Verdict $verdict,
    ) {}
}
