<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Statistics\Summary;

/** All that was measured of one cell, round by round. */
final readonly class Result
{
    public Summary $summary;

    /**
     * @param non-empty-list<non-empty-list<float>> $rounds    the samples of each round, in the cell's unit; each round was a process of its own
     * @param ?float                                $perSecond operations a second of all processes together; null where that means nothing
     */
    public function __construct(
        public Cell $cell,
        public array $rounds,
        public ?float $perSecond = null,
    ) {
        $this->summary = new Summary(\array_merge(...$rounds));
    }
}
