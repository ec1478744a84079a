<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Opis\JsonSchema\Errors\ErrorFormatter;
use Opis\JsonSchema\Validator;

/**
 * Reads again what Json has written: the schema says what it is made of (bench.schema.json), and the statistics are
 * computed anew from the samples.
 *
 * @phpstan-type ResultData array{id: string, scenario: string, subject: string, engine: string, connection: string, serializer: string, compressor: string, payload: string, operation: string, concurrency: int<1, max>, unit: string, placement: string, request: int<1, max>, per_second: int|float|null, rounds: non-empty-list<int<1, max>>, samples: non-empty-list<int|float>, n: int, p95: int|float|null}
 * @phpstan-type RatioData array{of: string, to: string, median: int|float, low: int|float|null, high: int|float|null, rounds: int<0, max>, kind: string, limit: int|float|null, holds: ?bool, title: string, samples: list<int|float>}
 * @phpstan-type ScenarioData array{name: string, about: string, title: string, remark: string, first: string, side_by_side: bool, payloads: array<string, string>, operations: array<string, string>, columns: array<string, string>, populations: list<string>}
 */
final class JsonReader
{
    private const SCHEMA = __DIR__ . '/../bench.schema.json';

    private const MAKE = 'Make one with: bin/larder bench --json=FILE';

    /** @throws ReportUnreadable if it is not there, not a report, of another version, or incomplete */
    public function read(string $file): Report
    {
        if ($file === '' || \str_contains($file, "\0") || !\file_exists($file)) {
            throw new ReportUnreadable("There is no report at $file. " . self::MAKE);
        }
        $json = \is_file($file) && \is_readable($file) ? \file_get_contents($file) : false;
        if ($json === false) {
            throw new ReportUnreadable("Cannot read the report $file: it is a directory, or this user may not read it.");
        }

        return $this->decode($json, $file);
    }

    /**
     * @param string $file its name, for the message
     *
     * @throws ReportUnreadable
     */
    public function decode(string $json, string $file = 'the report'): Report
    {
        try {
            $data = \json_decode($json, false, 16, \JSON_THROW_ON_ERROR);
        } catch (\JsonException $exception) {
            throw new ReportUnreadable("$file is not JSON ({$exception->getMessage()}): it was cut off, or is something else. " . self::MAKE);
        }
        $schema = $data instanceof \stdClass ? $data->schema ?? null : null;
        if (!\is_string($schema) || !\str_starts_with($schema, \strstr(Json::SCHEMA, '/', true) . '/')) {
            throw new ReportUnreadable("$file is JSON, but no report of the laboratory. " . self::MAKE);
        }
        if ($schema !== Json::SCHEMA) {
            throw new ReportUnreadable(\sprintf('%s is "%s", and this Larder reads "%s". Compare reports of one version, or run the command in it again.', $file, Plain::line($schema), Json::SCHEMA));
        }
        $this->validate($data, $file);
        /** @var array{command: string, started: string, seconds: int|float, seed: int, rounds: int, partial: bool, quiet: bool, notes: list<string>, machine: array<string, string|int|float>, versions: array<string, string>, scenarios: list<ScenarioData>, results: list<ResultData>, ratios: list<RatioData>, missing: list<array{subject: string, scenario: string, what: string, advice: string}>, disqualified: list<array{subject: string, scenario: string, reason: string}>} $report as the schema has it */
        $report = \json_decode($json, true, 16, \JSON_THROW_ON_ERROR);
        $results = [];
        foreach ($report['results'] as $one) {
            if (isset($results[$one['id']])) {
                throw self::broken($file, $one['id'], 'there are two results');
            }
            $results[$one['id']] = self::result($one, $file);
        }

        return new Report(
            $report['command'],
            $report['machine'],
            $report['versions'],
            \array_map(static fn(array $one): Presentation => new Presentation($one['name'], $one['about'], $one['title'], $one['remark'], $one['first'], $one['side_by_side'], $one['payloads'], $one['operations'], $one['columns'], $one['populations']), $report['scenarios']),
            \array_values($results),
            \array_map(self::ratio(...), $report['ratios']),
            $report['missing'],
            $report['disqualified'],
            $report['notes'],
            $report['partial'],
            $report['quiet'],
            $report['seed'],
            $report['rounds'],
            $report['started'],
            (float) $report['seconds'],
        );
    }

    private function validate(\stdClass $data, string $file): void
    {
        if (!\class_exists(Validator::class)) {
            throw new \RuntimeException('Reading a report needs a library. Type: composer require --dev opis/json-schema:^2.6');
        }
        $schema = \json_decode((string) \file_get_contents(self::SCHEMA), false, 32, \JSON_THROW_ON_ERROR);
        \assert($schema instanceof \stdClass);
        // A million samples one by one would take the library minutes: it sees the first of each result.
        foreach (\is_array($data->results ?? null) ? $data->results : [] as $i => $result) {
            $samples = $result instanceof \stdClass ? $result->samples ?? null : null;
            if ($result instanceof \stdClass && \is_array($samples)) {
                foreach ($samples as $sample) {
                    if ((!\is_int($sample) && !\is_float($sample)) || $sample < 0 || !\is_finite((float) $sample)) {
                        throw new ReportUnreadable("$file is not a whole report: results[$i].samples has something else than a figure from 0 on. " . self::MAKE);
                    }
                }
                $result->samples = \array_slice($samples, 0, 1);
            }
        }
        $error = (new Validator())->validate($data, $schema)->error();
        if ($error !== null) {
            foreach ((new ErrorFormatter())->formatFlat($error, static fn($one): string => \implode('/', $one->data()->fullPath()) . ': ' . (new ErrorFormatter())->formatErrorMessage($one)) as $message) {
                throw new ReportUnreadable("$file is not a whole report: " . Plain::line(\is_string($message) ? $message : '') . '. ' . self::MAKE);
            }
        }
    }

    /** @param ResultData $one */
    private static function result(array $one, string $file): Result
    {
        $cell = new Cell($one['scenario'], $one['subject'], $one['engine'], $one['connection'], $one['serializer'], $one['compressor'], $one['payload'], $one['operation'], $one['concurrency'], $one['unit'], $one['placement'], $one['request']);
        if (\array_sum($one['rounds']) !== \count($one['samples'])) {
            throw self::broken($file, $one['id'], 'the rounds do not add up to the samples');
        }
        $from = 0;
        $rounds = \array_map(static function (int $length) use ($one, &$from): array {
            $from += $length;
            /** @var non-empty-list<int|float> $samples as the schema and the sum say */
            $samples = \array_slice($one['samples'], $from - $length, $length);

            return \array_map(\floatval(...), $samples);
        }, $one['rounds']);
        $rate = $one['per_second'] === null ? null : (float) $one['per_second'];
        $result = new Result($cell, $rounds, $rate);

        return $one['p95'] === null && $result->summary->p95 !== null ? new Result($cell, $rounds, $rate, false) : $result;
    }

    /** @param RatioData $one */
    private static function ratio(array $one): Ratio
    {
        return new Ratio(
            $one['of'],
            $one['to'],
            (float) $one['median'],
            (float) $one['low'],
            $one['high'] === null ? \INF : (float) $one['high'],
            $one['rounds'],
            $one['kind'],
            $one['limit'] === null ? null : (float) $one['limit'],
            $one['title'],
            \array_map(\floatval(...), $one['samples']),
        );
    }

    private static function broken(string $file, string $id, string $what): ReportUnreadable
    {
        return new ReportUnreadable(\sprintf('%s is not a whole report: of %s, %s. %s', $file, Plain::line($id), $what, self::MAKE));
    }
}
