<?php

declare(strict_types=1);

namespace Larder\Lab\Statistics;

/**
 * What there is to say about a list of samples, in their unit.
 *
 * The mathematics of the lab lives in this folder, each thing once: samples are described here and in Quantile,
 * compared in Bootstrap, and Noise says whether a comparison can be trusted.
 * Nothing here measures a subject, knows a cell or writes a report.
 *
 * A percentile needs ten samples beyond it: 1,000 for p1 and p99, 200 for p5 and p95. Where there are fewer it is null.
 */
final readonly class Summary
{
    /** Samples beyond a percentile, at least. */
    private const BEYOND = 10;

    public int $n;
    public float $min;
    public ?float $p1;
    public ?float $p5;
    public float $median;
    public float $mean;
    public ?float $p95;
    public ?float $p99;
    public float $max;
    /** From the least to the greatest. */
    public float $range;
    /** The median distance from the median, as it is: not scaled to be like a standard deviation. */
    public float $mad;
    /** Of a sample (n - 1); 0 for a single one. */
    public float $stdev;

    /**
     * @param list<float> $samples     in any order; at least one
     * @param bool        $percentiles whether they mean something
     *
     * @throws UnusableSamples if there are none, or one is infinite or not a number
     */
    public function __construct(array $samples, bool $percentiles = true)
    {
        if ($samples === []) {
            throw new UnusableSamples('There are no samples: measure at least one before asking for statistics.');
        }
        foreach ($samples as $index => $sample) {
            if (!\is_finite($sample)) {
                throw new UnusableSamples(\sprintf('Sample %d is %s, which is no measurement.', $index, \is_nan($sample) ? 'not a number' : 'infinite'));
            }
        }
        \sort($samples);
        $this->n = \count($samples);
        $this->min = $samples[0];
        $this->p1 = $percentiles ? self::percentile($samples, 0.01) : null;
        $this->p5 = $percentiles ? self::percentile($samples, 0.05) : null;
        $this->median = Quantile::median($samples);
        $this->p95 = $percentiles ? self::percentile($samples, 0.95) : null;
        $this->p99 = $percentiles ? self::percentile($samples, 0.99) : null;
        $this->max = $samples[$this->n - 1];
        $this->range = $this->max - $this->min;
        [$this->mean, $this->stdev] = self::moments($samples);
        $this->mad = self::mad($samples, $this->median);
    }

    /** @param non-empty-list<float> $samples sorted */
    private static function percentile(array $samples, float $at): ?float
    {
        // Ten of a thousand, whatever 1 - 0.99 is in binary.
        return \count($samples) * \min($at, 1 - $at) >= self::BEYOND - 1e-9 ? Quantile::of($samples, $at) : null;
    }

    /**
     * Two passes: distances from a first mean are small where the samples are not, so nothing is lost when they are
     * squared; what they add up to corrects both the mean and the squares for the rounding of that first mean
     * (T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for Computing the Sample Variance", The American
     * Statistician 37(3), 1983, the corrected two-pass algorithm).
     *
     * @param non-empty-list<float> $samples
     *
     * @return array{float, float} mean, standard deviation
     */
    private static function moments(array $samples): array
    {
        $n = \count($samples);
        $mean = 0.0;
        foreach ($samples as $index => $sample) {
            $mean += ($sample - $mean) / ($index + 1);
        }
        $sum = $squares = 0.0;
        foreach ($samples as $sample) {
            $distance = $sample - $mean;
            $sum += $distance;
            $squares += $distance * $distance;
        }

        return [$mean + $sum / $n, $n > 1 ? \sqrt(\max(0.0, $squares - $sum * $sum / $n) / ($n - 1)) : 0.0];
    }

    /** @param non-empty-list<float> $samples */
    private static function mad(array $samples, float $median): float
    {
        $distances = [];
        foreach ($samples as $sample) {
            $distances[] = \abs($sample - $median);
        }
        \sort($distances);

        return Quantile::median($distances);
    }
}
