<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Presentation;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;

/**
 * A report as JSON, with every sample: what JsonReader reads and docs/bench.schema.json describes.
 *
 * This folder makes every form of a report from one Run\Report: JSON here, tables (Tables) for the terminal, Markdown
 * and the page, pictures (Svg). Nothing here measures, and the mathematics is in Statistics/.
 *
 * Times are rounded to four significant digits, which is finer than any clock they come from and keeps a file of a
 * million samples at six megabytes. The statistics are those of the rounded samples, so that whoever computes them
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
    /** As many as it takes to read the same float again. */
    private const EXACT = -1;

    /** @throws \InvalidArgumentException if a figure of it is not a number */
    public function encode(Report $report): string
    {
        $json = '';
        foreach ($this->pieces($report) as $piece) {
            $json .= $piece;
        }

        return $json;
    }

    /**
     * The same, a result at a time, for whoever writes it to a file.
     *
     * @return iterable<string>
     *
     * @throws \InvalidArgumentException if a figure of it is not a number
     */
    public function pieces(Report $report): iterable
    {
        yield "{\n" . $this->members([
            'schema' => $this->text(self::SCHEMA),
            'command' => $this->text($report->command),
            'started' => $this->text($report->started),
            'seconds' => $this->number($report->seconds, self::STATISTIC),
            'seed' => (string) $report->seed,
            'rounds' => (string) $report->rounds,
            'partial' => $report->partial ? 'true' : 'false',
            'quiet' => $report->quiet ? 'true' : 'false',
            'notes' => $this->lines(\array_map($this->text(...), $report->notes)),
            'machine' => $this->map($report->machine),
            'versions' => $this->map($report->versions),
            'scenarios' => $this->lines(\array_map($this->presentation(...), $report->scenarios)),
        ], ",\n") . ",\n\"results\": [";
        $comma = "\n";
        foreach ($report->results as $result) {
            yield $comma . $this->result($result);
            $comma = ",\n";
        }
        yield "\n],\n" . $this->members([
            'ratios' => $this->lines(\array_map($this->ratio(...), $report->ratios)),
            'missing' => $this->lines(\array_map($this->strings(...), $report->missing)),
            'disqualified' => $this->lines(\array_map($this->strings(...), $report->disqualified)),
        ], ",\n") . "\n}\n";
    }

    private function result(Result $result): string
    {
        $digits = $result->cell->isExact() ? self::EXACT : self::SAMPLE;
        $printed = [];
        $rounded = [];
        foreach ($result->rounds as $samples) {
            $texts = \array_map(fn(float $sample): string => $this->number($sample, $digits), $samples);
            $printed[] = \implode(',', $texts);
            $rounded[] = \array_map(\floatval(...), $texts);
        }
        $cell = $result->cell;
        $members = \array_map($this->text(...), [
            'id' => $cell->id(),
            'scenario' => $cell->scenario,
            'subject' => $cell->subject,
            'engine' => $cell->engine,
            'connection' => $cell->connection,
            'serializer' => $cell->serializer,
            'compressor' => $cell->compressor,
            'payload' => $cell->payload,
            'operation' => $cell->operation,
        ]);
        $members['concurrency'] = (string) $cell->concurrency;
        $members['unit'] = $this->text($cell->unit);
        $members['placement'] = $this->text($cell->placement);
        $members['request'] = (string) $cell->request;
        $summary = (new Result($cell, $rounded))->summary;
        $members['n'] = (string) $summary->n;
        foreach (self::STATISTICS as $statistic) {
            $value = $summary->{$statistic};
            $members[$statistic] = $value === null ? 'null' : $this->number($value, $digits === self::EXACT ? self::EXACT : self::STATISTIC);
        }
        $members['per_second'] = $result->perSecond === null ? 'null' : $this->number($result->perSecond, self::STATISTIC);
        $members['rounds'] = '[' . \implode(',', \array_map(\count(...), $rounded)) . ']';
        $members['samples'] = '[' . \implode(',', $printed) . ']';

        return '{' . $this->members($members, ', ') . '}';
    }

    private function presentation(Presentation $one): string
    {
        return '{' . $this->members([
            'name' => $this->text($one->name),
            'about' => $this->text($one->about),
            'title' => $this->text($one->title),
            'remark' => $this->text($one->remark),
            'first' => $this->text($one->first),
            'side_by_side' => $one->sideBySide ? 'true' : 'false',
            'payloads' => $this->map($one->payloads),
            'operations' => $this->map($one->operations),
            'columns' => $this->map($one->columns),
            'populations' => '[' . \implode(',', \array_map($this->text(...), $one->populations)) . ']',
        ], ', ') . '}';
    }

    private function ratio(Ratio $ratio): string
    {
        $median = $this->number($ratio->median, self::STATISTIC);
        $limit = $ratio->limit === null ? null : $this->number($ratio->limit, self::STATISTIC);

        return '{' . $this->members([
            'of' => $this->text($ratio->of),
            'to' => $this->text($ratio->to),
            'median' => $median,
            // Of so few rounds that nothing can be told, the interval is from 0 to infinity: both are null.
            'low' => \is_finite($ratio->high) ? $this->number($ratio->low, self::STATISTIC) : 'null',
            'high' => \is_finite($ratio->high) ? $this->number($ratio->high, self::STATISTIC) : 'null',
            'rounds' => (string) $ratio->rounds,
            'kind' => $this->text($ratio->kind),
            'limit' => $limit ?? 'null',
            'holds' => $limit === null ? 'null' : ((float) $median <= (float) $limit ? 'true' : 'false'),
            'title' => $this->text($ratio->title),
            'samples' => '[' . \implode(',', \array_map(fn(float $sample): string => $this->number($sample, self::STATISTIC), $ratio->samples)) . ']',
        ], ', ') . '}';
    }

    /** @param array<string, string> $strings */
    private function strings(array $strings): string
    {
        return '{' . $this->members(\array_map($this->text(...), $strings), ', ') . '}';
    }

    /** @param array<string, string|int|float> $values */
    private function map(array $values): string
    {
        return '{' . $this->members(\array_map(fn(string|int|float $value): string => match (true) {
            \is_string($value) => $this->text($value),
            \is_int($value) => (string) $value,
            // As a float it comes back.
            default => $this->number($value, self::EXACT) . ($value === \floor($value) && \abs($value) < 1e15 ? '.0' : ''),
        }, $values), ', ') . '}';
    }

    /** @param array<string, string> $members encoded */
    private function members(array $members, string $between): string
    {
        $lines = [];
        foreach ($members as $name => $value) {
            $lines[] = $this->text((string) $name) . ': ' . $value;
        }

        return \implode($between, $lines);
    }

    /** @param list<string> $items encoded */
    private function lines(array $items): string
    {
        return $items === [] ? '[]' : "[\n" . \implode(",\n", $items) . "\n]";
    }

    /** Without < and >, so that it can stand inside a page's script element. */
    private function text(string $text): string
    {
        return \json_encode($text, \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_UNICODE | \JSON_UNESCAPED_SLASHES | \JSON_HEX_TAG | \JSON_INVALID_UTF8_SUBSTITUTE);
    }

    /** Of %H no setting of PHP or of the locale changes the point or the precision. */
    private function number(float $value, int $digits): string
    {
        if (!\is_finite($value)) {
            throw new \InvalidArgumentException('A report holds a figure that is not a number: it cannot be written as JSON.');
        }
        $text = \sprintf('%.*H', $digits, $value);

        return \str_contains($text, 'E+') && \abs($value) < 1e15 ? \sprintf('%.0F', (float) $text) : $text;
    }
}
