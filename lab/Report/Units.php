<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Statistics\Interval;

/** Figures as people read them: three digits, the unit that fits, thousands apart. */
final readonly class Units
{
    /** Where there is no figure. */
    public const NOTHING = '–';

    /** Of one unit of the cells' own. */
    private const TIMES = ['ns' => 0.001, 'µs' => 1.0, 'ms' => 1e3, 's' => 1e6];
    private const NUMBERS = ['' => 1.0];
    private const SIZES = ['B' => 1.0, 'kB' => 1e3, 'MB' => 1e6];
    private const RATES = ['/s' => 1.0, 'thousand/s' => 1e3, 'million/s' => 1e6];

    private function __construct(
        public string $unit,
        private float $size,
    ) {}

    /**
     * One unit for all figures of a table, the greatest of which the least of them is at least one; but never less
     * than microseconds for the sake of the least alone.
     *
     * @param string      $unit   of the cells: one of Cell's
     * @param list<float> $values in it
     */
    public static function of(string $unit, array $values): self
    {
        $values = $values === [] ? [1.0] : $values;
        $least = \max(\min($values), $unit !== Cell::MICROSECONDS || \max($values) >= 1.0 ? 1.0 : 0.0);
        [$best, $times] = ['', 1.0];
        $all = match ($unit) {
            Cell::BYTES => self::SIZES,
            Cell::COUNT => self::NUMBERS,
            Cell::PER_SECOND => self::RATES,
            default => self::TIMES,
        };
        foreach ($all as $name => $size) {
            if ($best === '' || $least >= $size) {
                [$best, $times] = [$name, $size];
            }
        }

        return new self($best, $times);
    }

    /** One figure in its own unit, with it. */
    public static function one(string $unit, float $value): string
    {
        $units = self::of($unit, [$value]);

        return \rtrim($units->show($value) . ' ' . $units->unit);
    }

    /** In the unit, without it. */
    public function show(float $value): string
    {
        return $this->unit === 'B' ? \number_format($value) : self::digits($value / $this->size);
    }

    /** Three digits, none after the point that say nothing. */
    public static function digits(float $value): string
    {
        if (!\is_finite($value)) {
            return self::NOTHING;
        }
        $size = \abs($value);
        $decimals = match (true) {
            $size >= 99.95 || $size === 0.0 => 0,
            $size >= 9.995 => 1,
            $size >= 0.9995 => 2,
            $size >= 0.09995 => 3,
            $size >= 0.009995 => 4,
            default => 5,
        };

        // By sprintf(): number_format() rounds what lies near a half otherwise from PHP 8.4 on.
        return \number_format((float) \sprintf("%.{$decimals}F", $value), $decimals);
    }

    public static function whole(int $value): string
    {
        return \number_format($value);
    }

    /** "2.10 (2.02–2.18)", the interval with "?" where there were too few rounds for one. */
    public static function ratio(Interval $ratio): string
    {
        return self::digits($ratio->median) . ' (' . self::interval($ratio) . ')';
    }

    public static function interval(Interval $ratio): string
    {
        return \is_finite($ratio->high) ? self::digits($ratio->low) . '–' . self::digits($ratio->high) : '?';
    }
}
