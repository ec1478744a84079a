<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;

/** Reads again what Json has written, and believes nothing in it. */
final class JsonReader
{
    /** The file's own figures have six digits: they differ from those computed here by half of the last one. */
    private const ROUNDING = 1e-5;

    /** @throws ReportUnreadable if it is not there, not a report, of another version, incomplete, or was changed by hand */
    public function read(string $file): Report
    {
        if (!\file_exists($file)) {
            throw ReportUnreadable::missing($file);
        }
        $json = \is_file($file) && \is_readable($file) ? \file_get_contents($file) : false;

        return $this->decode($json === false ? throw ReportUnreadable::closed($file) : $json, $file);
    }

    /**
     * @param string $file its name, for the message
     *
     * @throws ReportUnreadable
     */
    public function decode(string $json, string $file = 'the report'): Report
    {
        try {
            $data = \json_decode($json, true, 16, \JSON_THROW_ON_ERROR);
        } catch (\JsonException $exception) {
            throw ReportUnreadable::notJson($file, $exception->getMessage());
        }
        $schema = \is_array($data) ? $data['schema'] ?? null : null;
        if (!\is_string($schema) || !\str_starts_with($schema, \strstr(Json::SCHEMA, '/', true) . '/')) {
            throw ReportUnreadable::notReport($file);
        }
        if ($schema !== Json::SCHEMA) {
            throw ReportUnreadable::version($file, $schema);
        }

        return $this->report(new Fields($data, $file, ''), $file);
    }

    private function report(Fields $fields, string $file): Report
    {
        $fields->text('schema');
        $scenarios = [];
        foreach ($fields->objects('scenarios') as $scenario) {
            $scenarios[] = ['name' => $scenario->text('name'), 'about' => $scenario->text('about')];
            $scenario->end();
        }
        $results = [];
        $ids = [];
        foreach ($fields->objects('results') as $object) {
            $result = $this->result($object, $file);
            $id = $result->cell->id();
            if (isset($ids[$id])) {
                throw ReportUnreadable::changed($file, $id, 'there are two results');
            }
            $ids[$id] = true;
            $results[] = $result;
        }
        $missing = [];
        foreach ($fields->objects('missing') as $object) {
            $missing[] = ['subject' => $object->text('subject'), 'scenario' => $object->text('scenario'), 'what' => $object->text('what'), 'advice' => $object->text('advice')];
            $object->end();
        }
        $disqualified = [];
        foreach ($fields->objects('disqualified') as $object) {
            $disqualified[] = ['subject' => $object->text('subject'), 'scenario' => $object->text('scenario'), 'reason' => $object->text('reason')];
            $object->end();
        }
        $started = $fields->text('started');
        if (\preg_match('/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/D', $started) !== 1) {
            throw $fields->wrong('started', 'is not a time as of RFC 3339');
        }
        $report = new Report(
            $fields->text('command'),
            $fields->map('machine'),
            \array_map(static fn(string|int|float $version): string => \is_string($version) ? $version : throw $fields->wrong('versions', 'holds what is not a string'), $fields->map('versions')),
            $scenarios,
            $results,
            \array_map(fn(Fields $object): Ratio => $this->ratio($object, $file), $fields->objects('ratios')),
            $missing,
            $disqualified,
            $fields->texts('notes'),
            $fields->flag('partial'),
            $fields->flag('quiet'),
            $fields->integer('seed'),
            $fields->count('rounds'),
            $started,
            $fields->number('seconds'),
        );
        $fields->end();

        return $report;
    }

    private function result(Fields $fields, string $file): Result
    {
        $id = $fields->text('id');
        $cell = new Cell(
            $fields->text('scenario'),
            $fields->text('subject'),
            $fields->text('engine'),
            $fields->oneOf('connection', [Cell::PROCESS, Cell::SOCKET, Cell::TCP, Cell::NETWORK]),
            $fields->text('serializer'),
            $fields->text('compressor'),
            $fields->text('payload'),
            $fields->text('operation'),
            $fields->positive('concurrency'),
            $fields->oneOf('unit', [Cell::MICROSECONDS, Cell::BYTES, Cell::COUNT, Cell::PER_SECOND]),
            $fields->oneOf('placement', [Cell::ANYWHERE, Cell::SAME, Cell::OTHER]),
            $fields->positive('request'),
        );
        if ($cell->id() !== $id) {
            throw ReportUnreadable::changed($file, $id, 'its parts say ' . Plain::line($cell->id()));
        }
        $samples = $fields->numbers('samples');
        $rounds = [];
        $from = 0;
        foreach ($fields->items('rounds') as $length) {
            $round = \is_int($length) && $length > 0 ? \array_slice($samples, $from, $length) : [];
            $from += \count($round);
            $rounds[] = $round !== [] && \count($round) === $length ? $round : throw $fields->wrong('rounds', 'does not add up to the samples');
        }
        if ($rounds === [] || $from !== \count($samples)) {
            throw $fields->wrong('rounds', 'does not add up to the samples');
        }
        $result = new Result($cell, $rounds, $fields->optionalNumber('per_second'));
        $this->agree($fields, $result, $file);
        $fields->end();

        return $result;
    }

    private function agree(Fields $fields, Result $result, string $file): void
    {
        $summary = $result->summary;
        if ($fields->positive('n') !== $summary->n) {
            throw ReportUnreadable::changed($file, $result->cell->id(), "there are $summary->n samples, and n says something else");
        }
        foreach (Json::STATISTICS as $statistic) {
            $printed = $fields->number($statistic);
            $computed = $summary->{$statistic};
            // What is left of adding and subtracting floats: the deviation of equal samples may not be exactly zero.
            if (\abs($printed - $computed) > self::ROUNDING * $computed + 1e-9 * $summary->max) {
                throw ReportUnreadable::changed($file, $result->cell->id(), \sprintf('the %s is %s, and its samples say %s', $statistic, $printed, $computed));
            }
        }
    }

    private function ratio(Fields $fields, string $file): Ratio
    {
        $low = $fields->optionalNumber('low');
        $high = $fields->optionalNumber('high');
        if (($low === null) !== ($high === null) || $low > $high) {
            throw $fields->wrong('low', 'and high are not the ends of an interval');
        }
        $ratio = new Ratio(
            $fields->text('of'),
            $fields->text('to'),
            $fields->number('median'),
            $low ?? 0.0,
            $high ?? \INF,
            $fields->count('rounds'),
            $fields->oneOf('kind', [Ratio::TABLE, Ratio::PAIR, Ratio::NOISE]),
            $fields->optionalNumber('limit'),
            $fields->text('title'),
            $fields->numbers('samples'),
        );
        $holds = $ratio->limit === null ? null : $ratio->median <= $ratio->limit;
        if ($fields->optionalFlag('holds') !== $holds) {
            throw ReportUnreadable::changed($file, "$ratio->of to $ratio->to", 'what it holds is not what its median and limit say');
        }
        $fields->end();

        return $ratio;
    }
}
