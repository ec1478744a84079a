<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Statistics\Quantile;
use Larder\Lab\Statistics\Summary;

/** All that was measured of one cell, round by round. */
final readonly class Result
{
    public Summary $summary;

    /**
     * @param non-empty-list<non-empty-list<float>> $rounds    the samples of each round, in the cell's unit; each round was a process of its own
     * @param ?float                                $perSecond operations a second of all processes together; null where that means nothing
     * @param bool                                  $percentiles whether they mean something: all samples that are compared have the same number of operations
     */
    public function __construct(
        public Cell $cell,
        public array $rounds,
        public ?float $perSecond = null,
        public bool $percentiles = true,
    ) {
        $this->summary = new Summary(\array_merge(...$rounds), $percentiles);
    }

    /**
     * What each round says: the one figure by which rounds, and through them cells, are compared.
     *
     * The median of its samples, which one interruption does not move; but their mean where several processes shared the
     * machine, for there the waits for each other are part of the work, and the median of two heaps of samples jumps from one to the other.
     *
     * @return non-empty-list<float> one a round, in the cell's unit
     */
    public function centers(): array
    {
        return \array_map(function (array $samples): float {
            if ($this->cell->concurrency > 1) {
                return \array_sum($samples) / \count($samples);
            }
            \sort($samples);

            return Quantile::median($samples);
        }, $this->rounds);
    }
}
