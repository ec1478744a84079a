<?php

declare(strict_types=1);

namespace Larder\Bench;

use Larder\Lab\Statistics\Quantile;
use Larder\Lab\Statistics\Summary;
use Random\Randomizer;

/** The samples of one comparison (nanoseconds an operation, a list a side, the first side being the base) and their statistics. */
final readonly class Comparison
{
    private const RESAMPLES = 2_000;

    /**
     * @param list<string>      $names
     * @param list<list<float>> $samples  of the same length each: what was measured in the same round has the same index
     */
    public function __construct(
        public string $title,
        public array $names,
        public array $samples,
        private Randomizer $random,
    ) {}

    /** @param non-empty-list<float> $values */
    public static function median(array $values): float
    {
        \sort($values);

        return Quantile::median($values);
    }

    /**
     * Median time of a side over the base's, with its 95 % interval: rounds are drawn again with replacement, both
     * sides of a round together, and the middle 95 % of the ratios so found is the interval (Efron's percentiles).
     *
     * @return array{float, float, float} ratio, from, to
     */
    public function ratio(int $side): array
    {
        return $this->interval($side, static fn(float $time, float $base): float => $time / $base);
    }

    /**
     * Median time of a side less the base's, in nanoseconds, with its 95 % interval.
     *
     * @return array{float, float, float} difference, from, to
     */
    public function difference(int $side, int $base = 0): array
    {
        return $this->interval($side, static fn(float $time, float $base): float => $time - $base, $base);
    }

    /**
     * The table. A limit is what the ratio may reach at most; below 1 it is said the other way round, as "times faster".
     *
     * @param array<int, float> $limits  by the side's number
     */
    public function table(array $limits = []): string
    {
        $widest = \max(0, ...\array_map(\strlen(...), $this->names));
        $table = $this->title . "\n" . \sprintf("  %-{$widest}s  %3s  %10s  %8s  %7s  %s\n", '', 'n', 'median', 'MAD', 'ratio', '95 % interval');
        foreach ($this->names as $side => $name) {
            $summary = new Summary(self::some($this->samples[$side]));
            $line = \sprintf("  %-{$widest}s  %3d  %10s  %8s", $name, $summary->n, self::time($summary->median), self::time($summary->mad));
            if ($side > 0) {
                [$ratio, $from, $to] = $this->ratio($side);
                $line .= \sprintf('  %7s  %s to %s', self::number($ratio), self::number($from), self::number($to));
                if (isset($limits[$side])) {
                    $line .= '   ' . self::verdict($ratio, $limits[$side]);
                }
            }
            $table .= $line . "\n";
        }

        return $table . "\n";
    }

    public static function time(float $nanoseconds): string
    {
        return \abs($nanoseconds) < 1_000 ? \sprintf('%.1f ns', $nanoseconds) : \sprintf('%.2f us', $nanoseconds / 1_000);
    }

    private static function verdict(float $ratio, float $limit): string
    {
        $says = $limit < 1.0
            ? \sprintf('%.1f times faster; to reach: %.4g', 1 / $ratio, 1 / $limit)
            : \sprintf('at most %.4g', $limit);

        return $says . ($ratio <= $limit ? ': reached' : ': NOT REACHED');
    }

    private static function number(float $ratio): string
    {
        return \sprintf($ratio < 0.1 ? '%.4f' : '%.3f', $ratio);
    }

    /**
     * @param \Closure(float, float): float $compare
     *
     * @return array{float, float, float}
     */
    private function interval(int $side, \Closure $compare, int $base = 0): array
    {
        $times = self::some($this->samples[$side]);
        $bases = self::some($this->samples[$base]);
        $last = \count($times) - 1;
        $found = [];
        for ($i = 0; $i < self::RESAMPLES; ++$i) {
            $one = $two = [];
            for ($j = 0; $j <= $last; ++$j) {
                $drawn = $this->random->getInt(0, $last);
                $one[] = $times[$drawn];
                $two[] = $bases[$drawn];
            }
            $found[] = $compare(self::median($one), self::median($two));
        }
        \sort($found);

        return [
            $compare(self::median($times), self::median($bases)),
            $found[(int) (self::RESAMPLES * 0.025)],
            $found[(int) (self::RESAMPLES * 0.975) - 1],
        ];
    }

    /**
     * @param list<float> $samples
     *
     * @return non-empty-list<float>
     */
    private static function some(array $samples): array
    {
        return $samples === [] ? throw new \LogicException('A comparison without samples.') : $samples;
    }
}
