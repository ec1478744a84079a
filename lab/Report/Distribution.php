<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Run\Result;

/**
 * The samples of one result as an outline on a picture's scale: a violin, which is as high as samples are frequent there. Fewer
 * than FEW samples are too few for one, so each is a tick.
 *
 * Of many samples the least and the greatest hundredth are left out: one interruption by the machine would stretch the scale.
 */
final readonly class Distribution
{
    /** In units of its own: so wide and high is what it is drawn in. */
    public const WIDTH = 1_000;
    public const HEIGHT = 11;

    private const FEW = 30;

    /** Samples from which on the ends are left out. */
    private const MANY = 200;

    /** Units of width whose samples are counted together, and of height that one sample is at least. */
    private const BIN = 2;
    private const LEAST = 1.0;

    /** @var list<float> ascending, those that are drawn */
    private array $samples;

    public function __construct(Result $result)
    {
        $samples = \array_values(\array_filter(\array_merge(...$result->rounds), static fn(float $sample): bool => $sample > 0.0));
        \sort($samples);
        if (\count($samples) >= self::MANY) {
            $end = \intdiv(\count($samples), 100);
            $samples = \array_slice($samples, $end, -$end);
        }
        $this->samples = $samples;
    }

    /** @return array{float, float} the least and the greatest that are drawn; of none infinity and 0 */
    public function ends(): array
    {
        return $this->samples === [] ? [\INF, 0.0] : [$this->samples[0], $this->samples[\count($this->samples) - 1]];
    }

    /**
     * The path's data.
     *
     * @param \Closure(float): float $at per cent of the width
     * @param float                  $y  of its upper edge
     */
    public function path(\Closure $at, float $y): string
    {
        $counts = [];
        foreach ($this->samples as $sample) {
            $bin = (int) ($at($sample) * self::WIDTH / 100 / self::BIN);
            $counts[$bin] = 1 + ($counts[$bin] ?? 0);
        }
        $path = '';
        if (\count($this->samples) < self::FEW) {
            foreach (\array_keys($counts) as $bin) {
                $path .= \sprintf('M%d %sh%dv%dh-%dz', $bin * self::BIN, self::number($y), self::BIN, self::HEIGHT, self::BIN);
            }

            return $path;
        }
        $middle = $y + self::HEIGHT / 2;
        $most = \max([1, ...$counts]);
        foreach (self::runs($counts) as $run) {
            $upper = $lower = '';
            foreach ($run as $bin => $count) {
                $half = \max(self::LEAST, self::HEIGHT * $count / $most) / 2;
                $upper .= 'V' . self::number($middle - $half) . 'h' . self::BIN;
                $lower = 'V' . self::number($middle + $half) . 'h-' . self::BIN . $lower;
            }
            $path .= 'M' . \array_key_first($run) * self::BIN . ' ' . self::number($middle) . $upper . $lower . 'z';
        }

        return $path;
    }

    /**
     * @param array<int, int> $counts by bin, ascending
     *
     * @return list<non-empty-array<int, int>> of neighbours
     */
    private static function runs(array $counts): array
    {
        $runs = $run = [];
        foreach ($counts as $bin => $count) {
            if ($run !== [] && !isset($run[$bin - 1])) {
                $runs[] = $run;
                $run = [];
            }
            $run[$bin] = $count;
        }

        return $run === [] ? $runs : [...$runs, $run];
    }

    /** With as few digits as a tenth of a unit takes. */
    private static function number(float $value): string
    {
        return (string) \round($value, 1);
    }
}
