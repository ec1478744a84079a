<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Report\Json;
use Larder\Lab\Run\Report;
use Opis\JsonSchema\Errors\ErrorFormatter;
use Opis\JsonSchema\Validator;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class SchemaTest extends TestCase
{
    /** @return iterable<string, array{Report}> */
    public static function reports(): iterable
    {
        yield 'a usual one' => [Fixture::report()];
        yield 'a hostile, noisy, partial one' => [Fixture::report(hostile: true, quiet: false, partial: true)];
        yield 'one without intervals' => [Fixture::report(rounds: 1, samples: 1, interval: null)];
        yield 'one of nothing' => [new Report('', [], [], [], [], [], [], [], [], true, false, 0, 0, '2026-05-06T07:08:09Z', 0.0)];
        for ($seed = 1; $seed <= 20; ++$seed) {
            yield "of seed $seed" => [RandomReport::of($seed, false)];
        }
    }

    #[DataProvider('reports')]
    public function testAReportIsAsTheSchemaSays(Report $report): void
    {
        self::assertSame([], self::errors(self::decoded($report)));
    }

    /** @return iterable<string, array{\Closure(\stdClass): void}> */
    public static function faults(): iterable
    {
        foreach (['results', 'ratios', 'missing', 'disqualified', 'scenarios'] as $list) {
            foreach (\array_keys(\get_object_vars(self::decoded(Fixture::report(scenarios: ['loop'], rounds: 2, samples: 2))->{$list}[0])) as $name) {
                yield "no $name in $list" => [static function (\stdClass $report) use ($list, $name): void {
                    unset($report->{$list}[0]->{$name});
                }];
                yield "a list as $name in $list" => [static function (\stdClass $report) use ($list, $name): void {
                    $report->{$list}[0]->{$name} = [[]];
                }];
            }
            yield "more in $list" => [static function (\stdClass $report) use ($list): void {
                $report->{$list}[0]->more = 1;
            }];
        }
        foreach (\array_keys(\get_object_vars(self::decoded(Fixture::report(scenarios: ['loop'], rounds: 2, samples: 2)))) as $name) {
            yield "no $name" => [static function (\stdClass $report) use ($name): void {
                unset($report->{$name});
            }];
            yield "true and false as $name" => [static function (\stdClass $report) use ($name): void {
                $report->{$name} = [true, false];
            }];
        }
        yield 'more' => [static function (\stdClass $report): void {
            $report->more = 1;
        }];
        yield 'another version' => [static function (\stdClass $report): void {
            $report->schema = 'larder-bench-report/4';
        }];
        yield 'another connection' => [static function (\stdClass $report): void {
            $report->results[0]->connection = 'pigeon';
        }];
        yield 'another placement' => [static function (\stdClass $report): void {
            $report->results[0]->placement = 'elsewhere';
        }];
        yield 'a request of nothing' => [static function (\stdClass $report): void {
            $report->results[0]->request = 0;
        }];
        yield 'a sample below nothing' => [static function (\stdClass $report): void {
            $report->results[0]->samples[0] = -0.1;
        }];
        yield 'no samples' => [static function (\stdClass $report): void {
            $report->results[0]->samples = [];
        }];
        yield 'a round of nothing' => [static function (\stdClass $report): void {
            $report->results[0]->rounds[0] = 0;
        }];
        yield 'yesterday' => [static function (\stdClass $report): void {
            $report->started = 'yesterday';
        }];
    }

    /** @param \Closure(\stdClass): void $fault */
    #[DataProvider('faults')]
    public function testWhatIsNotAsTheSchemaSaysIsFound(\Closure $fault): void
    {
        $report = self::decoded(Fixture::report(scenarios: ['loop'], rounds: 2, samples: 2));
        self::assertSame([], self::errors($report));
        $fault($report);

        self::assertNotSame([], self::errors($report));
    }

    /** Every object says all that it has, so that a member added to reports is added here. */
    public function testTheSchemaIsStrict(): void
    {
        $objects = 0;
        $look = function (mixed $schema) use (&$look, &$objects): void {
            if ($schema instanceof \stdClass && isset($schema->properties, $schema->type)) {
                ++$objects;
                self::assertFalse($schema->additionalProperties);
                self::assertSame(\array_keys(\get_object_vars($schema->properties)), $schema->required);
            }
            foreach (\is_array($schema) || \is_object($schema) ? (array) $schema : [] as $part) {
                $look($part);
            }
        };
        $look(self::schema());

        self::assertSame(6, $objects);
    }

    /** @return array<mixed> */
    private static function errors(\stdClass $report): array
    {
        $error = (new Validator())->validate($report, self::schema())->error();

        return $error === null ? [] : (new ErrorFormatter())->format($error);
    }

    private static function schema(): \stdClass
    {
        return \json_decode((string) \file_get_contents(__DIR__ . '/../../../docs/bench.schema.json'), false, 32, \JSON_THROW_ON_ERROR);
    }

    private static function decoded(Report $report): \stdClass
    {
        return \json_decode((new Json())->encode($report), false, 16, \JSON_THROW_ON_ERROR);
    }
}
