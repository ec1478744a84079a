<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/**
 * How much rounds of one run scatter, learnt from all of its cells.
 *
 * Ten rounds tell their own spread only roughly, and when hundreds of cells are looked at there is always one whose
 * rounds agree by luck. So each cell's variance is drawn towards what is usual in its run, the more the more alike the
 * cells are (G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in
 * microarray experiments", Statistical Applications in Genetics and Molecular Biology 3(1), 2004, section 6.2).
 */
final readonly class Spread
{
    /** Fewer cells say nothing about each other. */
    private const CELLS = 10;
    /** Cells are never taken for entirely alike, however much so they look. */
    private const MOST = 100.0;

    /**
     * @param float $freedom  what the usual variance counts for, in degrees of freedom; 0: nothing
     * @param float $variance the usual one, of logarithms
     */
    private function __construct(private float $freedom, private float $variance) {}

    /** @param array<Trimmed> $cells of one run */
    public static function of(array $cells): self
    {
        $n = \count($cells);
        if ($n < self::CELLS) {
            return new self(0.0, 0.0);
        }
        // The logarithm of a variance has a known mean and spread of its own; what they scatter beyond it is
        // how much the cells really differ.
        $logs = [];
        $own = 0.0;
        foreach ($cells as $cell) {
            $half = $cell->freedom / 2;
            $logs[] = \log($cell->variance) - Gamma::digamma($half) + \log($half);
            $own += Gamma::trigamma($half) / $n;
        }
        $mean = \array_sum($logs) / $n;
        $scatter = 0.0;
        foreach ($logs as $log) {
            $scatter += ($log - $mean) ** 2 / ($n - 1);
        }
        $half = Gamma::whereTrigammaIs($scatter - $own, self::MOST / 2);

        // Half of what they seem to say: cells of two kinds, some in the process and some over a network, do not scatter
        // as the theory has it, and taken at its word it would find one time in seven what is not there.
        return new self($half, \exp($mean + Gamma::digamma($half) - \log($half)));
    }

    /** @return array{float, float} a cell's variance and its degrees of freedom, when all that is known is put together */
    public function with(Trimmed $cell): array
    {
        $freedom = $this->freedom + $cell->freedom;

        return [($this->freedom * $this->variance + $cell->freedom * $cell->variance) / $freedom, $freedom];
    }
}
