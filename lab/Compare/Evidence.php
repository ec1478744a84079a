<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/**
 * How likely it is that rounds look so different by chance, and what may be believed when many cells are looked at.
 *
 * The intervals of the report cannot say it: among 800 cells the question is about chances of 1 in 16,000, and the
 * bootstrap of ten rounds knows of nothing beyond the least and the greatest of them.
 */
final readonly class Evidence
{
    /**
     * @param Spread $newSpread of the run that the new rounds are from
     * @param Spread $oldSpread of the run that the old ones are from
     */
    public function __construct(
        private Spread $newSpread,
        private Spread $oldSpread,
    ) {}

    /**
     * The chance to see this, or more, when the new times are in truth no more than $factor times the old: Welch's t
     * test of what Trimmed and Spread make of the rounds.
     *
     * @param float $factor above 0
     */
    public function above(Trimmed $new, Trimmed $old, float $factor): float
    {
        [$newVariance, $newFreedom] = $this->newSpread->with($new);
        [$oldVariance, $oldFreedom] = $this->oldSpread->with($old);
        $newError = $newVariance / $new->left;
        $oldError = $oldVariance / $old->left;
        $error = $newError + $oldError;

        return StudentT::tail(
            ($new->mean - $old->mean - \log($factor)) / \sqrt($error),
            $error ** 2 / ($newError ** 2 / $newFreedom + $oldError ** 2 / $oldFreedom),
        );
    }

    /** The chance to see this, or less, when the new times are in truth no less than $factor times the old. */
    public function below(Trimmed $new, Trimmed $old, float $factor): float
    {
        // Not 1 - above(): what is far below 1e-16 would be lost.
        return (new self($this->oldSpread, $this->newSpread))->above($old, $new, 1 / $factor);
    }

    /**
     * Which of many findings may be believed, so that of those believed no more than a part is by chance (Y. Benjamini
     * and Y. Hochberg, Journal of the Royal Statistical Society B 57, 1995, pages 289 to 300). Where in truth there is
     * nothing, it believes anything at all no more often than that.
     *
     * @template K of array-key
     *
     * @param array<K, float> $chances of each, all that were looked at
     * @param float           $rate    the part, 0.05 for one in twenty
     *
     * @return array<K, float> the believed ones, least chance first
     */
    public static function believed(array $chances, float $rate): array
    {
        \asort($chances);
        $all = \count($chances);
        $rank = $last = 0;
        foreach ($chances as $chance) {
            $rank++;
            if ($chance <= $rate * $rank / $all) {
                $last = $rank;
            }
        }

        return \array_slice($chances, 0, $last, true);
    }
}
