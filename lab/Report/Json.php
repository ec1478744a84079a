<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Presentation;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;

/**
 * A report as JSON, with every sample: what JsonReader reads and lab/bench.schema.json describes.
 *
 * This folder makes every form of a report from one Run\Report: JSON here, tables (Tables) for the terminal, Markdown
 * and the page, pictures (Svg). Nothing here measures, and the mathematics is in Statistics/.
 *
 * Times are rounded to four significant digits, which is finer than any clock they come from and keeps a file of a
 * million samples at six megabytes. The statistics are those of the rounded samples, so that a reader who computes them
 * again from the file finds the same.
 */
final class Json
{
    /** What it is, and its version: it changes when a reader of the old one could not read the new one. */
    public const SCHEMA = 'larder-bench-report/3';

    /** The properties of Statistics\Summary, in the order in which they are printed; n comes before them. */
    public const STATISTICS = ['min', 'p1', 'p5', 'median', 'mean', 'p95', 'p99', 'max', 'range', 'mad', 'stdev'];

    /** Significant digits of a time. */
    private const SAMPLE = 4;
    /** Significant digits of what is computed from samples. */
    private const STATISTIC = 6;

    /** @throws \JsonException if a figure of it is not a number */
    public function encode(Report $report): string
    {
        // Of -1 a float has as many digits as it takes to read the same one again.
        $before = \ini_set('serialize_precision', '-1');
        try {
            $members = [];
            foreach ([
                'schema' => self::SCHEMA,
                'command' => $report->command,
                'started' => $report->started,
                'seconds' => self::rounded($report->seconds, self::STATISTIC),
                'seed' => $report->seed,
                'rounds' => $report->rounds,
                'partial' => $report->partial,
                'quiet' => $report->quiet,
                'notes' => $report->notes,
                'machine' => (object) $report->machine,
                'versions' => (object) $report->versions,
            ] as $name => $value) {
                $members[] = "\"$name\": " . self::text($value, $name === 'machine' ? \JSON_PRESERVE_ZERO_FRACTION : 0);
            }
            // A line each, so that people can look into it and two can be compared.
            foreach ([
                'scenarios' => \array_map(self::presentation(...), $report->scenarios),
                'results' => \array_map(self::result(...), $report->results),
                'ratios' => \array_map(self::ratio(...), $report->ratios),
                'missing' => $report->missing,
                'disqualified' => $report->disqualified,
            ] as $name => $list) {
                $members[] = "\"$name\": [\n" . \implode(",\n", \array_map(self::text(...), $list)) . "\n]";
            }
        } finally {
            \ini_set('serialize_precision', (string) $before);
        }

        return "{\n" . \implode(",\n", $members) . "\n}\n";
    }

    /** @return array<mixed> */
    private static function result(Result $result): array
    {
        $cell = $result->cell;
        $digits = $cell->isExact() ? null : self::SAMPLE;
        $rounds = \array_map(static fn(array $samples): array => \array_map(static fn(float $sample): float => self::rounded($sample, $digits), $samples), $result->rounds);
        $summary = (new Result($cell, $rounds, percentiles: $result->percentiles))->summary;

        return ['id' => $cell->id()] + \get_object_vars($cell) + ['n' => $summary->n]
            + \array_map(static fn(string $of): ?float => self::rounded($summary->{$of}, $cell->isExact() ? null : self::STATISTIC), \array_combine(self::STATISTICS, self::STATISTICS))
            + [
                'per_second' => self::rounded($result->perSecond, self::STATISTIC),
                'rounds' => \array_map(\count(...), $rounds),
                'samples' => \array_merge(...$rounds),
            ];
    }

    /** @return array<string, mixed> */
    private static function presentation(Presentation $one): array
    {
        return [
            'name' => $one->name,
            'about' => $one->about,
            'title' => $one->title,
            'remark' => $one->remark,
            'first' => $one->first,
            'side_by_side' => $one->sideBySide,
            'payloads' => (object) $one->payloads,
            'operations' => (object) $one->operations,
            'columns' => (object) $one->columns,
            'populations' => $one->populations,
        ];
    }

    /** @return array<string, mixed> */
    private static function ratio(Ratio $ratio): array
    {
        $rounded = static fn(?float $value): ?float => self::rounded($value, self::STATISTIC);
        $limit = $rounded($ratio->limit);

        return [
            'of' => $ratio->of,
            'to' => $ratio->to,
            'median' => $rounded($ratio->median),
            // Of so few rounds that nothing can be told, the interval is from 0 to infinity: both are null.
            'low' => \is_finite($ratio->high) ? $rounded($ratio->low) : null,
            'high' => \is_finite($ratio->high) ? $rounded($ratio->high) : null,
            'rounds' => $ratio->rounds,
            'kind' => $ratio->kind,
            'limit' => $limit,
            'holds' => $limit === null ? null : $rounded($ratio->median) <= $limit,
            'title' => $ratio->title,
            'samples' => \array_map($rounded, $ratio->samples),
        ];
    }

    /** Without < and >, so that it can stand inside a page's script element. */
    private static function text(mixed $value, int $flags = 0): string
    {
        return \json_encode($value, $flags | \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_UNICODE | \JSON_UNESCAPED_SLASHES | \JSON_HEX_TAG | \JSON_INVALID_UTF8_SUBSTITUTE);
    }

    /**
     * @param ?int $digits null: all
     *
     * @return ($value is null ? null : float)
     */
    private static function rounded(?float $value, ?int $digits): ?float
    {
        // Of %H no setting of PHP or of the locale changes the point or the precision.
        return $value === null || $digits === null || !\is_finite($value) ? $value : (float) \sprintf('%.*H', $digits, $value);
    }
}
