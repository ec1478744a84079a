<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

use Larder\Lab\Statistics\Interval;

/** How many times as long one thing took in the new report: a cell, all cells of a subject, or all cells. */
final readonly class Change extends Interval
{
    /**
     * @param string     $id     a cell's id, "scenario/subject", or '' for everything
     * @param float      $ratio  new to old, in time or size: above 1 is slower or larger
     * @param float      $low    of its 95 % interval; 0 where there are too few rounds
     * @param float      $high   of its 95 % interval; INF where there are too few rounds
     * @param ?float     $p      how often chance alone goes that far; null where nothing can be said, or sizes are exact
     * @param ?int       $needed rounds in each report with which it could be told, where now it cannot; null also of too few rounds to reckon it
     * @param int<1,max> $cells  that it is about
     */
    public function __construct(
        public string $id,
        float $ratio,
        float $low,
        float $high,
        public ?float $p,
        public Verdict $verdict,
        public ?int $needed = null,
        public int $cells = 1,
    ) {
        parent::__construct($ratio, $low, $high, 0);
    }
}
